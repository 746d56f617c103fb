"""The symbolic level of the ladder: one check per promise that was proved or refuted, notes for all others.

A reference is explored after all else, as its verdict rests on what the whole ladder found.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from armillary.core.tasks import TaskSpec
from armillary.core.values import encode
from armillary.core.verdicts import Check, Counterexample, Status, Verdict
from armillary.verify.rendering import render_call
from armillary.verify.symbolic.adapter import DEFAULT_BUDGET, Jails, SymbolicResult, check_properties, check_reference
from armillary.verify.symbolic.prover import identify
from armillary.verify.symbolic.request import SymbolicBudget


@dataclass(frozen=True, slots=True)
class SymbolicJudgement:
    """What the level adds to a verdict.

    Attributes:
        checks: those of proved promises have an id of their own, ``proof:`` before the promise's.
        proved: ids of the promises that were proved.
        counterexample: an input that breaks a promise; it was run again outside of CrossHair.
        notes: why the other promises were not proved.
    """

    checks: tuple[Check, ...] = ()
    proved: frozenset[str] = frozenset()
    counterexample: Counterexample | None = None
    notes: tuple[str, ...] = ()


def judge_symbolic(
    jails: Jails,
    task: TaskSpec,
    code: str,
    *,
    tested: Collection[str],
    budget: SymbolicBudget = DEFAULT_BUDGET,
    seed: int = 0,
) -> SymbolicJudgement:
    """Explore every ``ensures`` and law of a task, each within the budget.

    ``tested`` are the ids of the promises that earlier levels judged and found kept.
    """
    return _judgement(task, check_properties(jails, task, code, budget=budget, tested=tested, seed=seed))


def hold_against_reference(
    jails: Jails, task: TaskSpec, code: str, verdict: Verdict, *, budget: SymbolicBudget = DEFAULT_BUDGET
) -> Verdict:
    """The verdict with what comes of looking for an input on which an accepted program and its reference differ.

    It becomes ``REFUTED`` where there is such an input, ``PROVED`` where there is none and all other promises were
    proved too; else it stays as it was, with the reason in a note.
    """
    if not (task.reference and verdict.is_accepted):
        return verdict
    started = time.perf_counter()
    tested = [check.id for check in verdict.checks if check.passed]
    result = check_reference(jails, task, code, budget=budget, tested=tested, seed=verdict.seed)
    found = _judgement(task, [result])
    verdict = replace(
        verdict,
        checks=verdict.checks + found.checks,
        counterexample=found.counterexample,
        reason="; ".join((verdict.reason, *found.notes)),
        elapsed_ms=verdict.elapsed_ms + (time.perf_counter() - started) * 1e3,
        prover=identify(budget),
    )
    if found.counterexample is not None:
        return replace(verdict, status=Status.REFUTED, reason=f"breaks {found.counterexample.check_id}")
    if found.proved and _is_all_proved(task, verdict):
        return replace(verdict, status=Status.PROVED, reason=f"holds on all paths; {verdict.reason}")
    return verdict


def _is_all_proved(task: TaskSpec, verdict: Verdict) -> bool:
    """Whether nothing that the task promises rests on tests alone."""
    promised = [f"ensures[{index}]" for index in range(len(task.ensures))]
    promised += [f"laws[{index}]" for index in range(len(task.laws))]
    has_proofs = {check.id for check in verdict.checks if check.level == "symbolic" and check.passed}
    return not (task.raises or task.temporal) and has_proofs.issuperset(f"proof:{name}" for name in promised)


def _judgement(task: TaskSpec, results: Sequence[SymbolicResult]) -> SymbolicJudgement:
    return SymbolicJudgement(
        checks=tuple(_check(item) for item in results if item.status != "unknown"),
        proved=frozenset(item.promise.id for item in results if item.status == "proved"),
        counterexample=next((_counterexample(task, item) for item in results if item.breach is not None), None),
        notes=tuple(note for item in results for note in _notes(item)),
    )


def _check(result: SymbolicResult) -> Check:
    promise = result.promise
    if result.breach is not None:
        return Check(promise.id, "symbolic", promise.origin, passed=False, text=result.breach.finding.expected)
    name = f"proof:{promise.id}"
    return Check(name, "symbolic", promise.origin, passed=True, num_inputs=result.num_paths, text=promise.text)


def _counterexample(task: TaskSpec, result: SymbolicResult) -> Counterexample:
    breach = result.breach
    assert breach is not None
    return Counterexample(
        check_id=breach.promise_id,
        call=render_call(task.entry_point, breach.arguments),
        expected=breach.finding.expected,
        actual=breach.finding.actual,
        arguments=encode(breach.arguments),
    )


def _notes(result: SymbolicResult) -> tuple[str, ...]:
    if result.status != "unknown":
        return result.notes
    return (f"{result.promise.id} was not proved: {result.reason}", *result.notes)
