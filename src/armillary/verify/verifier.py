"""Climb the ladder of evidence for one answer: policy, examples, properties, reference, bounds on steps, proofs.

Stops at the first refutation. Code is refuted by the policy, which reads its text and runs nothing, or by something
that happened twice, the second time in a process of its own; what does not happen again makes the verdict ``UNKNOWN``.
So does a promise that could not be judged on enough of the inputs of which it speaks. Only what a user wrote is proved.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import Json, decode, encode
from armillary.core.verdicts import Behaviour, Check, Counterexample, Level, Prover, Status, Verdict
from armillary.verify.behaviours import behaviour
from armillary.verify.block_trace import last_steps
from armillary.verify.contract import Contract
from armillary.verify.distinguish import telling_inputs
from armillary.verify.examples_level import judge_examples
from armillary.verify.execution import Jail, run_calls
from armillary.verify.fuzz import NUM_INPUTS, SearchResult, admissible_inputs, search, unanswered_requirement
from armillary.verify.generate import Arguments, can_generate, is_large
from armillary.verify.oracles import SLOW, DifferentialOracle, Oracle, Promise, PropertyOracle
from armillary.verify.policy import check_policy
from armillary.verify.predicates import check_predicates
from armillary.verify.rendering import render_call
from armillary.verify.suspicion import find_contradiction
from armillary.verify.symbolic.adapter import DEFAULT_BUDGET, Jails
from armillary.verify.symbolic.level import judge_symbolic
from armillary.verify.symbolic.prover import identify
from armillary.verify.temporal_level import TemporalOracle, temporal_inputs

Key = TypeVar("Key")
Value = TypeVar("Value")

NUM_SHARED_INPUTS = 128
MAX_REMEMBERED = 16
# Of the inputs of which a promise speaks, so many must have been judged for the answer to count as tested.
MIN_JUDGED_SHARE = 0.9
MIN_JUDGED = 10


@dataclass(frozen=True, slots=True)
class Climb:
    """How far an answer has come.

    Attributes:
        stop: set when the climb is over, with the reason in ``reason``.
        notes: what could not be tested, and why.
        doubts: user's promises that were judged on too few inputs; with any, nothing is accepted.
        proved: ids of promises that hold on all paths.
        prover: what looked for proofs, if anything did.
    """

    checks: tuple[Check, ...] = ()
    stop: Status | None = None
    reason: str = ""
    counterexample: Counterexample | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    proved: frozenset[str] = frozenset()
    prover: Prover | None = None
    has_run: bool = False


@dataclass(slots=True)
class _Memory:
    """What does not depend on the answer, so that many candidates share it."""

    suspicions: dict[str, str] = field(default_factory=dict)
    inputs: dict[tuple[str, int, int], list[Arguments]] = field(default_factory=dict)


class CodeVerifier:
    """Judges code against tasks; satisfies ``core.protocols.Verifier``.

    Args:
        sandbox: runs the code; a ``sandbox.client.Sandbox``.
        num_inputs: generated inputs that each answer must survive, if the task has properties or a reference.
        explorer: a jail that can import CrossHair (``symbolic.request.open_explorer``); without it nothing is proved.
        on_level: told each level as it is begun; the live view.
    """

    def __init__(
        self,
        sandbox: Jail,
        *,
        num_inputs: int = NUM_INPUTS,
        explorer: Jail | None = None,
        on_level: Callable[[Level], None] | None = None,
    ) -> None:
        self._jail = sandbox
        self._explorer = explorer
        self._num_inputs = num_inputs
        self._on_level = on_level
        self._memory = _Memory()

    @property
    def sandbox_tier(self) -> str:
        """Strength of the jail that runs the code."""
        return self._jail.tier

    def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
        """Climb the ladder until the first counterexample or the end.

        Raises:
            SandboxError: the jail is not as strong as it must be; nothing was run.
            TaskFormatError: a predicate of the task cannot be evaluated.
        """
        started = time.perf_counter()
        climb = self._climb(task, code, seed)
        status, reason = _conclusion(task, climb, seed)
        return Verdict(
            status=status,
            checks=climb.checks,
            counterexample=climb.counterexample,
            reason=reason,
            sandbox_tier=self._jail.tier if climb.has_run else "none",
            seed=seed,
            elapsed_ms=(time.perf_counter() - started) * 1e3,
            prover=climb.prover,
        )

    def behaviours(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> list[Behaviour]:
        """What each code does on shared inputs, see ``behaviours.behaviour``."""
        inputs = self._shared_inputs(task, seed)
        return [behaviour(self._jail, task, code, inputs, seed=seed) for code in codes]

    def telling_inputs(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> tuple[Json, ...]:
        """Small inputs on which the first of these codes differ, see ``distinguish.telling_inputs``."""
        return telling_inputs(self._jail, task, codes, self._shared_inputs(task, seed), seed=seed)

    def soft_checks(
        self, task: TaskSpec, code: str, examples: Sequence[Example], *, seed: int = 0
    ) -> tuple[Check, ...]:
        """One check of level ``agreement`` for each example that a model wrote."""
        found = judge_examples(self._jail, replace(task, examples=tuple(examples)), code, seed=seed)
        return tuple(replace(item, id=f"model_{item.id}", level="agreement") for item in found.checks)

    def _shared_inputs(self, task: TaskSpec, seed: int) -> list[Arguments]:
        # Programs that only differ in how long they take are to be found alike.
        return [item for item in self._inputs(task, NUM_SHARED_INPUTS, seed) if not is_large(item)]

    def last_steps(self, task: TaskSpec, code: str, arguments: Json, *, seed: int = 0) -> tuple[str, ...]:
        """What the last lines of a call worked with, see ``block_trace.last_steps``."""
        return last_steps(self._jail, task, code, decode(arguments), seed=seed)

    def _climb(self, task: TaskSpec, code: str, seed: int) -> Climb:
        suspicion = self._suspicion(task)
        if suspicion:
            return Climb(stop=Status.SPEC_SUSPECT, reason=suspicion)
        climb = self._check_policy(task, code, seed)
        levels = (
            self._check_examples,
            self._check_properties,
            self._check_reference,
            self._check_bounds,
            self._prove,
        )
        for level in levels:
            if climb.stop is None:
                climb = level(task, code, seed, climb)
        return climb

    def _check_policy(self, task: TaskSpec, code: str, seed: int) -> Climb:
        self._tell("policy")
        problem = check_policy(task, code)
        text = f"Python code that defines {task.entry_point} and keeps to computing"
        if problem is not None:
            check = Check("policy", "policy", "sandbox", passed=False, text=text)
            return Climb((check,), Status.REFUTED, str(problem))
        passed = Check("policy", "policy", "sandbox", passed=True, text=text)
        error = run_calls(self._jail, code, (), seed=seed).load_error
        if error.startswith("ModuleNotFoundError"):
            return Climb((passed,), Status.UNKNOWN, f"could not be run: {error}", has_run=True)
        checks = (passed, Check("loads", "policy", "sandbox", passed=not error, text="the code loads without an error"))
        if error and run_calls(self._jail, code, (), seed=seed).load_error:
            return Climb(checks, Status.REFUTED, f"the code does not load: {error}", has_run=True)
        if error:
            return Climb(checks, Status.UNKNOWN, f"the code loads now and then: {error}", has_run=True)
        return Climb(checks, has_run=True)

    def _check_examples(self, task: TaskSpec, code: str, seed: int, climb: Climb) -> Climb:
        if not task.examples:
            return climb
        self._tell("examples")
        found = judge_examples(self._jail, task, code, seed=seed)
        climb = replace(climb, checks=climb.checks + found.checks)
        if found.counterexample is not None:
            reason = f"fails {found.counterexample.check_id}"
            return replace(climb, stop=Status.REFUTED, reason=reason, counterexample=found.counterexample)
        return replace(climb, stop=Status.UNKNOWN, reason=found.undecided) if found.undecided else climb

    def _check_properties(self, task: TaskSpec, code: str, seed: int, climb: Climb) -> Climb:
        if not (task.ensures or task.laws or task.raises):
            return climb
        return self._search(task, PropertyOracle(task, self._jail, code, seed=seed), seed, climb)

    def _check_reference(self, task: TaskSpec, code: str, seed: int, climb: Climb) -> Climb:
        if not task.reference:
            return climb
        return self._search(task, DifferentialOracle(task, self._jail, code, seed=seed), seed, climb)

    def _check_bounds(self, task: TaskSpec, code: str, seed: int, climb: Climb) -> Climb:
        if not task.temporal:
            return climb
        return self._search(task, TemporalOracle(task, self._jail, code, seed=seed), seed, climb)

    def _prove(self, task: TaskSpec, code: str, seed: int, climb: Climb) -> Climb:
        if self._explorer is None or climb.doubts or not (task.ensures or task.laws):
            return climb
        self._tell("symbolic")
        tested = [check.id for check in climb.checks if check.passed]
        found = judge_symbolic(Jails(self._jail, self._explorer), task, code, tested=tested, seed=seed)
        climb = replace(climb, checks=climb.checks + found.checks, notes=climb.notes + found.notes, proved=found.proved)
        climb = replace(climb, prover=identify(DEFAULT_BUDGET))
        if found.counterexample is None:
            return climb
        reason = f"breaks {found.counterexample.check_id}"
        return replace(climb, stop=Status.REFUTED, reason=reason, counterexample=found.counterexample)

    def _search(self, task: TaskSpec, oracle: Oracle, seed: int, climb: Climb) -> Climb:
        level = oracle.promises[0].level
        self._tell(level)
        if not can_generate(task):
            note = f"no {level} test: a parameter has neither type nor domain nor example"
            return replace(climb, notes=(*climb.notes, note))
        inputs = self._inputs(task, self._num_inputs, seed)
        if level == "temporal":
            inputs = temporal_inputs(task, Contract(task, self._jail), count=self._num_inputs, seed=seed)
        if not inputs:
            silent = unanswered_requirement(task, Contract(task, self._jail), seed=seed)
            if silent:
                return replace(climb, doubts=(*climb.doubts, silent))
            return replace(climb, notes=(*climb.notes, f"no {level} test: no generated input satisfies requires"))
        result = search(task, oracle, Contract(task, self._jail), inputs)
        return _after_search(task, oracle, result, climb)

    def _suspicion(self, task: TaskSpec) -> str:
        def find() -> str:
            check_predicates(task)
            return find_contradiction(task, self._jail)

        return _remember(self._memory.suspicions, task.sha256, find)

    def _inputs(self, task: TaskSpec, count: int, seed: int) -> list[Arguments]:
        def make() -> list[Arguments]:
            return admissible_inputs(task, Contract(task, self._jail), count=count, seed=seed)

        return _remember(self._memory.inputs, (task.sha256, count, seed), make)

    def _tell(self, level: Level) -> None:
        if self._on_level is not None:
            self._on_level(level)


def _after_search(task: TaskSpec, oracle: Oracle, result: SearchResult, climb: Climb) -> Climb:
    if result.load_error and result.breach is None:
        return replace(climb, stop=Status.UNKNOWN, reason=result.load_error)
    breach = result.breach
    broken = "" if breach is None else breach.promise_id
    doubts = {item.id: doubt for item in oracle.promises if (doubt := _doubt(item, result))}
    checks = tuple(
        Check(item.id, item.level, item.origin, item.id != broken, result.num_judged[item.id], item.text)
        for item in oracle.promises
        if result.num_judged.get(item.id)
        and item.id != result.flaky_id
        and (item.id == broken or item.id not in doubts)
    )
    climb = replace(
        climb,
        checks=climb.checks + checks,
        notes=climb.notes + tuple(note for item in oracle.promises if (note := _note(item, result))),
        doubts=climb.doubts + tuple(doubts[item.id] for item in oracle.promises if item.id in doubts and item.is_hard),
    )
    if breach is not None:
        counterexample = Counterexample(
            check_id=breach.promise_id,
            call=render_call(task.entry_point, breach.arguments),
            expected=breach.finding.expected,
            actual=breach.finding.actual,
            arguments=encode(breach.arguments),
        )
        return replace(climb, stop=Status.REFUTED, reason=f"breaks {broken}", counterexample=counterexample)
    if result.flaky_id:
        reason = f"{result.flaky_id} broke once and held when it was run again: chance or hidden state"
        return replace(climb, stop=Status.UNKNOWN, reason=reason)
    return climb


def _doubt(promise: Promise, result: SearchResult) -> str:
    """Why too little was judged for a promise to be tested, or an empty text."""
    num_judged = result.num_judged.get(promise.id, 0)
    reasons = Counter(result.unjudged.get(promise.id, {}))
    num_tried = num_judged + reasons.total()
    is_enough = num_judged >= min(MIN_JUDGED, num_tried) and num_judged >= MIN_JUDGED_SHARE * num_tried
    if is_enough and promise.id not in result.hidden:
        return ""
    [(reason, _)] = reasons.most_common(1)
    return f"{promise.id} could be judged on only {num_judged} of {num_tried} inputs: {reason}"


def _note(promise: Promise, result: SearchResult) -> str:
    num_judged = result.num_judged.get(promise.id, 0)
    reasons = Counter(result.unjudged.get(promise.id, {}))
    if reasons:
        [(reason, _)] = reasons.most_common(1)
        num_tried = num_judged + reasons.total()
        return f"{promise.id} could not be judged on {reasons.total()} of {num_tried} inputs: {reason}"
    if promise.id in result.slow:
        return f"{promise.id}: {SLOW.reason}"
    return "" if num_judged else f"{promise.id} was not tested by any input"


def _conclusion(task: TaskSpec, climb: Climb, seed: int) -> tuple[Status, str]:
    if climb.stop is not None:
        return climb.stop, climb.reason
    notes = "".join(f"; {note}" for note in climb.notes)
    hard = [check for check in climb.checks if check.is_hard and check.level != "policy"]
    num_examples = sum(check.level == "examples" for check in hard)
    if climb.doubts:
        return Status.UNKNOWN, "; ".join(climb.doubts)
    num_inputs = _num_inputs(hard)
    examples = f"{num_examples} example{'s' * (num_examples != 1)}"
    if num_inputs:
        with_examples = f"{examples} and " if num_examples else ""
        inputs = f"{num_inputs} generated input{'s' * (num_inputs != 1)}"
        passed = f"passed {with_examples}{inputs} (seed {seed}){notes}"
        if _is_proved(task, climb):
            return Status.PROVED, f"holds on all paths; {passed}"
        return Status.TESTED, passed
    if num_examples:
        return Status.EXAMPLES_PASS, f"passed {examples}, nothing else was tested{notes}"
    if not task.has_hard_evidence:
        return Status.UNKNOWN, "it loads, but the task has nothing to test it against"
    return Status.UNKNOWN, f"nothing could be tested{notes}" if notes else "only examples that a model wrote were tried"


def _is_proved(task: TaskSpec, climb: Climb) -> bool:
    """Whether everything that the task promises, and the user wrote, holds on all paths."""
    promised = [
        (f"{kind}[{index}]", item)
        for kind, items in (("ensures", task.ensures), ("laws", task.laws))
        for index, item in enumerate(items)
    ]
    is_all = not (task.raises or task.reference or task.temporal)
    return is_all and all(name in climb.proved and item.origin == "user" for name, item in promised)


def _num_inputs(checks: Sequence[Check]) -> int:
    """Generated inputs that each promise was judged on; a clause of ``raises`` speaks of few, so others count first."""
    searched = [check for check in checks if check.level not in ("examples", "symbolic")]
    general = [check for check in searched if not check.id.startswith("raises")]
    return min((check.num_inputs for check in general or searched), default=0)


def _remember(known: dict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    if key not in known:
        if len(known) >= MAX_REMEMBERED:
            del known[next(iter(known))]
        known[key] = make()
    return known[key]
