from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.core.errors import TraceError
from armillary.core.values import dumps
from armillary.core.verdicts import (
    Check,
    Counterexample,
    Prover,
    Status,
    Verdict,
    replay_form,
    verdict_from_json,
    verdict_to_json,
)

CHECKS = st.builds(
    Check,
    id=st.text(),
    level=st.sampled_from(["policy", "examples", "property", "differential"]),
    origin=st.sampled_from(["user", "docstring", "model", "sandbox"]),
    passed=st.booleans(),
    num_inputs=st.integers(0, 10_000),
    text=st.text(),
)
VERDICTS = st.builds(
    Verdict,
    status=st.sampled_from(Status),
    checks=st.lists(CHECKS, max_size=4).map(tuple),
    counterexample=st.none()
    | st.builds(
        Counterexample, st.text(), st.text(), st.text(), st.text(), st.none() | st.lists(st.integers(), max_size=3)
    ),
    reason=st.text(),
    sandbox_tier=st.sampled_from(["A", "B", "none"]),
    seed=st.integers(0, 1 << 60),
    elapsed_ms=st.floats(0, 1e7).map(lambda value: round(value, 3)),
    prover=st.none()
    | st.builds(
        Prover,
        st.dictionaries(st.text(), st.text(), max_size=2).map(lambda tools: tuple(sorted(tools.items()))),
        st.floats(0.1, 100),
        st.integers(1, 10_000),
    ),
)
VERDICT = Verdict(
    Status.REFUTED,
    (
        Check("policy", "policy", "sandbox", passed=True),
        Check("examples[0]", "examples", "user", passed=True),
        Check("examples[1]", "examples", "model", passed=True),
        Check("ensures[0]", "property", "user", passed=False, num_inputs=40),
    ),
    Counterexample("ensures[0]", "f(0)", "result > 0", "0", [0]),
)


@given(VERDICTS)
def test_a_verdict_survives_the_way_through_json(verdict: Verdict) -> None:
    assert verdict_from_json(json.loads(dumps(verdict_to_json(verdict)))) == verdict


@given(VERDICTS, st.floats(0, 1e7))
def test_a_replay_may_differ_in_time_only(verdict: Verdict, elapsed_ms: float) -> None:
    assert replay_form(replace(verdict, elapsed_ms=elapsed_ms)) == replay_form(verdict)
    assert replay_form(replace(verdict, reason=verdict.reason + "!")) != replay_form(verdict)


def test_time_is_rounded_to_the_microsecond() -> None:
    assert verdict_to_json(Verdict(Status.UNKNOWN, elapsed_ms=1.23456))["elapsed_ms"] == 1.235


def test_only_what_people_or_the_sandbox_expect_is_hard() -> None:
    assert VERDICT.passed_hard == {"policy", "examples[0]"}


def test_the_policy_tries_no_inputs() -> None:
    assert VERDICT.num_inputs == 42


@pytest.mark.parametrize(
    ("status", "is_accepted"),
    [
        (Status.PROVED, True),
        (Status.TESTED, True),
        (Status.EXAMPLES_PASS, True),
        (Status.REFUTED, False),
        (Status.UNKNOWN, False),
        (Status.SPEC_SUSPECT, False),
    ],
)
def test_a_verdict_accepts_only_with_evidence(status: Status, is_accepted: bool) -> None:
    assert Verdict(status).is_accepted == is_accepted


@pytest.mark.parametrize("field", sorted(verdict_to_json(VERDICT)))
def test_a_missing_field_is_no_verdict(field: str) -> None:
    body = verdict_to_json(VERDICT)
    del body[field]
    with pytest.raises(TraceError, match="not a verdict's JSON form"):
        verdict_from_json(body)


CHECK = ["examples[0]", "examples", "user", True, 1, ""]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "FINE"),
        ("status", None),
        ("checks", "abc"),
        ("checks", ["abcdef"]),
        ("checks", [CHECK[:5]]),
        ("checks", [[*CHECK, 1]]),
        ("checks", [[5, *CHECK[1:]]]),
        ("checks", [["a", "vibes", *CHECK[2:]]]),
        ("checks", [["a", "examples", "stranger", *CHECK[3:]]]),
        ("checks", [[*CHECK[:3], 1, 1, ""]]),
        ("checks", [[*CHECK[:4], "1", ""]]),
        ("checks", [[*CHECK[:5], None]]),
        ("counterexample", []),
        ("counterexample", {"check_id": "a"}),
        ("counterexample", {"check_id": 1, "call": "", "expected": "", "actual": "", "arguments": None}),
        ("reason", None),
        ("sandbox_tier", 1),
        ("seed", "0"),
        ("elapsed_ms", "0"),
        ("prover", None),
        ("prover", {"tools": {"z3": 4}, "cpu_s": 1.0, "max_paths": 9}),
        ("prover", {"tools": [], "cpu_s": 1.0, "max_paths": 9}),
        ("prover", {"tools": {}, "cpu_s": "1", "max_paths": 9}),
        ("prover", {"tools": {}, "cpu_s": 1.0}),
    ],
)
def test_a_field_that_was_never_written_so_is_no_verdict(field: str, value: Any) -> None:
    with pytest.raises(TraceError, match="not a verdict's JSON form"):
        verdict_from_json(verdict_to_json(VERDICT) | {field: value})


@pytest.mark.parametrize("body", [None, 5, "text", [], {}])
def test_another_form_altogether_is_no_verdict(body: Any) -> None:
    with pytest.raises(TraceError, match="not a verdict's JSON form"):
        verdict_from_json(body)
