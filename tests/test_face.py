"""What ``import armillary`` offers, and how little it loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import armillary
from armillary.core.tasks import TaskSpec
from armillary.runtime import stack


def test_the_face_offers_the_facade() -> None:
    assert armillary.solve is stack.solve
    assert armillary.verify is stack.verify
    assert armillary.load is stack.load
    assert armillary.TaskSpec is TaskSpec


def test_the_face_lists_what_it_offers() -> None:
    assert {"solve", "verify", "load", "TaskSpec", "__version__"} <= set(dir(armillary))


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'armillary' has no attribute 'sovle'"):
        _ = armillary.sovle


def test_importing_the_face_loads_none_of_the_rooms() -> None:
    program = "import sys, armillary; print([name for name in sys.modules if name.startswith('armillary.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
