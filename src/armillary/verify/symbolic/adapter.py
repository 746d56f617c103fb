"""Ask CrossHair, in its jail, whether a promise can be broken; believe nothing that it says.

What breaks a promise for CrossHair is run again outside of it, through the oracle that judges all inputs, and counts
only if it breaks it there. A promise counts as ``proved`` only if all of this is so:

1. A user wrote it, and every condition on the inputs that it rests on.
2. The ladder judged it before, on generated inputs, and found nothing (``tested``).
3. Every path was run to its end: none was left when the budget was spent, none given up, timed out or unsolved.
4. It is not vacuous: on some path the inputs were admitted, and a concrete input of that path is admitted too.
5. No float, complex number, set, dict, sequence of any length or value of unknown type is among the inputs, and no
   float or set order is computed with.
6. The program is deterministic and keeps no state: no import but of types, no ``global``, no decorator, no default
   value, class or statement of the module that could remember a call.
7. It uses only what CrossHair was seen to model as Python does (``obstacles``): no conversion between numbers and
   text, no order of a set, no identity, no division by ``/``, no sequence of a length that memory may not hold.
8. The same holds of the promise's own text, or of the reference, and of all conditions.
9. On every path that was looked at (up to ``driver.MAX_WITNESSES``), a concrete run outside of CrossHair gives the
   same result and keeps the promise.

A proof says nothing of time and memory: those are what the ladder measured.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from armillary.core.tasks import TaskSpec
from armillary.core.values import dumps, encode
from armillary.verify.contract import Contract
from armillary.verify.domains import Domain, contains, parameter_domains
from armillary.verify.execution import Jail, Observation, run_calls
from armillary.verify.fuzz import Breach, search
from armillary.verify.generate import Arguments
from armillary.verify.oracles import DifferentialOracle, Oracle, Promise, PropertyOracle
from armillary.verify.sandbox.outcomes import Call
from armillary.verify.symbolic.obstacles import code_obstacle, domain_obstacle, predicate_obstacle
from armillary.verify.symbolic.request import (
    Exploration,
    SymbolicBudget,
    SymbolicRun,
    check_request,
    explore,
    reference_request,
    unexplorable,
)

DEFAULT_BUDGET = SymbolicBudget()


@dataclass(frozen=True, slots=True)
class Jails:
    """Where programs run.

    Attributes:
        runner: for concrete runs; it knows no CrossHair.
        explorer: one in which CrossHair can be imported, see ``request.open_explorer``.
    """

    runner: Jail
    explorer: Jail


@dataclass(frozen=True, slots=True)
class SymbolicResult:
    """What came of one promise.

    Attributes:
        promise: as the oracle names it; where refuted, the one that the input breaks.
        status: ``refuted`` with ``breach``, ``proved`` under the conditions of this module, else ``unknown``.
        reason: one line for the user; for ``unknown``, why.
        notes: counterexamples that did not come about outside of CrossHair.
    """

    promise: Promise
    status: Literal["proved", "refuted", "unknown"]
    reason: str
    num_paths: int = 0
    breach: Breach | None = None
    notes: tuple[str, ...] = ()


def check_properties(
    jails: Jails,
    task: TaskSpec,
    code: str,
    *,
    budget: SymbolicBudget = DEFAULT_BUDGET,
    tested: Collection[str] = (),
    seed: int = 0,
) -> tuple[SymbolicResult, ...]:
    """Explore each ``ensures`` and law of the task, each within the budget; a refuted one ends it.

    ``tested`` are the ids of the promises that the ladder has judged and found kept: no other is ever proved.
    """
    oracle = PropertyOracle(task, jails.runner, code, seed=seed)
    results: list[SymbolicResult] = []
    for promise in oracle.promises:
        if promise.id.startswith("raises"):
            continue
        results.append(_check(_Case(jails, task, code, oracle, promise, budget), promise.id in tested))
        if results[-1].status == "refuted":
            break
    return tuple(results)


def check_reference(
    jails: Jails,
    task: TaskSpec,
    code: str,
    *,
    budget: SymbolicBudget = DEFAULT_BUDGET,
    tested: Collection[str] = (),
    seed: int = 0,
) -> SymbolicResult:
    """Explore a program beside the task's reference; what the reference raises on is outside of what it speaks of."""
    oracle = DifferentialOracle(task, jails.runner, code, seed=seed)
    [promise] = oracle.promises
    return _check(_Case(jails, task, code, oracle, promise, budget), promise.id in tested)


@dataclass(frozen=True, slots=True)
class _Case:
    """One promise of one program."""

    jails: Jails
    task: TaskSpec
    code: str
    oracle: Oracle
    promise: Promise
    budget: SymbolicBudget


def _check(case: _Case, is_tested: bool) -> SymbolicResult:
    domains = parameter_domains(case.task)
    problem = unexplorable(domains) or _unaskable(case)
    if problem:
        return SymbolicResult(case.promise, "unknown", problem)
    function, request = _question(case)
    found = explore(case.jails.explorer, function, request, case.budget)
    if found.failure:
        return SymbolicResult(case.promise, "unknown", found.failure)
    suspects = admitted(case.jails.runner, case.task, domains, found.counterexamples)
    witnesses = admitted(case.jails.runner, case.task, domains, found.witnesses)
    contract = Contract(case.task, case.jails.runner)
    tried = search(case.task, case.oracle, contract, suspects + witnesses)
    if tried.breach is not None:
        reason = f"an input was found after {found.num_paths} paths"
        broken = next(item for item in case.oracle.promises if item.id == tried.breach.promise_id)
        return SymbolicResult(broken, "refuted", reason, found.num_paths, tried.breach)
    notes = _dropped(case, found, len(suspects))
    num_held = tried.num_judged.get(case.promise.id, 0)
    doubt = _doubt(found, num_held)
    if not doubt:
        doubt = _first_obstacle(case, domains, is_tested) or _mismatch(case, found.witnesses)
        doubt = f"all {found.num_paths} paths hold, but it is no proof: {doubt}" if doubt else ""
    if doubt:
        return SymbolicResult(case.promise, "unknown", doubt, found.num_paths, notes=notes)
    return SymbolicResult(case.promise, "proved", f"holds on all {found.num_paths} paths", found.num_paths)


def _question(case: _Case) -> tuple[str, dict[str, Any]]:
    if case.promise.level == "differential":
        return "compare", reference_request(case.task, case.code, case.budget)
    return "check", check_request(case.task, case.code, case.promise.id, case.budget)


def _unaskable(case: _Case) -> str:
    names = [parameter.name for parameter in case.task.parameters]
    if len(names) != len(parameter_domains(case.task)):
        return "the task names no parameters"
    if case.promise.id.startswith("laws") and case.task.entry_point in names:
        return "a parameter has the name of the function"
    return ""


def admitted(jail: Jail, task: TaskSpec, domains: Sequence[Domain], runs: Sequence[SymbolicRun]) -> list[Arguments]:
    """Arguments of the runs that lie in the domains, satisfy ``requires``, and can be carried to a jail."""
    inside = [run.arguments for run in runs if _fits(domains, run.arguments)]
    answers = Contract(task, jail).admits(inside)
    return [arguments for arguments, is_admitted in zip(inside, answers, strict=True) if is_admitted]


def _fits(domains: Sequence[Domain], arguments: Arguments) -> bool:
    # No generated input holds such floats either: most promises about numbers do not mean them.
    is_finite = not any(isinstance(item, float) and not math.isfinite(item) for item in _members(arguments))
    return len(arguments) == len(domains) and is_finite and all(map(contains, domains, arguments))


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _members(item)
    elif isinstance(value, dict):
        yield from _members([*value, *value.values()])
    else:
        yield value


def _dropped(case: _Case, found: Exploration, num_suspects: int) -> tuple[str, ...]:
    num_dropped = len(found.counterexamples)
    if not num_dropped:
        return ()
    kinds = sorted({run.error or "a false promise" for run in found.counterexamples})
    outside = f", {num_dropped - num_suspects} of them outside of the domain" if num_suspects < num_dropped else ""
    text = f"{case.promise.id}: {num_dropped} counterexamples of CrossHair's did not come about when they were run"
    return (f"{text} ({', '.join(kinds)}){outside}",)


def _doubt(found: Exploration, num_held: int) -> str:
    """Why not every path is known to hold, or an empty text."""
    if found.counterexamples:
        return "CrossHair's counterexamples did not come about when they were run"
    if not found.is_exhausted:
        return unfinished(found)
    if not found.num_held or not found.witnesses:
        return f"vacuous: no input of {found.num_paths} paths satisfies the conditions"
    if num_held < len(found.witnesses):
        return f"only {num_held} of {len(found.witnesses)} inputs, one per path, could be judged when they were run"
    return ""


def unfinished(found: Exploration) -> str:
    """Why not every path is known."""
    if found.obstacles:
        [(reason, number), *_] = found.obstacles
        return f"{number} of {found.num_paths} paths were given up: {reason}"
    return f"no counterexample on {found.num_paths} paths in {found.cpu_s:.1f} CPU-s, but more are left"


def _first_obstacle(case: _Case, domains: Sequence[Domain], is_tested: bool) -> str:
    task, promise = case.task, case.promise
    if promise.origin != "user" or any(item.origin != "user" for item in task.requires):
        return "not all of it was written by the user"
    if not is_tested:
        return "it was not tested before"
    return (
        domain_obstacle(domains)
        or code_obstacle(case.code, task.entry_point, domains)
        or _promise_obstacle(case, domains)
        or requires_obstacle(task, domains)
    )


def _promise_obstacle(case: _Case, domains: Sequence[Domain]) -> str:
    task, promise = case.task, case.promise
    if promise.level == "differential":
        found = code_obstacle(task.reference, task.entry_point, domains)
        return f"the reference: {found}" if found else ""
    names = [parameter.name for parameter in task.parameters]
    others = (task.entry_point,) if promise.id.startswith("laws") else ("result",)
    return predicate_obstacle(promise.text, names, domains, others)


def requires_obstacle(task: TaskSpec, domains: Sequence[Domain]) -> str:
    """Why nothing that rests on ``requires`` and ``raises`` is proved, or an empty text."""
    names = [parameter.name for parameter in task.parameters]
    texts = [item.text for item in task.requires] + [text for _, text in task.raises]
    return next((found for text in texts if (found := predicate_obstacle(text, names, domains))), "")


def _mismatch(case: _Case, witnesses: Sequence[SymbolicRun]) -> str:
    """An input on which the program gives something else than CrossHair said, or an empty text."""
    known = [run for run in witnesses if run.has_result]
    if not case.promise.id.startswith("laws") and len(known) < len(witnesses):
        return "a result that is no plain value"
    calls = [Call(case.task.entry_point, run.arguments) for run in known if not case.promise.id.startswith("laws")]
    seen = run_calls(case.jails.runner, case.code, calls).observations if calls else ()
    for run, observation in zip(known, seen, strict=False):
        if observation.kind != "returned" or not _is_same(run, observation):
            return f"CrossHair's result on one input is not the program's, {observation.text}"
    return ""


def _is_same(run: SymbolicRun, seen: Observation) -> bool:
    return dumps(encode(run.result)) == dumps(seen.value)
