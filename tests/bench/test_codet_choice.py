"""Rules of choice among programs that were judged before."""

from __future__ import annotations

import pytest

from armillary.bench.codet_choice import (
    KnownVerifier,
    by_agreement,
    by_dual_agreement,
    by_model_tests,
    first_passing,
)
from armillary.bench.codet_judge import JudgedProblem, Judgement
from armillary.bench.codet_rows import Tally, net_errors_removed, selection_efficiency, summarise
from armillary.bench.rows import Row
from armillary.core.tasks import Example, TaskSpec
from armillary.core.verdicts import Check, Status, Verdict

TASK = TaskSpec("Give it back.", "f")
PASSED = Check("examples[0]", "examples", "docstring", passed=True)
BLANK = Row("", "", 0.0, "", None, "", None, "", 0, None, 2, 0.1, "a machine", "abc")


def sample(behaviour: str, *passed: bool, status: Status = Status.EXAMPLES_PASS, is_right: bool = False) -> Judgement:
    checks = (PASSED,) if status == Status.EXAMPLES_PASS else ()
    return Judgement(Verdict(status, checks), (behaviour,), passed, is_right, is_right_by_base=is_right)


def refuted(*passed: bool) -> Judgement:
    return sample("", *passed, status=Status.REFUTED)


def problem_of(*judgements: Judgement, texts: tuple[tuple[int, ...], ...] = ()) -> JudgedProblem:
    tests = tuple(Example((number,), number, origin="model") for number in range(len(judgements[0].passed)))
    programs = tuple(f"program {number}" for number in range(len(judgements)))
    return JudgedProblem("HumanEval/0", TASK, programs, judgements, tests, texts)


def test_the_first_that_passes_its_examples_is_the_first_choice() -> None:
    assert first_passing(problem_of(refuted(), sample("a"), sample("b")), 3) == 1
    assert first_passing(problem_of(refuted(), refuted()), 2) == 0


def test_samples_that_behave_alike_outvote_others_and_refuted_ones_have_no_vote() -> None:
    found = problem_of(refuted(), refuted(), refuted(), sample("a"), sample("b"), sample("b"))
    assert by_agreement(found, 6) == 4
    assert by_agreement(found, 4) == 3


def test_no_sample_is_preferred_for_being_the_first() -> None:
    assert by_agreement(problem_of(sample("a"), sample("b"), sample("b")), 3) == 1


def test_the_models_tests_decide_between_groups_of_one_size() -> None:
    judgements = (sample("a", True, False, False), sample("b", False, True, True))
    assert by_model_tests(problem_of(*judgements, texts=((0,), (1,))), 1) == 0
    assert by_model_tests(problem_of(*judgements, texts=((0,), (1, 2))), 2) == 1
    assert by_model_tests(problem_of(*judgements), 2) == 0


def test_the_models_tests_are_not_heard_where_all_agree_or_all_are_refuted() -> None:
    texts = ((0,), (0,))
    assert by_model_tests(problem_of(sample("a", False), sample("a", True), texts=texts), 2) == 0
    assert by_model_tests(problem_of(refuted(False), refuted(True), texts=texts), 2) == 0


def test_dual_agreement_weighs_tests_by_number_and_programs_by_its_root() -> None:
    alone, crowd = sample("a", True, True, False), sample("b", False, False, True)
    texts = ((0, 1), (2,))
    assert by_dual_agreement(problem_of(*[crowd] * 3, alone, texts=texts), 4) == 3
    assert by_dual_agreement(problem_of(*[crowd] * 5, alone, texts=texts), 6) == 0
    assert by_dual_agreement(problem_of(refuted(True, False, False), alone, texts=((0, 1), (0, 1))), 2) == 1


def test_a_task_that_contradicts_itself_is_not_answered() -> None:
    suspect = problem_of(sample("", status=Status.SPEC_SUSPECT, is_right=True))
    assert by_agreement(suspect, 1) is None
    assert by_model_tests(suspect, 1) is None
    rows = {row.metric: row.value for row in summarise([suspect], BLANK)}
    assert rows["codegen: selected by examples and agreement, 1 samples"] == 0.0
    assert rows["codegen: first that passes its examples, 1 samples"] == 1.0


def test_what_was_judged_before_is_looked_up() -> None:
    found = problem_of(sample("a", True, False))
    verifier = KnownVerifier(found)
    assert verifier.sandbox_tier == "none"
    assert verifier.verify(TASK, "program 0").is_accepted
    assert verifier.behaviours(TASK, ["program 0"]) == [("a",)]
    checks = verifier.soft_checks(TASK, "program 0", found.tests[::-1])
    assert [(check.id, check.passed) for check in checks] == [("model_examples[1]", False), ("model_examples[0]", True)]
    assert (verifier.telling_inputs(TASK, ["program 0"]), verifier.last_steps(TASK, "program 0", [])) == ((), ())


def test_gains_are_shares_of_what_could_be_gained() -> None:
    tallies = [Tally(0.5, best=True, chosen=True), Tally(0.0, best=False, chosen=False)]
    assert net_errors_removed(tallies) == pytest.approx(1 / 3)
    assert selection_efficiency(tallies) == 1.0
    perfect = [Tally(1.0, best=True, chosen=True)]
    assert (net_errors_removed(perfect), selection_efficiency(perfect)) == (0.0, 1.0)


def test_the_first_samples_are_counted_beside_all_of_them() -> None:
    found = problem_of(*[refuted()] * 18, sample("a", is_right=True), sample("a", is_right=True))
    rows = {row.metric: row for row in summarise([found, found], BLANK)}
    assert rows["codegen: pass@16, 16 samples"].value == 0.0
    assert rows["codegen: pass@20, 20 samples"].value == 1.0
    assert rows["codegen: mean sample pass@1, 20 samples, base tests"].value == pytest.approx(0.1)


def test_only_the_loops_own_choice_has_targets_and_only_by_the_larger_set_of_tests() -> None:
    rows = summarise([problem_of(sample("a", is_right=True))], BLANK)
    assert {row.metric: row.target for row in rows if row.target is not None} == {
        "codegen: net errors of the mean sample removed, selected by examples, agreement and the model's tests, "
        "1 samples": 0.45,
        "codegen: selection efficiency, selected by examples, agreement and the model's tests, 1 samples": 0.75,
    }
