"""Machines for the probe: files of /proc and /sys, laid out under a temporary folder.

``xeon_two_cores`` was recorded on a virtual machine; the others are written after the kernel's documented formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from armillary.hardware.probe import Machine, probe_machine

MACHINES = Path(__file__).parent / "machines"
ProbeRecorded = Callable[..., Machine]


@pytest.fixture
def probe_recorded(tmp_path: Path) -> ProbeRecorded:
    """Probe a recorded machine; keyword ``changes`` replaces files, None removes one."""

    def probe(name: str, changes: dict[str, str | None] | None = None) -> Machine:
        parts = re.split(r"^==> (.+) <==\n", (MACHINES / f"{name}.txt").read_text(), flags=re.MULTILINE)[1:]
        files: dict[str, str | None] = dict(zip(parts[::2], parts[1::2], strict=True)) | (changes or {})
        for path, text in files.items():
            if text is not None:
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_text(text)

        def look_again(_seconds: float) -> None:
            later = tmp_path / "later/proc/stat"
            if later.is_file():
                later.replace(tmp_path / "proc/stat")

        return probe_machine(tmp_path, pause=look_again)

    return probe
