"""Verdicts in words."""

from __future__ import annotations

import pytest

from armillary.cli.report import exit_code, percent, verdict_lines
from armillary.core.verdicts import Check, Counterexample, Risk, Status, Verdict


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.PROVED, 0),
        (Status.TESTED, 0),
        (Status.EXAMPLES_PASS, 0),
        (Status.REFUTED, 6),
        (Status.UNKNOWN, 7),
        (Status.SPEC_SUSPECT, 7),
    ],
)
def test_each_status_has_its_exit_code(status: Status, code: int) -> None:
    assert exit_code(Verdict(status)) == code


def test_a_verdict_without_checks_is_one_line() -> None:
    assert verdict_lines(Verdict(Status.UNKNOWN)) == ["UNKNOWN [sandbox none, 0 ms]"]


def test_an_expectation_of_many_lines_stays_in_its_row() -> None:
    verdict = Verdict(Status.TESTED, (Check("laws[0]", "property", "user", True, 9, "a\n  and b"),), reason="why")
    assert verdict_lines(verdict) == [
        "TESTED: why [sandbox none, 0 ms]",
        "  check    origin  inputs          expectation",
        "  laws[0]  user    9       passed  a and b",
    ]


def test_spaces_inside_of_a_value_are_kept() -> None:
    verdict = Verdict(Status.TESTED, (Check("examples[0]", "examples", "user", True, 1, "f('a  b') == 1"),))
    assert verdict_lines(verdict)[-1].endswith("f('a  b') == 1")


def test_a_counterexample_names_call_expectation_and_result() -> None:
    verdict = Verdict(Status.REFUTED, counterexample=Counterexample("ensures[0]", "f(0)", "1", "2"))
    assert verdict_lines(verdict)[1:] == [
        "  counterexample (ensures[0]): f(0)",
        "    expected  1",
        "    got       2",
    ]


def test_a_risk_comes_with_its_interval_and_its_labels() -> None:
    verdict = Verdict(Status.TESTED, risk=Risk(0.03, 0.005, 0.08, 120, "labels.jsonl"))
    assert verdict_lines(verdict)[1:] == [
        "  risk of being wrong: 3 % (0.5 to 8 %, 95 %, 120 of your labelled tasks)",
    ]


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0"), (0.0004, "0.04"), (0.005, "0.5"), (0.0099, "1"), (0.034, "3"), (1.0, "100")]
)
def test_shares_are_whole_percents_but_for_the_smallest(share: float, text: str) -> None:
    assert percent(share) == text
