"""Measurements as rows in a file that only grows, so that a stopped run loses nothing. Measures nothing itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from armillary.core.errors import UsageError

RESULTS_FOLDER = Path("benchmarks/results")


@dataclass(frozen=True, slots=True)
class Row:
    """One number, what it is compared with, and where it was measured.

    Attributes:
        claim: id of the claim that it supports, or empty.
        metric: what was measured.
        target: bound that the claim names, or None.
        aim: ``higher`` or ``lower`` is better.
        holds: whether the value meets the target; None without one.
        baseline: what it is compared with, in words.
        n: samples behind the value.
        interval: 95 % confidence interval, or None.
        load: load average over one minute, before the run.
        is_partial: smaller than the topic's full size, or measured although the machine need not be quiet; such a row
            is kept and never published.
    """

    claim: str
    metric: str
    value: float
    unit: str
    target: float | None
    aim: str
    holds: bool | None
    baseline: str
    n: int
    interval: tuple[float, float] | None
    threads: int
    load: float
    hardware: str
    commit: str
    is_partial: bool = False


def is_partial_run(*, quick: bool, limit: int | None, noisy: bool, full_size: int) -> bool:
    """Whether a run with these options measures less, or less well, than what is published."""
    return quick or noisy or (limit is not None and limit < full_size)


def holds(value: float, target: float | None, aim: str) -> bool | None:
    """Whether a value meets its target, in the direction of its aim."""
    if target is None:
        return None
    return value >= target if aim == "higher" else value <= target


def append_row(path: Path, row: Row) -> None:
    """Add a row; it is on its line before this returns."""
    append_record(path, asdict(row))


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Add one JSON object as a line; a line that a crash cut in half before is ended first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.tell() > 0:
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(record, sort_keys=True).encode() + b"\n")


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file, none if it does not exist; lines that a crash cut in half are left out.

    Raises:
        UsageError: a line is JSON but no object: not a file of ours.
    """
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if not isinstance(record, dict):
                raise UsageError(f"{path}:{number}: not a record", hint="move the file away")
            yield record
