"""Confidence intervals."""

from __future__ import annotations

import statistics

import pytest

from armillary.bench.intervals import bootstrap, wilson


def test_a_share_has_the_interval_that_the_literature_gives() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_a_share_of_nothing_has_none() -> None:
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("num_hits", "edge", "bound"), [(0, 0, 0.0), (10, 1, 1.0)])
def test_an_interval_stays_within_zero_and_one(num_hits: int, edge: int, bound: float) -> None:
    interval = wilson(num_hits, 10)
    assert interval is not None
    assert interval[edge] == pytest.approx(bound)


def test_a_bootstrap_holds_the_value_and_is_the_same_every_time() -> None:
    items = [float(number) for number in range(50)]
    interval = bootstrap(items, statistics.fmean)
    assert interval == bootstrap(items, statistics.fmean)
    assert interval is not None
    low, high = interval
    assert low < 24.5 < high
    assert high - low == pytest.approx(2 * 1.96 * statistics.pstdev(items) / 50**0.5, rel=0.15)


def test_one_item_has_no_interval() -> None:
    assert bootstrap([1.0], statistics.fmean) is None
