from __future__ import annotations

from pathlib import Path

import pytest

from armillary.core.errors import NotFoundError, TaskFormatError
from armillary.verify.spec import MAX_FILE_BYTES, load_task, parse_task

YAML = "prompt: p\nsignature: f(x)\n"
PYTHON = "def g(x): ...\n"


def test_the_ending_decides(tmp_path: Path) -> None:
    for name, text, expected in (
        ("a.yaml", YAML, "f"),
        ("a.yml", YAML, "f"),
        ("a.py", PYTHON, "g"),
        ("a.txt", PYTHON, "g"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert load_task(tmp_path / name).entry_point == expected


def test_without_an_ending_the_text_decides() -> None:
    assert parse_task(YAML).entry_point == "f"
    assert parse_task(PYTHON).entry_point == "g"


def test_a_slip_in_python_is_reported_as_python() -> None:
    with pytest.raises(TaskFormatError, match="not a Python stub"):
        parse_task("# a task\n\ndef f(:\n    pass")


def test_a_byte_order_mark_is_no_part_of_the_task(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + YAML.encode())
    assert load_task(str(path)).entry_point == "f"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "empty"), (b" \n", "empty"), (b"\xff\xfe", "not UTF-8"), (b"#" * (MAX_FILE_BYTES + 1), "at most")],
    ids=range(4),
)
def test_a_file_that_is_no_task_is_one_line(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    with pytest.raises(TaskFormatError, match=problem):
        load_task(path)


def test_text_longer_than_a_file_may_be_is_refused() -> None:
    with pytest.raises(TaskFormatError, match="at most"):
        parse_task("#" * (MAX_FILE_BYTES + 1))


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no task file"):
        load_task(tmp_path / "none.yaml")
