"""The fault kit causes the faults that it promises."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest
from fault_kit import flip_bit, jump_clock, kill_at_random, kill_when, run_on_small_disk, truncated_copy

FILL = """
import pathlib, sys
try:
    (pathlib.Path(sys.argv[1]) / "big").write_bytes(bytes(1 << 20))
except OSError as error:
    print(error.errno in (27, 28))
"""
SLEEP = "import time; print('ready', flush=True); time.sleep(60)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    return path


def test_a_truncated_copy_keeps_the_beginning_and_the_original(file: Path, tmp_path: Path) -> None:
    assert truncated_copy(file, tmp_path, keep_bytes=2).read_bytes() == b"ab"
    assert file.read_bytes() == b"abcdef"


@pytest.mark.parametrize(("at_byte", "result"), [(0, b"`bcdef"), (-1, b"abcdeg")])
def test_a_flipped_bit_changes_one_byte(file: Path, at_byte: int, result: bytes) -> None:
    flip_bit(file, at_byte=at_byte)
    assert file.read_bytes() == result


def test_a_small_disk_is_full_soon(tmp_path: Path) -> None:
    done = run_on_small_disk(FILL, tmp_path / "disk", disk_bytes=1 << 16)
    assert done.stdout.strip() == "True", done.stderr


def test_a_kill_comes_within_the_time(tmp_path: Path) -> None:
    begin = time.monotonic()
    assert kill_at_random([sys.executable, "-c", SLEEP], seed=1, within_s=0.2) == -signal.SIGKILL
    assert time.monotonic() - begin < 30


def test_a_kill_misses_a_command_that_was_faster() -> None:
    assert kill_at_random(["true"], seed=0, within_s=60) == 0


def test_a_kill_waits_for_its_line() -> None:
    assert kill_when([sys.executable, "-c", SLEEP], line="ready") == -signal.SIGKILL


def test_only_the_wall_clock_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    before, steady = time.time(), time.monotonic()
    jump_clock(monkeypatch, by_s=-3600)
    assert time.time() < before - 3000
    assert time.time_ns() < (before - 3000) * 1e9
    assert time.monotonic() >= steady
