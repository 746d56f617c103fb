"""What loads when, and how fast: the face and the command line come up without torch."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

MAX_IMPORT_MS = 150
MAX_HELP_MS = 300
NUM_TRIES = 5
HEAVY = ("torch", "numpy", "transformers", "tokenizers", "jinja2")

BLOCKED_IMPORT = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise ImportError(f"{{name}} is forbidden here")
        return None

sys.meta_path.insert(0, Blocker())
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False)


def best_ms(command: Sequence[str]) -> float:
    """Shortest wall clock of a few runs; the first one pays for cold files."""
    times = []
    for _ in range(NUM_TRIES):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True, timeout=60)
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


@pytest.fixture(scope="module")
def bare_ms() -> float:
    """What an interpreter alone costs on this machine."""
    return best_ms([sys.executable, "-c", "pass"])


def test_torch_free_packages_import_without_torch_and_numpy(modules: Any, layers: Any) -> None:
    names = [
        module.name
        for module in modules
        if (not module.room or layers[module.room]["torch_free"]) and not module.name.endswith("__main__")
    ]
    finished = run("-c", BLOCKED_IMPORT, *names)
    assert finished.returncode == 0, finished.stderr


def test_the_blocker_really_blocks() -> None:
    assert "forbidden here" in run("-c", BLOCKED_IMPORT, "torch").stderr


def test_import_armillary_takes_at_most_150_ms(bare_ms: float) -> None:
    assert best_ms([sys.executable, "-c", "import armillary"]) - bare_ms <= MAX_IMPORT_MS


def test_help_takes_at_most_300_ms_and_loads_nothing_heavy() -> None:
    command = str(Path(sys.executable).parent / "armillary")
    assert best_ms([command, "--help"]) <= MAX_HELP_MS


def test_a_command_that_needs_no_model_loads_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from armillary.cli.main import main\n"
        "sys.argv = ['armillary', 'models', '--json']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    finished = run("-c", program)
    assert finished.returncode == 0, finished.stderr
