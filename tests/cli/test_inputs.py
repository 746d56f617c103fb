"""Text from files and stdin, and everything that is no text."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from armillary.cli.inputs import MAX_TEXT_BYTES, read_text
from armillary.core.errors import NotFoundError, UsageError


class Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


def test_a_file_is_read_as_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text("x = 'ü'\n", encoding="utf-8")
    assert read_text(str(path)) == "x = 'ü'\n"


def test_a_dash_reads_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(b"x = 1\n"))
    assert read_text("-") == "x = 1\n"


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"^no file .*nothing\.py$"):
        read_text(str(tmp_path / "nothing.py"))


def test_a_path_through_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be read: Not a directory"):
        read_text(str(tmp_path / "file" / "code.py"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder, not a file"):
        read_text(str(tmp_path))


def test_a_file_without_read_permission_says_so(tmp_path: Path) -> None:
    path = tmp_path / "secret.py"
    path.write_text("")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(UsageError, match="cannot be read: Permission denied"):
        read_text(str(path))


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF\xff\xfe")
    with pytest.raises(UsageError, match=r"is not UTF-8 text \(byte 4\)"):
        read_text(str(path))


def test_null_characters_make_a_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF\0\0")
    with pytest.raises(UsageError, match="binary file"):
        read_text(str(path))


def test_a_huge_file_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.py"
    with path.open("wb") as file:
        file.truncate(MAX_TEXT_BYTES * 1000)
    with pytest.raises(UsageError, match=f"longer than {MAX_TEXT_BYTES} bytes"):
        read_text(str(path))
