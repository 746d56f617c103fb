"""See what the sandbox makes of a machine that has less than this one; in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).with_name("weakened_machine.py")
_OLD_LANDLOCK = Path(__file__).with_name("old_landlock.py")


def on_a_machine_without(
    calls: str,
    minimum_tier: str,
    program: str = "print('ran')",
    *,
    pass_fds: tuple[int, ...] = (),
    python: Path | None = None,
) -> dict[str, Any]:
    """What became of the probe and of a program where the kernel refuses these calls; ``python`` runs the zygote."""
    command = [sys.executable, str(_SCRIPT), calls, minimum_tier, program, str(python or sys.executable)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, pass_fds=pass_fds)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def python_with_old_landlock(folder: Path) -> Path:
    """A stand-in for the interpreter, in ``folder``, whose zygote finds a Landlock that knows of no signals."""
    stand_in = folder / "python"
    stand_in.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -s -P -X utf8 "{_OLD_LANDLOCK}" "$@"\n')
    stand_in.chmod(0o755)
    return stand_in
