"""Each example is a task that a right program passes and a plausible wrong one does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import armillary
from armillary.core.verdicts import Status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

PROGRAMS = {
    "chunks.py": (
        """
def chunks(items, size):
    if size < 1:
        raise ValueError("size")
    return [items[start : start + size] for start in range(0, len(items), size)]
""",
        """
def chunks(items, size):
    return [items[start : start + size] for start in range(0, len(items), max(size, 1))]
""",
    ),
    "demo.yaml": (
        """
from itertools import groupby

def compress(text):
    return "".join(f"{character}{len(list(run))}" for character, run in groupby(text))
""",
        """
def compress(text):
    return "".join(f"{character}{text.count(character)}" for character in dict.fromkeys(text))
""",
    ),
    "initials.py": (
        """
def initials(name):
    return "".join(f"{word[0].upper()}." for word in name.split())
""",
        """
def initials(name):
    return "".join(f"{word[0].upper()}." for word in name.split(" "))
""",
    ),
    "wrap_index.yaml": (
        """
def wrap_index(index, length):
    return index % length
""",
        """
def wrap_index(index, length):
    return 0 if index >= length else length - 1 if index < 0 else index
""",
    ),
}


def test_every_example_is_tried_here() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_right_program_is_accepted(name: str) -> None:
    verdict = armillary.verify(EXAMPLES / name, PROGRAMS[name][0])
    assert verdict.is_accepted, verdict


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_plausible_wrong_program_is_refuted_by_a_call(name: str) -> None:
    verdict = armillary.verify(EXAMPLES / name, PROGRAMS[name][1])
    assert verdict.status is Status.REFUTED
    assert verdict.counterexample is not None
