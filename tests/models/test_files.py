"""Locks between processes, and hashes that are noted where no stranger can write."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from fault_kit import jump_clock
from wheels import CONTENT, sha256

from armillary.models.files import exclusive, file_sha256, fresh_sha256


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file in a folder of its own."""
    folder = tmp_path / "models"
    folder.mkdir()
    path = folder / "tiny.gguf"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder for notes of hashes that does not exist yet."""
    return tmp_path / "hashes"


def only_note(notes: Path) -> Path:
    (note,) = notes.iterdir()
    return note


def test_a_hash_is_noted_and_believed_while_the_file_stays(path: Path, notes: Path) -> None:
    assert file_sha256(path, notes) == sha256(CONTENT)
    note = only_note(notes)
    note.write_text(note.read_text().replace(sha256(CONTENT), "0" * 64))
    assert file_sha256(path, notes) == "0" * 64


def test_a_fresh_hash_believes_no_note_and_mends_it(path: Path, notes: Path) -> None:
    file_sha256(path, notes)
    note = only_note(notes)
    note.write_text(note.read_text().replace(sha256(CONTENT), "0" * 64))
    assert fresh_sha256(path, notes) == sha256(CONTENT)
    assert file_sha256(path, notes) == sha256(CONTENT)


def test_a_changed_file_of_the_same_size_and_time_is_hashed_anew(path: Path, notes: Path) -> None:
    assert file_sha256(path, notes) == sha256(CONTENT)
    status = path.stat()
    time.sleep(0.02)  # longer than a tick of the file system's clock
    path.write_bytes(bytes(len(CONTENT)))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert file_sha256(path, notes) == sha256(bytes(len(CONTENT)))


def test_a_note_beside_a_foreign_file_is_not_believed(path: Path, notes: Path) -> None:
    status = path.stat()
    forged = {"num_bytes": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": "0" * 64}
    path.with_name("tiny.gguf.json").write_text(json.dumps(forged))
    assert file_sha256(path, notes) == sha256(CONTENT)


def test_by_default_hashes_are_noted_in_the_home_and_nothing_beside_the_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMILLARY_HOME", str(tmp_path / "mine"))
    assert file_sha256(path) == sha256(CONTENT)
    assert only_note(tmp_path / "mine" / "hashes").suffix == ".json"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_changes_while_it_is_hashed_is_not_noted(
    path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.file_digest

    def change_under_way(file: Any, name: str) -> Any:
        found = digest(file, name)
        time.sleep(0.02)
        path.write_bytes(bytes(len(CONTENT)))
        return found

    monkeypatch.setattr(hashlib, "file_digest", change_under_way)
    file_sha256(path, notes)
    monkeypatch.undo()
    assert not notes.exists()
    assert file_sha256(path, notes) == sha256(bytes(len(CONTENT)))


def test_a_file_that_is_replaced_while_it_is_hashed_is_hashed_anew(
    path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.file_digest

    def replace_under_way(file: Any, name: str) -> Any:
        other = path.with_name("other")
        other.write_bytes(bytes(len(CONTENT)))
        other.replace(path)
        return digest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", replace_under_way)
    assert file_sha256(path, notes) == sha256(CONTENT)
    monkeypatch.undo()
    assert file_sha256(path, notes) == sha256(bytes(len(CONTENT)))


def test_two_files_have_two_notes(path: Path, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "tiny.gguf"
    other.write_bytes(b"other")
    for file, content in ((path, CONTENT), (other, b"other")):
        assert file_sha256(file, notes) == file_sha256(file, notes) == sha256(content)
    assert len(list(notes.iterdir())) == 2


def test_a_clock_that_jumps_does_not_disturb_the_memory(
    path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jump_clock(monkeypatch, by_s=-1e8)
    assert file_sha256(path, notes) == file_sha256(path, notes) == sha256(CONTENT)
    assert time.time() < path.stat().st_mtime


@pytest.mark.parametrize("text", ["", "[]", '{"sha256": 1}', '{"sha256": "0"}', "\xff"])
def test_a_damaged_memory_is_made_anew(path: Path, notes: Path, text: str) -> None:
    file_sha256(path, notes)
    only_note(notes).write_text(text, encoding="latin-1")
    assert file_sha256(path, notes) == sha256(CONTENT)


def test_a_folder_without_room_for_the_memory_only_costs_time(path: Path, notes: Path) -> None:
    notes.write_text("in the way")
    assert file_sha256(path, notes) == sha256(CONTENT)


def test_who_waits_for_a_lock_says_so(tmp_path: Path) -> None:
    holder = exclusive(tmp_path / "lock", lambda: None)
    holder.__enter__()
    waited: list[str] = []

    def tell_and_free() -> None:
        waited.append("waiting")
        holder.__exit__(None, None, None)

    with exclusive(tmp_path / "lock", tell_and_free):
        assert waited == ["waiting"]
