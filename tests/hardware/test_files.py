from __future__ import annotations

from pathlib import Path

import pytest

from armillary.hardware.files import parse_cpu_list, read_number, read_rows, read_text


def test_an_absent_file_reads_as_nothing(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert (read_text(absent), read_number(absent), read_rows(absent)) == ("", None, {})


@pytest.mark.parametrize(("text", "number"), [("12\n", 12), ("-1", -1), ("max\n", None), ("", None), ("1 2", None)])
def test_a_number_is_a_whole_file(tmp_path: Path, text: str, number: int | None) -> None:
    (tmp_path / "file").write_text(text)
    assert read_number(tmp_path / "file") == number


def test_the_first_of_equal_keys_wins_and_lines_without_a_value_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a : 1\nb\na : 2\n")
    assert read_rows(tmp_path / "file", ":") == {"a": "1"}


@pytest.mark.parametrize(("text", "cores"), [("", set()), ("0", {0}), ("0-2\n", {0, 1, 2}), ("1,4-5,9", {1, 4, 5, 9})])
def test_core_lists_hold_single_cores_and_ranges(text: str, cores: set[int]) -> None:
    assert parse_cpu_list(text) == cores
