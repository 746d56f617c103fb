from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from armillary.core.tasks import Predicate, TaskSpec
from armillary.core.values import encode
from armillary.core.verdicts import Check, Counterexample
from armillary.verify.symbolic.adapter import Jails
from armillary.verify.symbolic.level import SymbolicJudgement, judge_symbolic
from armillary.verify.symbolic.request import SymbolicBudget

QUICK = SymbolicBudget(cpu_s=1.0, max_paths=40)
CODE = "def f(x): return x if x != 4321 else 0"


def judge(jails: Jails, task: TaskSpec, code: str = "def f(x): return x") -> SymbolicJudgement:
    return judge_symbolic(jails, task, code, tested=("ensures[0]",), budget=QUICK)


def test_a_proof_is_a_check_with_an_id_of_its_own(jails: Jails, make_task: Callable[..., TaskSpec]) -> None:
    found = judge(jails, make_task("int", ensures="result == x"))
    assert found == SymbolicJudgement(
        checks=(Check("proof:ensures[0]", "symbolic", "user", passed=True, num_inputs=1, text="result == x"),),
        proved=frozenset({"ensures[0]"}),
    )


def test_a_counterexample_comes_with_a_failed_check(jails: Jails, make_task: Callable[..., TaskSpec]) -> None:
    found = judge(jails, make_task("int", ensures="result == x"), CODE)
    assert found.checks == (Check("ensures[0]", "symbolic", "user", passed=False, text="result == x"),)
    expected, actual = "result == x", "result is 0"
    assert found.counterexample == Counterexample("ensures[0]", "f(4321)", expected, actual, encode((4321,)))
    assert not found.proved


def test_what_is_not_proved_is_noted_with_the_reason(
    reporting: Callable[..., Jails], run_of: Callable[..., Any], make_task: Callable[..., TaskSpec]
) -> None:
    task = replace(make_task("int", ensures="result == x"), laws=(Predicate("f(x) == x"),))
    found = judge(reporting(counterexamples=[run_of([1])], is_exhausted=False), task)
    assert (found.checks, found.proved, found.counterexample) == ((), frozenset(), None)
    assert [note.partition(":")[0] for note in found.notes] == [
        "ensures[0] was not proved", "ensures[0]", "laws[0] was not proved", "laws[0]",
    ]  # fmt: skip
