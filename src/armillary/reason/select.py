"""Choose the best of several judged attempts, and say why. Pure: runs nothing and asks nobody."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.core.verdicts import Behaviour, Status, Verdict

SETTLED_AGREEING = 3
SETTLED_SHARE = 0.8
GREEDY_BONUS = 1.0


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

    @property
    def is_likeliest(self) -> bool:
        """Whether it is the greedy answer: the first attempt of a search."""
        return self.id == "a0"


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice and its reason.

    Attributes:
        chosen: the attempt that won.
        clusters: ids of the contenders, grouped by behaviour, biggest group first.
        why: one sentence for the user.
        num_agreeing: contenders that behave like the winner, itself included.
        share: of the contenders' weight that they have, from 0 to 1.
    """

    chosen: Attempt
    clusters: tuple[tuple[str, ...], ...]
    why: str
    num_agreeing: int = 1
    share: float = 1.0

    @property
    def is_settled(self) -> bool:
        """Whether further attempts would hardly change the choice."""
        return self.num_agreeing >= SETTLED_AGREEING and self.share >= SETTLED_SHARE


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


def select(
    rivals: Sequence[Attempt], behaviours: Sequence[Behaviour], votes: Mapping[Behaviour, float] | None = None
) -> Selection:
    """Rank by hard evidence passed, then agreement, then the model's own confidence, then brevity.

    Agreement is counted input by input: an attempt that does nearly what others do has most of their weight (as in
    MBR-EXEC, Shi and others, 2022), so that the odd input on which all differ decides nothing.

    Args:
        rivals: attempts of one standing, at least one; earlier ones win ties.
        behaviours: one per rival.
        votes: behaviour -> what the model's own tests add to its agreement, in attempts.
    """
    groups: dict[Behaviour, list[Attempt]] = {}
    for attempt, behaviour in zip(rivals, behaviours, strict=True):
        groups.setdefault(behaviour, []).append(attempt)
    weights = {name: weight_of(members) + (votes or {}).get(name, 0.0) for name, members in groups.items()}
    support = {name: sum(weights[other] * likeness(name, other) for other in groups) for name in groups}

    def rank(pair: tuple[Attempt, Behaviour]) -> tuple[float, ...]:
        attempt, behaviour = pair
        logprob = -math.inf if attempt.mean_logprob is None else attempt.mean_logprob
        return (len(attempt.verdict.passed_hard), support[behaviour], logprob, -len(attempt.code))

    chosen, behaviour = max(zip(rivals, behaviours, strict=True), key=rank)
    clusters = tuple(
        tuple(item.id for item in groups[name])
        for name in sorted(groups, key=lambda name: len(groups[name]), reverse=True)
    )
    share = weights[behaviour] / sum(weights.values())
    why = _why(chosen, len(groups[behaviour]), len(rivals))
    if votes:
        why += "; the model's own tests were heard"
    return Selection(chosen, clusters, why, len(groups[behaviour]), share)


def likeness(left: Behaviour, right: Behaviour) -> float:
    """Share of the shared inputs on which two behaviours are equal."""
    if left == right:
        return 1.0
    if len(left) != len(right):
        return 0.0
    num_equal: int = sum(map(operator.eq, left, right))
    return num_equal / len(left)


def weight_of(members: Sequence[Attempt]) -> float:
    """How much attempts that behave alike weigh: one each, and one more for the likeliest answer."""
    return len(members) + GREEDY_BONUS * any(item.is_likeliest for item in members)


def _why(chosen: Attempt, num_alike: int, num_rivals: int) -> str:
    num_passed = len(chosen.verdict.passed_hard)
    evidence = f"{chosen.id} passed {num_passed} hard check{'' if num_passed == 1 else 's'}"
    if chosen.verdict.status == Status.REFUTED:
        return f"every attempt was refuted; {evidence}, no other passed more"
    if num_rivals == 1:
        return f"{evidence} and stands alone"
    return f"{evidence}; {num_alike} of {num_rivals} attempts of its standing behave alike"
