"""95 % confidence intervals of shares and of means over tasks. Fixed seed: the same samples, the same interval."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

Z = 1.959963984540054
NUM_RESAMPLES = 2000

Item = TypeVar("Item")


def wilson(num_hits: int, n: int) -> tuple[float, float] | None:
    """Interval of a share (Wilson 1927); None without samples."""
    if n == 0:
        return None
    share = num_hits / n
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def bootstrap(items: Sequence[Item], statistic: Callable[[Sequence[Item]], float]) -> tuple[float, float] | None:
    """Percentile interval of any statistic, items drawn anew; None with fewer than two items."""
    if len(items) < 2:
        return None
    stream = random.Random(0)  # noqa: S311 - resampling is no cryptography
    values = sorted(statistic(stream.choices(items, k=len(items))) for _ in range(NUM_RESAMPLES))
    return values[round(0.025 * (NUM_RESAMPLES - 1))], values[round(0.975 * (NUM_RESAMPLES - 1))]
