from __future__ import annotations

from dataclasses import replace

import pytest

from armillary.core.errors import TraceError
from armillary.core.trace import Trace
from armillary.core.verdicts import Check, Status, Verdict
from armillary.reason.evidence import (
    Evidence,
    endorse,
    evidence_for,
    evidence_from_json,
    evidence_of,
    evidence_to_json,
)

SOME = Evidence(Status.EXAMPLES_PASS, num_examples=2, num_inputs=0, num_agreeing=3, num_rivals=4)


@pytest.mark.parametrize(
    "more",
    [
        replace(SOME, status=Status.TESTED),
        replace(SOME, num_agreeing=4),
        replace(SOME, num_agreeing=6, num_rivals=8),
        replace(SOME, soft_passed=3, soft_total=3),
        replace(SOME, num_examples=3),
    ],
)
def test_more_evidence_is_stronger(more: Evidence) -> None:
    assert more.strength > SOME.strength


def test_the_kind_of_verdict_outweighs_everything_else() -> None:
    best_examples = Evidence(Status.EXAMPLES_PASS, 99, 0, 99, 99, 99, 99)
    assert Evidence(Status.TESTED).strength > best_examples.strength > Evidence(Status.UNKNOWN).strength


def test_evidence_is_taken_from_a_verdict() -> None:
    checks = (
        Check("policy", "policy", "sandbox", True),
        Check("examples[0]", "examples", "user", True),
        Check("examples[1]", "examples", "model", True),
        Check("ensures[0]", "property", "user", True, 200),
        Check("laws[0]", "property", "user", True, 150),
        Check("model_examples[0]", "agreement", "model", True),
        Check("model_examples[1]", "agreement", "model", False),
    )
    found = evidence_for(Verdict(Status.TESTED, checks), num_agreeing=3, num_rivals=5)
    assert found == Evidence(Status.TESTED, 1, 150, 3, 5, 1, 2)


PASSED = Verdict(Status.EXAMPLES_PASS, reason="passed 2 examples, nothing else was tested")


@pytest.mark.parametrize(("num_agreeing", "num_rivals"), [(4, 4), (7, 8), (14, 16)])
def test_examples_beside_broad_agreement_are_a_test_that_says_so(num_agreeing: int, num_rivals: int) -> None:
    found = endorse(PASSED, replace(SOME, num_agreeing=num_agreeing, num_rivals=num_rivals, num_shared=10))
    assert found.status == Status.TESTED
    alike = f"{num_agreeing} of {num_rivals} independent answers behave alike on 10 generated inputs"
    assert found.reason == f"passed 2 examples; {alike}"
    assert [(check.level, check.origin) for check in found.checks] == [("agreement", "model")]


@pytest.mark.parametrize(("num_agreeing", "num_rivals"), [(1, 1), (3, 3), (6, 8), (13, 16)])
def test_few_answers_or_a_divided_model_are_none(num_agreeing: int, num_rivals: int) -> None:
    some = replace(SOME, num_agreeing=num_agreeing, num_rivals=num_rivals, num_shared=99)
    assert endorse(PASSED, some) is PASSED


def test_agreement_on_inputs_that_give_no_value_is_none() -> None:
    assert endorse(PASSED, replace(SOME, num_agreeing=16, num_rivals=16, num_shared=9)) is PASSED


def test_agreement_beside_a_single_example_is_none() -> None:
    assert endorse(PASSED, replace(SOME, num_examples=1, num_agreeing=16, num_rivals=16, num_shared=99)) is PASSED


@pytest.mark.parametrize("status", [Status.REFUTED, Status.UNKNOWN, Status.SPEC_SUSPECT, Status.TESTED, Status.PROVED])
def test_agreement_changes_no_other_verdict(status: Status) -> None:
    verdict = replace(PASSED, status=status)
    assert endorse(verdict, replace(SOME, num_agreeing=16, num_rivals=16, num_shared=99)) is verdict


def test_evidence_survives_a_trace() -> None:
    trace = Trace()
    trace.append("header", {})
    trace.append("answer", {"evidence": evidence_to_json(SOME)})
    assert evidence_of(trace.events) == SOME


@pytest.mark.parametrize(
    "body", [None, {}, {**evidence_to_json(SOME), "status": "?"}, {**evidence_to_json(SOME), "num_rivals": "4"}]
)
def test_another_form_is_refused(body: object) -> None:
    with pytest.raises(TraceError, match="not an answer's evidence"):
        evidence_from_json(body)


def test_an_interrupted_run_has_no_evidence() -> None:
    with pytest.raises(TraceError, match="interrupted"):
        evidence_of([])
