"""Turn answers that the user judged into the risk of being wrong, given the evidence. Asks no model and runs nothing.

More evidence never means more risk: where labels say otherwise, neighbours are pooled until they do not. The groups are
made from the same labels that they count, so their intervals are a little too narrow; the check on labels that were
left out says how far the risks can be trusted. Weaker evidence than any that was labelled gets no risk at all.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from armillary.core.errors import UsageError
from armillary.core.messages import ModelIdentity
from armillary.core.verdicts import Risk, Status, Verdict
from armillary.reason.curves import Label, wilson
from armillary.reason.evidence import Evidence

MIN_LABELS = 20
MIN_GROUP = 10
NUM_FOLDS = 10
LABELS_PER_BIN = 20
MAX_BINS = 10
NUM_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Group:
    """Answers with about as much evidence; the group reaches up to where the next one begins.

    Attributes:
        lowest_strength: the least evidence in it.
    """

    lowest_strength: float
    num_labels: int
    num_wrong: int

    @property
    def risk(self) -> float:
        """Share of wrong answers."""
        return self.num_wrong / self.num_labels

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the risk."""
        return wilson(self.num_wrong, self.num_labels)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the labels say.

    Attributes:
        model: whose answers were labelled; an empty name where nobody told.
        source: where the labels came from, for the user.
        created: UTC time.
        groups: by rising strength and falling risk.
        expected_error: mean distance between risk and frequency on labels that were left out, from 0 to 1.
        chance_error: the same if every risk were exactly right: what so few labels cannot tell from it.
    """

    model: ModelIdentity
    source: str
    created: str
    groups: tuple[Group, ...]
    expected_error: float
    chance_error: float

    @property
    def num_labels(self) -> int:
        """Labelled answers in all."""
        return sum(group.num_labels for group in self.groups)

    def fits(self, model: ModelIdentity) -> bool:
        """Whether a model's answers are of the kind that was labelled; hashes decide where both are known."""
        if not self.model.name or (self.model.sha256 and self.model.sha256 == model.sha256):
            return True
        return self.model.name == model.name and not (self.model.sha256 and model.sha256)

    def risk_of(self, strength: float) -> Risk | None:
        """The risk of an answer with so much evidence; None if it is weaker than every labelled one."""
        group = group_of(self.groups, strength)
        if group is None:
            return None
        low, high = group.interval
        return Risk(group.risk, low, high, group.num_labels, self.source)


def group_of(groups: Sequence[Group], strength: float) -> Group | None:
    """The group that a strength belongs to; one between two groups belongs to the weaker."""
    return next((group for group in reversed(groups) if group.lowest_strength <= strength), None)


def attach_risk(verdict: Verdict, evidence: Evidence, calibration: Calibration) -> Verdict:
    """The verdict with its risk; one that is known to be wrong or meaningless has none."""
    if verdict.status in (Status.REFUTED, Status.SPEC_SUSPECT):
        return verdict
    return replace(verdict, risk=calibration.risk_of(evidence.strength))


def calibrate(
    labels: Sequence[Label], *, model: ModelIdentity, source: str, created: str, min_group: int = MIN_GROUP
) -> Calibration:
    """Fit the risks and check them.

    Args:
        labels: judged answers of one model.
        model: the model, with an empty name where nobody told.
        source: where the labels came from.
        created: UTC time to note.
        min_group: labels that a group must have at least.

    Raises:
        UsageError: fewer than ``MIN_LABELS`` labels, or all are right, or all are wrong.
    """
    num_wrong = sum(label.is_wrong for label in labels)
    if len(labels) < MIN_LABELS:
        raise UsageError(f"{len(labels)} labels say too little about a risk", hint=f"label at least {MIN_LABELS} tasks")
    if num_wrong in (0, len(labels)):
        word = "wrong" if num_wrong else "right"
        raise UsageError(
            f"all {len(labels)} labels are {word}, so nothing tells what evidence is worth",
            hint="label tasks of both kinds",
        )
    expected, chance = check(labels, min_group)
    return Calibration(model, source, created, fit(labels, min_group), expected, chance)


def fit(labels: Sequence[Label], min_group: int) -> tuple[Group, ...]:
    """Groups by rising strength whose risk never rises (pool adjacent violators), none smaller than ``min_group``."""
    groups: list[Group] = []
    ranked = sorted(labels, key=lambda label: label.strength)
    for strength, members in groupby(ranked, key=lambda label: label.strength):
        answers = list(members)
        group = Group(strength, len(answers), sum(label.is_wrong for label in answers))
        while groups and groups[-1].risk <= group.risk:
            group = _pooled(groups.pop(), group)
        groups.append(group)
    return tuple(_without_small(groups, min_group))


def _pooled(lower: Group, upper: Group) -> Group:
    return Group(lower.lowest_strength, lower.num_labels + upper.num_labels, lower.num_wrong + upper.num_wrong)


def _without_small(groups: list[Group], min_group: int) -> list[Group]:
    """Pools each small group with the neighbour that is closest in risk, which keeps the risks in order."""
    groups = list(groups)
    while len(groups) > 1 and min(group.num_labels for group in groups) < min_group:
        small = min(range(len(groups)), key=lambda index: groups[index].num_labels)
        near = min(
            (index for index in (small - 1, small + 1) if 0 <= index < len(groups)),
            key=lambda index: abs(groups[index].risk - groups[small].risk),
        )
        first = min(small, near)
        groups[first : first + 2] = [_pooled(groups[first], groups[first + 1])]
    return groups


def check(labels: Sequence[Label], min_group: int) -> tuple[float, float]:
    """Expected calibration error on labels that were left out, and what chance alone would make of exact risks."""
    foretold = _foretell(labels, min_group)
    stream = random.Random(0)  # noqa: S311 - sampling is no cryptography
    draws = [expected_error([(risk, stream.random() < risk) for risk, _ in foretold]) for _ in range(NUM_DRAWS)]
    return expected_error(foretold), sum(draws) / len(draws)


def _foretell(labels: Sequence[Label], min_group: int) -> list[tuple[float, bool]]:
    """Each label's risk as the labels outside its fold foretell it, and what it turned out to be."""
    shuffled = list(labels)
    random.Random(0).shuffle(shuffled)  # noqa: S311 - neither is this
    foretold = []
    for fold in range(NUM_FOLDS):
        groups = fit([label for index, label in enumerate(shuffled) if index % NUM_FOLDS != fold], min_group)
        for label in shuffled[fold::NUM_FOLDS]:
            group = group_of(groups, label.strength) or groups[0]
            foretold.append((group.risk, label.is_wrong))
    return foretold


def expected_error(foretold: Sequence[tuple[float, bool]]) -> float:
    """Mean over bins of equal size of the distance between the mean risk and the share of wrong ones."""
    ranked = sorted(foretold, key=lambda pair: pair[0])
    num_bins = max(1, min(MAX_BINS, len(ranked) // LABELS_PER_BIN))
    edges = [round(len(ranked) * index / num_bins) for index in range(num_bins + 1)]
    bins = [ranked[start:stop] for start, stop in pairwise(edges)]
    return sum(abs(sum(risk - is_wrong for risk, is_wrong in members)) for members in bins) / len(ranked)
