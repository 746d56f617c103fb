"""Say for each input whether a program keeps its task's ``temporal`` bounds on counted steps. Counts nothing itself.

The program runs rewritten (see ``fuel``, which says what a step is); its bounds are evaluated in a jail of their own.
Unlike expected values, the count is kept in the process that it judges. It has no name there and the policy refuses
the usual ways to what has none; where a call takes far more processor time than its steps account for, nothing is said.
A program that gets at it all the same, by names that it builds as it runs, and takes little time is not found out.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from armillary.core.tasks import TaskSpec
from armillary.core.values import canonical
from armillary.verify import fuel
from armillary.verify.contract import Contract
from armillary.verify.domains import contains, parameter_domains
from armillary.verify.execution import Jail, Observation, run_calls
from armillary.verify.fuzz import admissible_inputs
from armillary.verify.generate import Arguments, is_large
from armillary.verify.generate_values import measured_size
from armillary.verify.oracles import SLOW, Finding, Judgement, Promise, Row, Unjudged
from armillary.verify.readable import FORGED, readable_value
from armillary.verify.sandbox.outcomes import Call
from armillary.verify.source import SourceError, parse_module

STEP_LIMIT: Final = 1_000_000
"""Steps that a call is given; a bound that allows more cannot be judged where a program takes them."""
# What work in C may take beside the counted steps before the count says too little.
MAX_UNCOUNTED_CPU_S: Final = 0.5
CPU_S_PER_STEP: Final = 1e-5
STRETCHED_LENGTHS: Final = (32, 128, 512)
INPUTS_PER_LENGTH: Final = 4

_CALL: Final = "armillary_steps"
# Built-ins and modules that run text as code, which is not counted.
_RUNNERS: Final = frozenset({"compile", "eval", "exec"})
_RUNNING_MODULES: Final = frozenset({"cProfile", "codeop", "doctest", "marshal", "profile", "timeit", "trace"})


@dataclass(frozen=True, slots=True)
class Count:
    """The steps of one call.

    Attributes:
        is_spent: it was stopped there and would have taken more.
        ending: ``returned``, ``lazy``, or the name of the exception that ended it.
        cpu_s: its processor time.
    """

    steps: int
    is_spent: bool
    ending: str
    cpu_s: float

    @property
    def doubt(self) -> Unjudged | None:
        """Why a bound that holds for these steps says nothing of the call, if so."""
        if self.ending == "lazy":
            return Unjudged("it returns an iterator, whose work is not counted", is_hidden=True)
        if self.cpu_s > MAX_UNCOUNTED_CPU_S + self.steps * CPU_S_PER_STEP:
            return Unjudged("it takes far more processor time than its steps account for", is_hidden=True)
        if self.ending != "returned":
            return Unjudged(f"it raised {self.ending}", is_outside=True)
        return None


class TemporalOracle:
    """Judges a program by its task's ``temporal`` bounds; satisfies ``oracles.Oracle``."""

    def __init__(self, task: TaskSpec, jail: Jail, code: str, *, seed: int = 0) -> None:
        self._task = task
        self._jail = jail
        self._source = counted_source(code, task.entry_point)
        self._blind_spot = _blind_spot(code)
        self._seed = seed
        self._contract = Contract(task, jail)

    @property
    def promises(self) -> tuple[Promise, ...]:
        """One promise per bound."""
        bounds = enumerate(self._task.temporal)
        return tuple(Promise(f"temporal[{index}]", "temporal", item.origin, item.text) for index, item in bounds)

    def judge(self, inputs: Sequence[Arguments]) -> list[Judgement]:
        """Run the counting program on all inputs, then evaluate the bounds on what it counted."""
        calls = [Call(_CALL, row) for row in inputs]
        found = run_calls(self._jail, self._source, calls, seed=self._seed)
        if found.load_error:
            unloaded = Unjudged(f"the code, while it counts, does not load: {found.load_error}", is_unloaded=True)
            return [self._all(unloaded) for _ in inputs]
        counts = [_count_in(seen) for seen in found.observations]
        answers = iter(self._answers(inputs, counts))
        return [
            self._judge_count(item, next(answers))
            if isinstance(item, Count)
            else self._all(_judge_uncounted(self._expected, item, row))
            for row, item in zip(inputs, counts, strict=True)
        ]

    @property
    def _expected(self) -> str:
        return " and ".join(item.text for item in self._task.temporal)

    def _all(self, judged: Finding | Unjudged) -> Row:
        return {item.id: judged for item in self.promises}

    def _answers(
        self, inputs: Sequence[Arguments], counts: Sequence[Count | Observation]
    ) -> list[list[tuple[Observation, ...]]]:
        """For each call that was counted, what the bounds make of each number of steps that it may have taken."""
        asked = [
            (row, tried)
            for row, item in zip(inputs, counts, strict=True)
            if isinstance(item, Count)
            for tried in _possible_steps(item)
        ]
        answers = iter(self._contract.temporal([row for row, _ in asked], [steps for _, steps in asked]))
        return [[next(answers) for _ in _possible_steps(item)] for item in counts if isinstance(item, Count)]

    def _judge_count(self, count: Count, answers: Sequence[tuple[Observation, ...]]) -> Row:
        by_bound = zip(self._task.temporal, self.promises, zip(*answers, strict=True), strict=True)
        return {promise.id: self._judge_bound(bound.text, count, row) for bound, promise, row in by_bound}

    def _judge_bound(self, text: str, count: Count, answers: Sequence[Observation]) -> Finding | Unjudged | None:
        for answer in answers:
            if not answer.is_answer:
                return Unjudged(f"its predicate: {answer.text}")
        if all(answer.value is not True for answer in answers):
            more = "more than " if count.is_spent else ""
            failed = f", on which the predicate {answers[0].text}" if answers[0].kind == "raised" else ""
            actual = f"{more}{count.steps} step{'s' * (count.steps != 1)}{failed}"
            return Finding(text, actual, is_slow=count.is_spent)
        if count.is_spent:
            return Unjudged(f"it takes more than {count.steps} steps, which are not counted further")
        return self._blind_spot or count.doubt


def counted_source(code: str, entry_point: str, *, limit: int = STEP_LIMIT) -> str:
    """A program whose function ``armillary_steps`` calls the entry point and gives what ``fuel.load_counted`` says."""
    call = f"load_counted({code!r}, {entry_point!r}, limit={limit}, name=__name__)"
    return f"{inspect.getsource(fuel)}\n\n{_CALL} = {call}\n"


def temporal_inputs(task: TaskSpec, contract: Contract, *, count: int, seed: int) -> list[Arguments]:
    """Inputs that satisfy ``requires``, as for other levels, then some whose lists and texts are much longer."""
    inputs = admissible_inputs(task, contract, count=count, seed=seed)
    domains = parameter_domains(task)
    known = set(map(canonical, inputs))
    longest = sorted(inputs, key=lambda row: measured_size(row, max(STRETCHED_LENGTHS)), reverse=True)
    for length in STRETCHED_LENGTHS:
        wanted = [
            row
            for item in longest[: 2 * INPUTS_PER_LENGTH]
            for row in _stretched(item, length)
            if is_large(row) and all(map(contains, domains, row))
        ]
        admitted = [row for row, is_admitted in zip(wanted, contract.admits(wanted), strict=True) if is_admitted]
        new = {canonical(row): row for row in admitted if canonical(row) not in known}
        kept = list(new.items())[:INPUTS_PER_LENGTH]
        known.update(key for key, _ in kept)
        inputs += [row for _, row in kept]
    return inputs


def _stretched(arguments: Arguments, length: int) -> Iterator[Arguments]:
    """The same input with its lists and texts repeated up to a length; then with its lists in order, too."""
    longer = tuple(_repeated(item, length) for item in arguments)
    yield longer
    try:
        yield tuple(sorted(item) if isinstance(item, list) else item for item in longer)
    except TypeError:
        return  # items of several kinds have no order


def _repeated(value: Any, length: int) -> Any:
    if isinstance(value, list | str) and value:
        return (value * (length // len(value) + 1))[:length]
    return value


def _count_in(seen: Observation) -> Count | Observation:
    """What the counting program gave for one call, or what came instead."""
    value, problem = readable_value(seen)
    if problem is not None:
        return problem
    if isinstance(value, tuple) and tuple(map(type, value)) == (int, bool, str, float) and value[0] >= 0:
        return Count(*value)
    return FORGED


def _possible_steps(count: Count) -> tuple[int, ...]:
    """Numbers of steps that a bound must refuse to be broken: all that the call may take, tried at a few."""
    return (count.steps + 1, count.steps + 2, 10 * count.steps) if count.is_spent else (count.steps,)


def _judge_uncounted(expected: str, seen: Observation, arguments: Arguments) -> Finding | Unjudged:
    if seen.kind == "timeout":
        return SLOW if is_large(arguments) else Finding(expected, seen.text, is_slow=True)
    if seen.kind in ("died", "forged"):
        return Finding(expected, seen.text)
    return Unjudged(seen.text)


def _blind_spot(code: str) -> Unjudged | None:
    """What keeps a program from being counted at all."""
    try:
        nodes = list(ast.walk(parse_module(code)))
    except SourceError:
        return None  # it will not load either
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    modules = {item.name for node in nodes if isinstance(node, ast.Import) for item in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    used = sorted(names & _RUNNERS | modules & _RUNNING_MODULES)
    return Unjudged(f"it uses {used[0]}: text that is run is not counted", is_hidden=True) if used else None
