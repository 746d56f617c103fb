from __future__ import annotations

import pytest

from armillary.core.tasks import Example
from armillary.verify.examples_text import parse_example
from armillary.verify.source import SourceError


@pytest.mark.parametrize("text", ["f(1) == 2", "f(1) => 2", "f(1) -> 2", "f(1) returns 2", "f(x=1) == 2", " f(1)==2 "])
def test_a_written_example_is_read(text: str) -> None:
    assert parse_example(text, "f", ("x",)) == Example((1,), 2)


def test_an_example_may_be_of_identity() -> None:
    assert parse_example("f(1) is None", "f", None) == Example((1,), None)


def test_an_example_may_raise() -> None:
    assert parse_example("f(-1) raises ValueError", "f", None) == Example((-1,), raises="ValueError")


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ('arrow("f(x) -> y") == 2', "f(x) -> y"),
        ('arrow("f(x) -> y") -> 2', "f(x) -> y"),
        ('arrow("f(x) returns y") returns 2', "f(x) returns y"),
        ('arrow("(a) raises b") => 2', "(a) raises b"),
        ('arrow(")") == 2', ")"),
    ],
)
def test_a_spelling_inside_an_argument_belongs_to_the_argument(text: str, argument: str) -> None:
    assert parse_example(text, "arrow", ("s",)) == Example((argument,), 2)


def test_a_call_may_be_long() -> None:
    assert parse_example(f"f({[0] * 9_000}) raises ValueError", "f", ("xs",)) == Example(
        ([0] * 9_000,), raises="ValueError"
    )


def test_a_spelling_inside_a_result_belongs_to_the_result() -> None:
    assert parse_example("f(1) == '(x) -> y'", "f", ("x",)) == Example((1,), "(x) -> y")


@pytest.mark.parametrize(
    "text",
    [
        " raises ValueError",
        "-> 2",
        ") -> 2",
        "f(1)) -> 2",
        "g(1) == 2",
        "f(1)",
        "f(1) == 2 == 2",
        "f(1) < 2",
        "f(1) == x",
        "f(1, 2) == 2",
        "2 == f(1)",
        "f(y) raises E",
        "f(",
    ],
)
def test_a_bad_example_is_an_error(text: str) -> None:
    with pytest.raises(SourceError):
        parse_example(text, "f", ("x",))


def test_without_names_no_number_of_arguments_is_asked_for() -> None:
    with pytest.raises(SourceError, match=r"no call of f with literals$"):
        parse_example("g(1) == 2", "f", None)
