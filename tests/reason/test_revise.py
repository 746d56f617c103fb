"""Feedback, and the rule that a revision never loses hard evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reason_fakes import CHECKS, judged, task_with

from armillary.core.verdicts import Check, Counterexample, Status, Verdict
from armillary.reason.propose import first_messages
from armillary.reason.revise import accepts, feedback, revision_messages, why_decided
from armillary.reason.select import standing

TASK = task_with()


def passing(*names: str, status: Status = Status.REFUTED) -> Verdict:
    return Verdict(status, tuple(Check(name, "examples", "user", True) for name in names))


ALL_IDS = (*CHECKS, "laws[0]", "differential")


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    """Any verdict: some checks pass, some fail, some are only a model's own."""
    checks = tuple(
        Check(name, "property", draw(st.sampled_from(["user", "docstring", "model"])), draw(st.booleans()))
        for name in draw(st.sets(st.sampled_from(ALL_IDS)))
    )
    return Verdict(draw(st.sampled_from(list(Status))), checks)


@given(st.lists(verdicts(), min_size=1, max_size=12))
def test_no_sequence_of_revisions_ever_loses_a_hard_check(sequence: list[Verdict]) -> None:
    incumbent, *revisions = sequence
    for revision in revisions:
        before = incumbent
        if accepts(incumbent, revision):
            incumbent = revision
            assert len(incumbent.passed_hard) > len(before.passed_hard)
        assert before.passed_hard <= incumbent.passed_hard
        assert standing(incumbent) >= standing(before)


@given(verdicts())
def test_no_verdict_replaces_itself(verdict: Verdict) -> None:
    assert not accepts(verdict, verdict)


def test_a_right_answer_survives_a_loop_that_used_to_break_it() -> None:
    # As in published self-reflection logs: right at first, then "fixed" because of a wrong test of the model's own.
    right = passing(*CHECKS, status=Status.TESTED)
    broken = [passing("examples[0]"), passing("examples[0]", "examples[1]"), passing(), passing("laws[0]")]
    assert not any(accepts(right, revision) for revision in broken)


def test_progress_on_a_wrong_answer_is_kept() -> None:
    assert accepts(passing("examples[0]"), passing("examples[0]", "examples[1]"))


def test_another_set_of_equal_size_is_no_progress() -> None:
    assert not accepts(passing("examples[0]"), passing("examples[1]"))


def test_a_models_own_tests_count_for_nothing() -> None:
    soft = Verdict(Status.REFUTED, (Check("model[0]", "property", "model", True),))
    assert not accepts(passing(), soft)


def test_an_accepted_answer_is_never_given_up_for_a_refuted_one() -> None:
    assert not accepts(passing("examples[0]", status=Status.EXAMPLES_PASS), passing("examples[0]", "ensures[0]"))


def test_feedback_shows_call_expectation_result_and_the_broken_requirement() -> None:
    text = feedback(TASK, judged(1))
    for fact in ("f(1)", "Expected: 1", "Actual: 2", "examples[1] holds", "`f`", "```python"):
        assert fact in text


def test_feedback_without_a_counterexample_gives_the_reason() -> None:
    text = feedback(TASK, Verdict(Status.REFUTED, reason="line 3: unexpected indent"))
    assert "line 3: unexpected indent" in text


def test_feedback_without_the_checks_text_leaves_it_out() -> None:
    assert "requirement" not in feedback(TASK, replace(judged(1), checks=()))


def test_feedback_stays_within_two_hundred_tokens_whatever_the_values() -> None:
    found = Counterexample("laws[0]", "f(" + "1" * 9999 + ")", "[" * 9999, "]" * 9999)
    check = Check("laws[0]", "property", "user", False, text="x" * 9999)
    for verdict in (Verdict(Status.REFUTED, (check,), found), Verdict(Status.REFUTED, reason="y" * 9999)):
        assert len(feedback(TASK, verdict)) <= 200 * 3.5  # characters per token of such text


def test_a_revision_is_asked_for_after_the_failing_code() -> None:
    messages = revision_messages(TASK, "def f(x): return 2", judged(0))
    assert messages[:2] == first_messages(TASK)
    assert [message.role for message in messages[2:]] == ["assistant", "user"]
    assert "def f(x): return 2" in messages[2].content
    assert messages[3].content == feedback(TASK, judged(0))


@pytest.mark.parametrize(
    ("incumbent", "revision", "why"),
    [
        (passing("a"), passing("a", "b", "c"), "keeps all 1 hard checks and adds b, c"),
        (passing("a", "b"), passing("b", "c"), "loses a"),
        (passing("a"), passing("a"), "passes no hard check more"),
        (passing("a", status=Status.TESTED), passing("a", "b"), "is REFUTED, the incumbent is TESTED"),
    ],
)
def test_the_decision_is_explained(incumbent: Verdict, revision: Verdict, why: str) -> None:
    assert why_decided(incumbent, revision) == why
