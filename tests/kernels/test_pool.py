"""The native kernels' threads: every task of a call runs once, and none after its call."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import armillary.kernels

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
HEADERS = Path(armillary.kernels.__file__).parent / "native"


@pytest.fixture(scope="module")
def stress(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    program = tmp_path_factory.mktemp("pool") / "stress"
    source = Path(__file__).with_name("pool_stress.cpp")
    subprocess.run([COMPILER, "-O2", "-std=c++17", "-pthread", f"-I{HEADERS}", source, "-o", program], check=True)
    return program


@pytest.mark.parametrize("num_threads", [2, 3, 8])
def test_every_task_runs_once_however_late_a_thread_is(stress: Path, num_threads: int) -> None:
    found = subprocess.run([stress, str(num_threads), "4"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
