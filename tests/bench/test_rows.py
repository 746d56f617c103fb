"""Rows and records survive a run that was stopped anywhere."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from armillary.bench.rows import Row, append_record, append_row, holds, is_partial_run, read_records
from armillary.core.errors import UsageError

ROW = Row("", "pass@1", 0.5, "ratio", None, "higher", None, "", 40, (0.4, 0.6), 2, 0.1, "a machine", "abc")


def test_a_row_is_one_line_with_all_fields(tmp_path: Path) -> None:
    path = tmp_path / "results" / "solve.jsonl"
    append_row(path, ROW)
    append_row(path, ROW)
    lines = path.read_text().splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0]) == {**asdict(ROW), "interval": [0.4, 0.6]}


def test_records_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    for number in range(3):
        append_record(path, {"number": number})
    assert [record["number"] for record in read_records(path)] == [0, 1, 2]


def test_no_file_holds_no_records(tmp_path: Path) -> None:
    assert list(read_records(tmp_path / "none.jsonl")) == []


def test_a_line_cut_by_a_crash_is_left_out_and_spoils_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    append_record(path, {"number": 0})
    with path.open("a") as file:
        file.write('{"number": 1')
    append_record(path, {"number": 2})
    assert [record["number"] for record in read_records(path)] == [0, 2]


def test_a_file_that_is_not_ours_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text("[1]\n")
    with pytest.raises(UsageError, match=r"tasks.jsonl:1"):
        list(read_records(path))


@pytest.mark.parametrize(
    ("quick", "limit", "noisy", "expected"),
    [
        (False, None, False, False),
        (False, 40, False, False),
        (False, 39, False, True),
        (True, None, False, True),
        (True, 40, False, True),
        (False, None, True, True),
    ],
)
def test_a_run_that_measures_less_or_less_well_is_partial(
    quick: bool, limit: int | None, noisy: bool, expected: bool
) -> None:
    assert is_partial_run(quick=quick, limit=limit, noisy=noisy, full_size=40) is expected


@pytest.mark.parametrize(
    ("value", "target", "aim", "expected"),
    [
        (2, 1, "higher", True),
        (1, 2, "higher", False),
        (1, 2, "lower", True),
        (2, 1, "lower", False),
        (1, None, "", None),
    ],
)
def test_a_target_holds_in_the_direction_of_its_aim(
    value: float, target: float | None, aim: str, expected: bool | None
) -> None:
    assert holds(value, target, aim) is expected
