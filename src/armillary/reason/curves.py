"""Risk against coverage: how often the best-supported answers were wrong, as more of them are taken. Draws nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Label:
    """One answer that the user judged.

    Attributes:
        strength: how much spoke for it.
    """

    strength: float
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class Point:
    """All answers with at least so much evidence.

    Attributes:
        strength: the least evidence among them.
        num_labels: how many labelled answers there are in all.
        low, high: 95 % interval of the risk.
    """

    strength: float
    num_covered: int
    num_wrong: int
    num_labels: int
    low: float
    high: float

    @property
    def coverage(self) -> float:
        """Share of all answers that are covered."""
        return self.num_covered / self.num_labels

    @property
    def risk(self) -> float:
        """Share of wrong ones among the covered."""
        return self.num_wrong / self.num_covered


def wilson(num_hits: int, n: int) -> tuple[float, float]:
    """95 % interval of a share of at least one (Wilson 1927)."""
    share = num_hits / n
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    # Rounding must not move an end that is known exactly.
    return (0.0 if num_hits == 0 else max(0.0, centre - half)), (1.0 if num_hits == n else min(1.0, centre + half))


def risk_coverage(labels: Sequence[Label]) -> tuple[Point, ...]:
    """One point per strength that occurs, the strongest evidence first; equal strengths come or go together."""
    points = []
    num_covered = num_wrong = 0
    ranked = sorted(labels, key=lambda label: label.strength, reverse=True)
    for strength, group in groupby(ranked, key=lambda label: label.strength):
        members = list(group)
        num_covered += len(members)
        num_wrong += sum(label.is_wrong for label in members)
        points.append(Point(strength, num_covered, num_wrong, len(labels), *wilson(num_wrong, num_covered)))
    return tuple(points)


def area(points: Sequence[Point]) -> float:
    """Mean risk over all coverages from 0 to 1; evidence that says nothing gives the share of wrong answers."""
    total = before = 0.0
    for point in points:
        total += point.risk * (point.coverage - before)
        before = point.coverage
    return total


def as_csv(points: Sequence[Point]) -> str:
    """The points as a table, shares from 0 to 1."""
    lines = ["strength,num_covered,coverage,num_wrong,risk,low,high"]
    for point in points:
        shares = f"{point.coverage:.6f},{point.num_wrong},{point.risk:.6f},{point.low:.6f},{point.high:.6f}"
        lines.append(f"{point.strength!r},{point.num_covered},{shares}")
    return "\n".join(lines) + "\n"
