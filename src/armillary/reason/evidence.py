"""How much speaks for an answer, as numbers: what its calibration and the user go by. Judges nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from armillary.core.errors import TraceError
from armillary.core.forms import exactly
from armillary.core.trace import TraceEvent
from armillary.core.values import Json
from armillary.core.verdicts import Check, Status, Verdict

# The kinds of evidence in the order of their weight; each step outweighs everything below it.
STEPS = {
    Status.SPEC_SUSPECT: 0.0,
    Status.REFUTED: 0.0,
    Status.UNKNOWN: 1.0,
    Status.EXAMPLES_PASS: 2.0,
    Status.TESTED: 3.0,
    Status.PROVED: 4.0,
}
# Agreement of so many first proposals, and of so large a share of them, counts as a test beside so many examples. One
# example leaves too much open: a model that reads the task wrongly does so in every proposal (figures in docs/log.md).
BROAD_EXAMPLES = 2
BROAD_AGREEING = 4
BROAD_SHARE = 0.85
# Inputs on which the answer gave a value: that all fail alike, or that nothing ran, says nothing.
BROAD_INPUTS = 10


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one answer.

    Attributes:
        status: of the answer's own verdict.
        num_examples: hard examples that it passes.
        num_inputs: generated inputs on which it kept its task's promises.
        num_agreeing: independent first proposals that behave like it on generated inputs, itself included.
        num_rivals: first proposals that were judged.
        num_shared: generated inputs on which it gave a value, and could so be compared with them.
        soft_passed: tests written by the model that it passes.
        soft_total: tests written by the model.
    """

    status: Status
    num_examples: int = 0
    num_inputs: int = 0
    num_agreeing: int = 0
    num_rivals: int = 0
    soft_passed: int = 0
    soft_total: int = 0
    num_shared: int = 0

    @property
    def agreement(self) -> float:
        """Share of the first proposals that behave like it, from 0 to 1, drawn towards a half where they are few."""
        return (self.num_agreeing + 1) / (self.num_rivals + 2)

    @property
    def is_broad(self) -> bool:
        """Whether so many first proposals agree with it that it may count as tested by them."""
        is_alone = self.num_agreeing < max(BROAD_AGREEING, BROAD_SHARE * self.num_rivals)
        return not is_alone and self.num_shared >= BROAD_INPUTS and self.num_examples >= BROAD_EXAMPLES

    @property
    def soft_share(self) -> float:
        """Share of the model's tests that it passes, drawn towards a half where they are few."""
        return (self.soft_passed + 1) / (self.soft_total + 2)

    @property
    def strength(self) -> float:
        """One number that grows with the evidence, to sort answers by; the kind of verdict comes first."""
        examples = 1 - math.exp(-self.num_examples / 2)
        return STEPS[self.status] + 0.7 * self.agreement + 0.2 * self.soft_share + 0.09 * examples


def endorse(verdict: Verdict, evidence: Evidence) -> Verdict:
    """The verdict, raised from EXAMPLES_PASS to TESTED where independent answers agree with it on generated inputs.

    Answers of one model that were written apart and do the same on inputs that nobody showed them are a test of each
    other, the weaker one: they share what the model has misunderstood. The reason says that this is the evidence.
    """
    if verdict.status != Status.EXAMPLES_PASS or not evidence.is_broad:
        return verdict
    text = (
        f"{evidence.num_agreeing} of {evidence.num_rivals} independent answers behave alike"
        f" on {evidence.num_shared} generated inputs"
    )
    check = Check("agreement", "agreement", "model", passed=True, num_inputs=evidence.num_shared, text=text)
    reason = f"passed {evidence.num_examples} example{'s' * (evidence.num_examples != 1)}; {text}"
    return replace(verdict, status=Status.TESTED, checks=(*verdict.checks, check), reason=reason)


def evidence_of(events: Iterable[TraceEvent]) -> Evidence:
    """The evidence for a trace's answer.

    Raises:
        TraceError: the trace has no answer, or one without evidence.
    """
    found = next((event for event in events if event.kind == "answer"), None)
    if found is None:
        raise TraceError("the trace has no answer: the run was interrupted")
    return evidence_from_json(found.body.get("evidence"))


def evidence_to_json(evidence: Evidence) -> dict[str, Json]:
    """The evidence as it stands in a trace."""
    return {**asdict(evidence), "status": evidence.status.value}


def evidence_from_json(body: Any) -> Evidence:
    """Inverse of :func:`evidence_to_json`.

    Raises:
        TraceError: the body was not written by :func:`evidence_to_json`.
    """
    try:
        # Older traces do not tell the number of shared inputs.
        known = {"num_shared": 0} | body
        counts = {item.name: exactly(known[item.name], int) for item in fields(Evidence) if item.name != "status"}
        return Evidence(Status(body["status"]), **counts)
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"not an answer's evidence: {error!r}") from error


def evidence_for(verdict: Verdict, *, num_agreeing: int, num_rivals: int, num_shared: int = 0) -> Evidence:
    """The evidence that a verdict and the behaviour of its rivals amount to."""
    examples = [check for check in verdict.checks if check.level == "examples" and check.passed]
    judged = [check.num_inputs for check in verdict.checks if check.level in ("property", "differential", "temporal")]
    soft = [check for check in verdict.checks if check.level == "agreement"]
    return Evidence(
        status=verdict.status,
        num_examples=sum(check.is_hard for check in examples),
        num_inputs=min(judged, default=0),
        num_agreeing=num_agreeing,
        num_rivals=num_rivals,
        soft_passed=sum(check.passed for check in soft),
        soft_total=len(soft),
        num_shared=num_shared,
    )
