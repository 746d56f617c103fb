"""The faults that every part must survive: cut and flipped files, a full disk, a kill at any moment, a jumping clock.

Each helper works on copies or in processes of its own; nothing outside the test's folder is touched.
"""

from __future__ import annotations

import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

DEADLINE_S = 60.0


def truncated_copy(path: Path, folder: Path, *, keep_bytes: int) -> Path:
    """A copy of a file that ends after ``keep_bytes``."""
    copy = folder / f"truncated-{path.name}"
    with path.open("rb") as source:
        copy.write_bytes(source.read(keep_bytes))
    return copy


def flip_bit(path: Path, *, at_byte: int) -> None:
    """Flip the lowest bit of one byte in place, as a failing disk would; negative positions count from the end."""
    position = at_byte % path.stat().st_size
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))


@cache
def can_mount() -> bool:
    """Whether this machine lets us mount a small disk of our own."""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run_on_small_disk(script: str, folder: Path, *arguments: str, disk_bytes: int) -> subprocess.CompletedProcess[str]:
    """Run a Python script whose folder is a disk of ``disk_bytes``; it finds the folder in ``sys.argv[1]``.

    The disk is a mount that only the script sees and that is gone afterwards, so the script prints what it found.
    Where mounting is forbidden, no single file may grow over ``disk_bytes`` instead.
    """
    folder.mkdir(parents=True, exist_ok=True)
    python = [sys.executable, "-c", script, str(folder), *arguments]
    if can_mount():
        mount = f'mount -t tmpfs -o size={disk_bytes} none "$1" && shift && exec "$@"'
        command = ["unshare", "-Urm", "sh", "-c", mount, "sh", str(folder), *python]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    return subprocess.run(
        python,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (disk_bytes, disk_bytes)),
    )


def kill_at_random(command: list[str], *, seed: int, within_s: float) -> int:
    """Start a command, SIGKILL it after a random part of ``within_s``, and return its exit status.

    The status is ``-signal.SIGKILL`` unless the command was faster.
    """
    delay_s = random.Random(seed).uniform(0, within_s)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(delay_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return process.wait(DEADLINE_S)


def kill_when(command: list[str], *, line: str) -> int:
    """Start a command, SIGKILL it as soon as it prints a line that begins with ``line``, and return its exit status."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for printed in process.stdout:
            if printed.startswith(line):
                process.send_signal(signal.SIGKILL)
                break
        return process.wait(DEADLINE_S)


def jump_clock(monkeypatch: pytest.MonkeyPatch, *, by_s: float) -> None:
    """Let the wall clock jump, as after a correction by the network; the monotonic clock goes on."""
    now = time.time
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + by_s)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + int(by_s * 1e9))
