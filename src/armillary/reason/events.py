"""What the decisions of a search look like in its trace. Decides nothing; a replay compares these very forms.

``RULES`` numbers the rules by which decisions are taken. Raise it with every change of ``select``, ``revise``,
``evidence``, ``decisions`` or ``soft_tests`` that makes another decision of the same verdicts and texts; tests/golden
tells.
"""

from __future__ import annotations

import math
from dataclasses import asdict

from armillary.core.messages import Request
from armillary.core.values import Json, encode
from armillary.core.verdicts import Verdict
from armillary.reason.evidence import Evidence, evidence_to_json
from armillary.reason.propose import Draft
from armillary.reason.revise import accepts, why_decided
from armillary.reason.select import Attempt, Selection
from armillary.reason.soft_tests import Hearing

RULES = 4


def proposal_to_json(request: Request, round_number: int, parent: str | None) -> dict[str, Json]:
    """A request to the model, with all that its answers depend on."""
    return {
        "round": round_number,
        "num_candidates": request.num_candidates,
        "parent": parent,
        "first_candidate": request.first_candidate,
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": {**asdict(request.sampling), "stop": list(request.sampling.stop)},
    }


def attempt_to_json(draft: Draft, code: str, round_number: int, parent: str | None) -> dict[str, Json]:
    """One finished candidate, with all but its verdict that a choice goes by."""
    body: dict[str, Json] = {
        "id": attempt_id(draft),
        "round": round_number,
        "parent": parent,
        "text": draft.text,
        "code": code,
        "finish_reason": draft.finish_reason,
        "tokens": draft.usage.completion_tokens,
        "mean_logprob": confidence(draft),
    }
    return body | ({"error": draft.error} if draft.finish_reason == "error" else {})


def attempt_id(draft: Draft) -> str:
    """Name of a candidate within the trace."""
    return f"a{draft.candidate}"


def confidence(draft: Draft) -> float | None:
    """Mean log probability of a candidate's tokens, or None where the model tells none that is a number."""
    mean = draft.mean_logprob
    return mean if mean is not None and math.isfinite(mean) else None


def selection_to_json(selection: Selection, *, is_settled: bool) -> dict[str, Json]:
    """A choice among attempts; ``is_settled``: it may be relied on, and more attempts would hardly change it."""
    return {
        "chosen": selection.chosen.id,
        "clusters": [list(ids) for ids in selection.clusters],
        "share": round(selection.share, 4),
        "is_settled": is_settled,
        "why": selection.why,
    }


def hearing_to_json(hearing: Hearing) -> dict[str, Json]:
    """What the model said of the inputs on which its answers differ, word for word, and who passes what it meant."""
    return {
        "inputs": list(hearing.inputs),
        "answers": [[item.place, item.text, item.num_tokens, item.finish_reason] for item in hearing.answers],
        "tests": [[encode(test.arguments), encode(test.expected), test.raises, count] for test, count in hearing.tests],
        "passed": {
            leader.id: [check.passed for check in row]
            for leader, row in zip(hearing.leaders, hearing.checks, strict=True)
        },
    }


def revision_to_json(incumbent: Attempt, revision: Attempt) -> dict[str, Json]:
    """Whether a revision takes the incumbent's place, and why."""
    return {
        "incumbent": incumbent.id,
        "revision": revision.id,
        "accepted": accepts(incumbent.verdict, revision.verdict),
        "why": why_decided(incumbent.verdict, revision.verdict),
    }


def answer_to_json(chosen: Attempt | None, verdict: Verdict, evidence: Evidence | None) -> dict[str, Json]:
    """The answer and what speaks for it, its cost apart."""
    return {
        "attempt": chosen.id if chosen else None,
        "status": verdict.status.value,
        "why": verdict.reason,
        "evidence": None if evidence is None else evidence_to_json(evidence),
    }
