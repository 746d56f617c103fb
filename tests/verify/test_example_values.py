from __future__ import annotations

import re

import pytest

from armillary.verify.docstring_examples import find_examples
from armillary.verify.example_values import Value, result_at, value_at

NEXT = re.compile("f\\(")


def pairs(text: str, names: tuple[str, ...] | None = None) -> list[tuple[tuple[object, ...], object]]:
    return [(example.arguments, example.expected) for example in find_examples(text, "f", names)]


@pytest.mark.parametrize(
    "text",
    [
        "f(1, 9) -> 9 - 2 - 2 = 5",
        "f(1, 9) ->9-2-2=5",
        "f(1, 9) == 9 - 4 = 5",
        "f(1, 9) = (9 + 1) // 2 = 5",
        "f(1, 9) => 2 + 1 * 3 = 2 + 3 = 5",
        "f(1, 9) returns 10 / 2 = 5.",
        "f(1, 9): it is 2 + 3 = 5\nf(1, 9) -> 2 ** 2 + 1 = 5 because it counts",
        "f(1, 9) -> 17 % 6 = 5  # what is left",
        "f(1, 9) -> -(-2) + +3 = 5",
    ],
)
def test_a_calculation_gives_what_it_comes_to(text: str) -> None:
    assert pairs(f"Return the number.\n{text}") == [((1, 9), 5)]


def test_a_calculation_with_fractions_may_be_rounded_by_the_machine_alone() -> None:
    assert pairs("Find the mean.\nf(1) -> 0.1 + 0.2 = 0.3") == [((1,), 0.3)]
    assert pairs("Find the mean.\nf(1) -> 10 / 3 = 3.33") == []


@pytest.mark.parametrize(
    "text",
    [
        "f(1) -> 9 - 2 = 5",
        "f(1) -> 9 - 2 = 5 + 1 = 6",
        "f(1) -> n - 4 = 5",
        "f(1) -> f(0) + 1 = 5",
        "f(1) -> 5 = 5",
        "f(1) -> 9 - 4",
        "f(1) -> 9 - 4 = n",
        "f(1) -> 9 - 4 = 'five'",
        "f(1) -> 9 - 4 = 5 apples",
        "f(1) -> 9 - 4 = 5 + n",
        "f(1) -> 9 - 4 == 5",
        "f(1) -> 9 - 4 => 5",
        "f(1) == 6 % 2 == 0",
        "f(1) -> 1 / 0 = 5",
        "f(1) -> 9 - = 5",
        "f(1) -> (2, 3) + 1 = 5",
        "f(1) -> (2)(3) + 1 = 5",
        "f(1) -> 9 ** 9 ** 9 = 5",
        "f(1) -> (-8) ** .5 = 5",
        "f(1) -> 0 - 4 ** (0 - 1) = 5",
        f"f(1) -> {'1 + ' * 40}1 = 41",
    ],
)
def test_a_calculation_that_does_not_agree_or_that_needs_more_than_constants_gives_nothing(text: str) -> None:
    assert pairs(f"Return the number.\n{text}") == []


@pytest.mark.parametrize(
    "text",
    [
        "Whether two add up; find the sum.\nf([1, 2, 4]) -> 1 + 2 = 3",
        "Find the sum; True if there is one.\nf([1, 2, 4]) -> 1 + 2 = 3",
        "Find the sum, return the list of coins.\nf([1, 2, 4]) -> 1 + 2 = 3",
        "Find the sum and write it as an equation.\nf([1, 2, 4]) -> 1 + 2 = 3",
        "Do some add up?\nf([1, 2, 4]) -> 1 + 2 = 3",
        "Find the terms whose sum counts.\nf([1, 2, 4]) -> 1 + 2 = 3",
        "Find the amount in coins.\nf([1, 2], 3) -> 1 + 2 = 3",
    ],
)
def test_a_calculation_that_tells_why_is_no_result(text: str) -> None:
    assert pairs(text) == []


@pytest.mark.parametrize("result", ["[1, 2]", "'1'", "True", "None"])
def test_a_function_that_gives_no_numbers_gives_none_by_calculation(result: str) -> None:
    text = f"f([1, 4]) == {result}\nf([1, 2, 4]) -> 1 + 2 = 3"
    assert [arguments for arguments, _ in pairs(text)] == [([1, 4],)]


def test_a_calculation_stands_beside_numbers_and_exceptions() -> None:
    text = "f([2]) == 2\n>>> f([])\nTraceback (most recent call last):\nValueError\n\nf([1, 2]) -> 1 + 2 = 3"
    assert ([1, 2],) in [arguments for arguments, _ in pairs(text)]


def test_a_calculated_step_of_a_derivation_takes_nothing_from_the_examples() -> None:
    assert pairs("Find the sum.\nf(2) = 1 + 1 = 2\nExample:\nf(3) = [1, 3, 2]") == [((3,), [1, 3, 2])]
    assert pairs("Find the sum.\nf(1) = 1\nf(2) = 1 + 1 = 2\nExample:\nf(3) = [1, 3, 2]") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false, and", False),
        ("[true,false]", [True, False]),
        ("[[true], null]", [[True], None]),
        ('{"a": false, "b": [1]}', {"a": False, "b": [1]}),
        ("[True]", [True]),
    ],
)
def test_values_may_be_spelled_as_in_json(text: str, value: object) -> None:
    found = value_at(text, 0)
    assert found is not None
    assert found.value == value
    assert not found.is_calculated


@pytest.mark.parametrize(
    "text", ["", "null", "truest", "[truth]", "{true: 1}", "{true}", "(true)", "(true, false)", "[true", "[x(true)]"]
)
def test_other_names_are_no_values(text: str) -> None:
    assert value_at(text, 0) is None


def test_a_result_ends_where_nothing_behind_it_can_change_it() -> None:
    assert result_at("x [true] + f(2)", 2, NEXT) is None
    assert result_at("x [true], f(2)", 2, NEXT) == Value([True], 8)
    assert result_at("x 2 + 3 = 5, f(2)", 2, NEXT) == Value(5, 11, is_calculated=True)
