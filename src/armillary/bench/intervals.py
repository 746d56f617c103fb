"""95 % confidence intervals of shares and of means over tasks. Fixed seed: the same samples, the same interval."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from armillary.reason.curves import wilson as interval_of_share

NUM_RESAMPLES = 2000

Item = TypeVar("Item")


def wilson(num_hits: int, n: int) -> tuple[float, float] | None:
    """Interval of a share; None without samples."""
    return interval_of_share(num_hits, n) if n else None


def bootstrap(items: Sequence[Item], statistic: Callable[[Sequence[Item]], float]) -> tuple[float, float] | None:
    """Percentile interval of any statistic, items drawn anew; None with fewer than two items."""
    if len(items) < 2:
        return None
    stream = random.Random(0)  # noqa: S311 - resampling is no cryptography
    values = sorted(statistic(stream.choices(items, k=len(items))) for _ in range(NUM_RESAMPLES))
    return values[round(0.025 * (NUM_RESAMPLES - 1))], values[round(0.975 * (NUM_RESAMPLES - 1))]
