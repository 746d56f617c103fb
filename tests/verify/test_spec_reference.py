from __future__ import annotations

from dataclasses import replace

import pytest

from armillary.core.errors import TaskFormatError, UsageError
from armillary.core.tasks import Example, Parameter, TaskSpec
from armillary.verify.spec_reference import difference_task, with_reference

TYPED = 'def f(x: int) -> int:\n    """Double it.\n\n    >>> f(1)\n    2\n    """\n    return 2 * x\n'
BARE = "def f(x): return x + x\n"


@pytest.mark.parametrize(("code", "reference"), [(BARE, TYPED), (TYPED, BARE)], ids=["the reference's", "the code's"])
def test_types_and_docstring_are_those_of_the_program_that_has_types(code: str, reference: str) -> None:
    task = difference_task(code, reference)
    assert (task.entry_point, task.parameters, task.returns) == ("f", (Parameter("x", "int"),), "int")
    assert [example.expected for example in task.examples] == [2]
    assert task.reference == reference


def test_the_last_function_that_both_define_is_compared() -> None:
    reference = TYPED + "def g(y: int): return y\ndef h(z: int): return z\n"
    assert difference_task("def g(y): return y\n" + BARE, reference).entry_point == "g"


def test_of_code_that_is_not_python_nothing_is_asked() -> None:
    assert difference_task("def f(x:", TYPED).entry_point == "f"
    assert difference_task("def f(x:", BARE).parameters == (Parameter("x"),)


@pytest.mark.parametrize(
    ("code", "reference", "problem"),
    [
        (BARE, "def g(x): return x", "the reference defines no function of the code's: f"),
        ("x = 1", "y = 2", "the reference defines no function of the code's: it has none"),
        (BARE, "def f(x:", "the reference cannot be read: .* .its line 1."),
        (BARE, "def f(*, x): return x", "the reference cannot be read: parameter 'x' must be passed by keyword"),
        ("def f(x: int, y: int): return x", "def f(x): return x", "no function 'f' that takes 2 arguments"),
        ("def f(x: int): return x", "def f(x, *, y): return x", "the reference cannot be read: parameter 'y' must be"),
    ],
)  # fmt: skip
def test_programs_that_cannot_be_compared_are_refused(code: str, reference: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem):
        difference_task(code, reference)


def test_a_task_gets_a_reference_that_can_be_called_as_its_examples_are() -> None:
    task = TaskSpec("p", "f", examples=(Example((1,), 2),))
    assert with_reference(task, BARE) == replace(task, reference=BARE)
    with pytest.raises(TaskFormatError, match="that takes 1 arguments"):
        with_reference(task, "def f(x, y): return x")


def test_a_second_reference_is_refused() -> None:
    with pytest.raises(UsageError, match="has a reference already"):
        with_reference(TaskSpec("p", "f", (Parameter("x", "int"),), reference=BARE), BARE)
