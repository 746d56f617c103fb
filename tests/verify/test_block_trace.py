from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from armillary.core.tasks import TaskSpec
from armillary.verify.block_trace import MAX_STEPS, MAX_VALUE_CHARS, last_steps
from armillary.verify.execution import Jail
from armillary.verify.sandbox.outcomes import Call, JailResult, Outcome

TASK = TaskSpec("p", "f")
MEAN = """
def f(xs):
    total = 0
    for x in xs:
        total += x
    return total / len(xs)
"""


def test_the_last_lines_are_shown_with_the_values_that_they_found(jail: Jail) -> None:
    assert last_steps(jail, TASK, MEAN, ([],)) == (
        "line 3: total = 0",
        "line 4: for x in xs:    xs=[]",
        "line 6: return total / len(xs)    xs=[], total=0",
    )


def test_only_the_last_lines_are_shown(jail: Jail) -> None:
    found = last_steps(jail, TASK, MEAN, ([1, 2, 3, 4, 5],))
    assert len(found) == MAX_STEPS
    assert found[-1] == "line 6: return total / len(xs)    xs=[1, 2, 3, 4, 5], total=15"


def test_lines_of_functions_that_are_called_are_followed_too(jail: Jail) -> None:
    code = "def g(y):\n    return y + 1\n\ndef f(x):\n    return g(x) * 2\n"
    assert last_steps(jail, TASK, code, (3,)) == ("line 5: return g(x) * 2    x=3", "line 2: return y + 1    y=3")


def test_long_values_are_cut_and_hostile_ones_survived(jail: Jail) -> None:
    hostile = "class E:\n    def __repr__(self): raise ValueError\n"
    code = hostile + "def f(x):\n    y = 'a' * 999\n    z = E()\n    return y, z\n"
    *_, last = last_steps(jail, TASK, code, (1,))
    assert len(last) < 4 * MAX_VALUE_CHARS
    assert "z=<E instance at" in last or "z=?" in last


@pytest.mark.parametrize(
    "code", ["def f(x):\n    while True: pass", "def f(x: return", "import os\ndef f(x): os._exit(1)"]
)
def test_what_cannot_be_followed_gives_nothing(jail: Jail, code: str) -> None:
    assert last_steps(jail, TASK, code, (1,)) == ()


@pytest.mark.parametrize("value", [3, [3], [[99, []]], [["a", []]], [[1, [3]]]])
def test_an_answer_that_the_program_wrote_itself_gives_nothing(
    scripted: Any, result: Callable[..., JailResult], value: Any
) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        return result([Outcome("returned", value)])

    assert last_steps(scripted(script), TASK, MEAN, (1,)) == ()
