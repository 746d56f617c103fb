"""What ``make install`` would run; nothing is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout in which everything is installed, each stamp newer than what it is made from."""
    shutil.copy(MAKEFILE, tmp_path)
    stamps = tmp_path / ".venv" / ".stamps"
    stamps.mkdir(parents=True)
    (tmp_path / "requirements").mkdir()
    sources = [tmp_path / name for name in ("pyproject.toml", "setup.py", "requirements/lock.txt")]
    for age_s, path in enumerate(
        reversed([*sources, *(stamps / name for name in ("venv", "torch", "lock", "package"))])
    ):
        path.write_text("torch==1.0\n")
        os.utime(path, (1e9 - age_s, 1e9 - age_s))
    return tmp_path


def would_run(folder: Path, torch: str) -> str:
    command = ["make", "-n", "install", f"TORCH={torch}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=30).stdout


def test_nothing_is_installed_twice(folder: Path) -> None:
    assert "pip install" not in would_run(folder, "torch==1.0")


def test_another_torch_is_installed_and_the_rest_after_it(folder: Path) -> None:
    lines = [line for line in would_run(folder, "torch==2.0").splitlines() if "pip install" in line]
    assert [next(word for word in ("torch==2.0", "lock.txt", "-e .") if word in line) for line in lines] == [
        "torch==2.0",
        "lock.txt",
        "-e .",
    ]


def test_the_largest_part_is_the_one_that_shows_its_progress(folder: Path) -> None:
    lines = [line for line in would_run(folder, "torch==2.0").splitlines() if "pip install" in line]
    assert [" -qq" in line for line in lines] == [False, True, True]
