from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from armillary.core.tasks import Predicate, TaskSpec
from armillary.core.values import encode
from armillary.core.verdicts import Check, Counterexample, Level, Status, Verdict
from armillary.verify.symbolic.adapter import Jails
from armillary.verify.symbolic.level import SymbolicJudgement, hold_against_reference, judge_symbolic
from armillary.verify.symbolic.prover import identify
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


SAME = "def f(x): return x"


def hold(jails: Jails, task: TaskSpec, *others: Check, code: str = SAME) -> Verdict:
    checks = (Check("reference", "differential", "user", passed=True, num_inputs=9), *others)
    verdict = Verdict(Status.TESTED, checks, reason="passed", seed=4, elapsed_ms=1.0)
    return hold_against_reference(jails, task, code, verdict, budget=QUICK)


def passed(name: str, level: Level = "symbolic") -> Check:
    return Check(name, level, "user", passed=True)


def test_a_difference_from_the_reference_refutes_what_was_accepted(
    jails: Jails, make_task: Callable[..., TaskSpec]
) -> None:
    verdict = hold(jails, make_task("int", reference=SAME), code=CODE)
    assert (verdict.status, verdict.reason, verdict.seed) == (Status.REFUTED, "breaks reference", 4)
    assert verdict.counterexample == Counterexample("reference", "f(4321)", "4321", "0", encode((4321,)))
    assert verdict.checks[-1] == Check("reference", "symbolic", "user", passed=False, text="4321")
    assert verdict.elapsed_ms > 1
    assert verdict.prover == identify(QUICK)


def test_sameness_on_all_paths_is_proved_if_all_other_promises_are(
    jails: Jails, make_task: Callable[..., TaskSpec]
) -> None:
    alone = hold(jails, make_task("int", reference=SAME))
    assert (alone.status, alone.reason) == (Status.PROVED, "holds on all paths; passed")
    assert alone.checks[-1].id == "proof:reference"
    task = make_task("int", ensures="result == x", law="f(x) == x", reference=SAME)
    assert hold(jails, task, passed("proof:ensures[0]")).status is Status.TESTED
    assert hold(jails, task, passed("proof:ensures[0]"), passed("proof:laws[0]")).status is Status.PROVED
    bounded = replace(make_task("int", reference=SAME), temporal=(Predicate("steps < 9"),))
    assert hold(jails, bounded, passed("temporal[0]", "temporal")).status is Status.TESTED


def test_why_nothing_was_found_is_noted(reporting: Callable[..., Jails], make_task: Callable[..., TaskSpec]) -> None:
    verdict = hold(reporting(is_exhausted=False), make_task("int", reference=SAME))
    assert verdict.status is Status.TESTED
    assert verdict.reason.startswith("passed; reference was not proved: no counterexample on 1 paths")


def test_only_what_was_accepted_and_has_a_reference_is_explored(
    reporting: Callable[..., Jails], make_task: Callable[..., TaskSpec]
) -> None:
    refuted = Verdict(Status.REFUTED)
    assert hold_against_reference(reporting(), make_task("int", reference=SAME), SAME, refuted) is refuted
    tested = Verdict(Status.TESTED)
    assert hold_against_reference(reporting(), make_task("int"), SAME, tested) is tested
