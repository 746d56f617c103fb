"""What a reader sees first: the verdict, the answer, and on what the rejected attempts went wrong."""

from __future__ import annotations

import re
from pathlib import Path

from report_kit import report, text_of
from trace_kit import REFUTED, TraceKit, repaired

from armillary.core.verdicts import Counterexample, Status, Verdict
from armillary.reason.report_glance import MAX_FAULTS, MAX_NAMES


def refuted(call: str, actual: str) -> Verdict:
    return Verdict(Status.REFUTED, (), Counterexample("examples[0]", call, "6", actual))


def rejected_part(page: str) -> str:
    """The text of the section on what was rejected."""
    found = re.search(r'<section id="rejected">.*?</section>', page, re.DOTALL)
    assert found
    return text_of(found.group())


def test_the_page_begins_with_verdict_answer_and_what_was_rejected(tmp_path: Path) -> None:
    page = report(repaired(tmp_path / "run.jsonl").close())
    assert re.findall(r'<section id="(\w+)">', page)[:3] == ["verdict", "answer", "rejected"]
    assert "f(3) examples[0]expected6got4 (a0)" in rejected_part(page)


def test_attempts_that_went_wrong_on_one_input_stand_together_with_each_result(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 0", refuted("f(1)", "7"))
    kit.attempt("a1", "x = 1", refuted("f(3)", "4"))
    kit.attempt("a2", "x = 2", refuted("f(3)", "5"))
    kit.attempt("a3", "x = 3", refuted("f(3)", "4"))
    kit.attempt("a4", "x = 4")
    kit.answer("a4")
    assert rejected_part(report(kit.close())) == (
        "What was rejectedRefuted besides the answer: 4 of 5 attempts."
        "f(3) examples[0]expected6got4 (a1, a3)got5 (a2)"
        "f(1) examples[0]expected6got7 (a0)"
    )


def test_an_attempt_that_was_refuted_without_an_input_is_told_with_the_reason(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "import os", Verdict(Status.REFUTED, reason="the code does not load"))
    kit.attempt("a1", "x = 1", Verdict(Status.REFUTED))
    kit.answer(None, "REFUTED")
    part = rejected_part(report(kit.close()))
    assert "the code does not load (a0)" in part
    assert "no reason was given (a1)" in part


def test_the_counterexample_of_a_wrong_answer_stands_beside_its_verdict(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1", REFUTED)
    kit.answer("a0", "REFUTED")
    page = report(kit.close())
    assert "wrong onf(3)expected6got4breaksexamples[0]" in text_of(page).split("What was rejected")[1]
    assert "No other attempt was refuted." in rejected_part(page)


def test_rare_faults_and_long_lists_of_attempts_are_folded(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    for number in range(MAX_NAMES + 3):
        kit.attempt(f"a{number}", "x", refuted("f(0)", "1"))
    for number in range(MAX_FAULTS + 1):
        kit.attempt(f"b{number}", "x", refuted(f"f({number + 1})", "1"))
    page = report(kit.close())
    assert "and 3 more)" in rejected_part(page)
    assert '<details><summary>2 more</summary><ul class="faults">' in page


def test_links_to_an_attempt_lead_inside_its_fold(tmp_path: Path) -> None:
    page = report(repaired(tmp_path / "run.jsonl").close())
    assert re.search(r'</summary><div id="attempt-0">', page)


def test_counts_agree_with_their_nouns(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1", REFUTED, tokens=1)
    kit.answer("a0", "REFUTED")
    text = text_of(report(kit.close()))
    assert "2 checks on 1 input, seed 0" in text
    assert " 1 token, checked in" in text


def test_the_model_and_the_day_stand_under_the_title(tmp_path: Path) -> None:
    page = report(repaired(tmp_path / "run.jsonl").close())
    assert re.search(r'</h1><p class="faint">tiny, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, took \d+\.\d s</p>', page)


def test_a_run_that_ended_at_once_has_no_length(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl", model="unknown")
    assert "took 0.0 s" in report(kit.close())


def test_cells_carry_the_name_of_their_column_for_narrow_pages(tmp_path: Path) -> None:
    page = report(repaired(tmp_path / "run.jsonl").close())
    assert '<td data-name="check"><div>policy</div></td>' in page
    assert '<td class="empty"></td>' in page
