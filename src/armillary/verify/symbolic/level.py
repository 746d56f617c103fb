"""The symbolic level of the ladder: one check per promise that was proved or refuted, notes for all others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from armillary.core.tasks import TaskSpec
from armillary.core.values import encode
from armillary.core.verdicts import Check, Counterexample
from armillary.verify.rendering import render_call
from armillary.verify.symbolic.adapter import DEFAULT_BUDGET, Jails, SymbolicResult, check_properties
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
    results = check_properties(jails, task, code, budget=budget, tested=tested, seed=seed)
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
