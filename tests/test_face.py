"""What ``import armillary`` offers, and how little it loads."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import armillary
from armillary.core.tasks import TaskSpec
from armillary.runtime import stack
from armillary.verify.spec_python import DECORATORS


def test_the_face_offers_the_facade() -> None:
    assert armillary.solve is stack.solve
    assert armillary.load is stack.load
    assert armillary.TaskSpec is TaskSpec


def test_the_verifier_is_offered_before_anything_imported_it(monkeypatch: pytest.MonkeyPatch) -> None:
    package = importlib.import_module("armillary.verify")
    monkeypatch.delattr(armillary, "verify", raising=False)
    assert armillary.verify is package


def test_the_face_lists_what_it_offers() -> None:
    assert {"solve", "verify", "load", "TaskSpec", "__version__"} <= set(dir(armillary))


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'armillary' has no attribute 'sovle'"):
        _ = armillary.sovle


def test_a_task_written_in_python_runs_as_a_file_and_stays_what_it_is() -> None:
    @armillary.requires("n >= 0")
    @armillary.ensures("result >= n", "result == n * n")
    @armillary.laws("square(n) == square(-n)")
    @armillary.temporal("steps < 9")
    @armillary.raises(ValueError="n < 0")
    @armillary.examples("square(3) == 9")
    @armillary.inputs(n="int | 0..9")
    @armillary.reference("def square(n): return n * n")
    @armillary.budget(num_candidates=2)
    def square(n: int) -> int:
        return n * n

    assert square(3) == 9
    assert square.__name__ == "square"


def test_every_decorator_that_a_task_may_carry_is_offered() -> None:
    assert set(DECORATORS) <= set(dir(armillary))


def test_importing_the_face_loads_none_of_the_rooms() -> None:
    program = "import sys, armillary; print([name for name in sys.modules if name.startswith('armillary.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
