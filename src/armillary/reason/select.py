"""Choose the best of several judged attempts, and say why. Pure: runs nothing and asks nobody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from armillary.core.verdicts import Status, Verdict


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate with all that is known about it.

    Attributes:
        id: name within the trace, such as ``a3``.
        round: 0 for first proposals, then one more for each revision.
        parent: id of the attempt that it revises, or None.
        num_tokens: tokens that the model wrote for it.
        mean_logprob: mean natural log of those tokens' probabilities, or None where the model does not tell.
    """

    id: str
    round: int
    parent: str | None
    code: str
    verdict: Verdict
    num_tokens: int
    mean_logprob: float | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice and its reason.

    Attributes:
        chosen: the attempt that won.
        clusters: ids of the contenders, grouped by behaviour, biggest group first.
        why: one sentence for the user.
    """

    chosen: Attempt
    clusters: tuple[tuple[str, ...], ...]
    why: str


def standing(verdict: Verdict) -> int:
    """0 refuted, 1 undecided, 2 accepted; 3 for a verdict on the task itself, which voids all others."""
    if verdict.is_accepted:
        return 2
    return {Status.SPEC_SUSPECT: 3, Status.UNKNOWN: 1}.get(verdict.status, 0)


def contenders(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts of the best standing that occurs: accepted, else not refuted, else all.

    An answer that is known to be wrong never competes with one that is not, whatever else it has passed. An attempt
    that showed the task to contradict itself comes before all others: what they passed means nothing then.
    """
    best = max(standing(attempt.verdict) for attempt in attempts)
    return tuple(attempt for attempt in attempts if standing(attempt.verdict) == best)


def select(rivals: Sequence[Attempt], behaviours: Sequence[str]) -> Selection:
    """Rank by hard evidence passed, then agreement, then the model's own confidence, then brevity.

    Args:
        rivals: attempts of one standing, at least one; earlier ones win ties.
        behaviours: one fingerprint per rival; equal ones behave alike.
    """
    groups: dict[str, list[str]] = {}
    for attempt, behaviour in zip(rivals, behaviours, strict=True):
        groups.setdefault(behaviour, []).append(attempt.id)

    def rank(pair: tuple[Attempt, str]) -> tuple[float, ...]:
        attempt, behaviour = pair
        logprob = -math.inf if attempt.mean_logprob is None else attempt.mean_logprob
        return (len(attempt.verdict.passed_hard), len(groups[behaviour]), logprob, -len(attempt.code))

    chosen, behaviour = max(zip(rivals, behaviours, strict=True), key=rank)
    clusters = tuple(sorted((tuple(ids) for ids in groups.values()), key=len, reverse=True))
    return Selection(chosen, clusters, _why(chosen, len(groups[behaviour]), len(rivals)))


def _why(chosen: Attempt, num_alike: int, num_rivals: int) -> str:
    num_passed = len(chosen.verdict.passed_hard)
    evidence = f"{chosen.id} passed {num_passed} hard check{'' if num_passed == 1 else 's'}"
    if chosen.verdict.status == Status.REFUTED:
        return f"every attempt was refuted; {evidence}, no other passed more"
    if num_rivals == 1:
        return f"{evidence} and stands alone"
    return f"{evidence}; {num_alike} of {num_rivals} attempts of its standing behave alike"
