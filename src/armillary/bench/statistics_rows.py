"""Rows of shares and of other statistics over items, each with its interval and held against its target."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from armillary.bench.intervals import bootstrap, wilson
from armillary.bench.rows import Row, holds

Item = TypeVar("Item")


def with_target(row: Row, target: float | None) -> Row:
    """The row, and whether its value holds the target."""
    return replace(row, target=target, holds=holds(row.value, target, row.aim))


def share_row(blank: Row, hits: Sequence[bool], target: float | None = None) -> Row:
    """Share of hits with Wilson's interval; 0 without an interval where there are none to count.

    Args:
        blank: what is already known of the row: metric, aim, baseline, machine.
        hits: one per item.
        target: to hold it against, or None.
    """
    value = statistics.fmean(hits) if hits else 0.0
    row = replace(blank, value=value, unit="ratio", n=len(hits), interval=wilson(sum(hits), len(hits)))
    return with_target(row, target)


def statistic_row(
    blank: Row, items: Sequence[Item], statistic: Callable[[Sequence[Item]], float], target: float | None = None
) -> Row:
    """Any statistic of at least one item with its bootstrap interval.

    Args:
        blank: what is already known of the row: metric, unit, aim, baseline, machine.
        items: what it is taken over.
        statistic: items -> number.
        target: to hold it against, or None.
    """
    row = replace(blank, value=statistic(items), n=len(items), interval=bootstrap(items, statistic))
    return with_target(row, target)
