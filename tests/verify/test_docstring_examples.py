from __future__ import annotations

import pytest

from armillary.core.tasks import Example
from armillary.verify.docstring_examples import call_arguments, find_examples, parse_example
from armillary.verify.source import SourceError, parse_expression


def pairs(text: str, names: tuple[str, ...] | None = None) -> list[tuple[tuple[object, ...], object]]:
    return [(example.arguments, example.expected) for example in find_examples(text, "f", names)]


@pytest.mark.parametrize(
    "text",
    [
        ">>> f(1)\n2",
        ">>> f(1)  # one more\n2\n\nmore text",
        ">>> f(\n...   1\n... )\n2",
        ">>> f(1) == 2",
        ">>> f(1) == 2\nTrue",
        "f(1) == 2",
        "f(1)=2",
        "f(1) => 2",
        "f(1) ==> 2",
        "f(1) -> 2",
        "f(1) ➞ 2",
        "f(1) → 2",
        "f(1) returns 2",
        "f(1) # 2",
        "f(1) # => 2",
        "f(1) # returns 2",
        "For example, f(1) should return 2.",
        "For example, f(1) should be 2, always",
        "assert f(1) == 2",
        "`f(1)` returns `2`",
        "- f(1) gives 2",
        "1. f(1) is 2",
        "f(1) is equal to 2",
        "f(1) must return\n    2",
        "e.g. f(1) == 2 (because it adds one)",
        "The call f(1), it should return 2",
        "x = f(2) and then\nf(1) evaluates to 2;",
    ],
)
def test_a_spelling_that_people_use_is_read(text: str) -> None:
    assert ((1,), 2) in pairs(text)


@pytest.mark.parametrize(
    "text",
    [
        "g(1) == 2",
        "f(x) == 2",
        "f(1) == x",
        "f(1) == f(2)",
        "f(1) == 2 + 3",
        "f(1) == 2 == True",
        "f(1) returns 2 if it is odd",
        "f(1) returns 2nd place",
        "f(1) returns 2, 3",
        "f(1) == 1,000",
        "f(1) != 2",
        "f(1) and 2",
        "round(f(1), 2) == 2",
        "abs(f(1)) == 2",
        "1 + f(1) == 2",
        "not f(1) == 2",
        "def f(1) -> 2",
        "module.f(1) == 2",
        "if_f(1) == 2",
        "f(1 == 2",
        "f(1 2) == 2",
        ">>> f(1)",
        ">>> f(1)\n",
        ">>> f(1)\nfoo",
        ">>> print(f(1))\n2",
        ">>> f(1\n2",
        ">>> f(1)\n1\n2",
        ">>> f(1) # 2\n",
        ">>> f(1)\nTraceback (most recent call last)\n oops",
        "f(1) == ('Venus')",
    ],
)
def test_a_doubtful_spelling_is_left(text: str) -> None:
    assert pairs(text) == []


def test_a_doctest_may_expect_an_exception() -> None:
    text = '>>> f(1)\nTraceback (most recent call last):\n  File "x"\nmodule.OddError: no\n'
    assert find_examples(text, "f") == (Example((1,), raises="OddError", origin="docstring"),)


def test_a_doctest_result_may_span_lines() -> None:
    assert pairs('>>> f(1)\n[1,\n 2]\n"""') == [((1,), [1, 2])]


def test_a_doctest_result_that_is_too_long_is_left() -> None:
    assert pairs(f">>> f(1)\n{'1' * 4_200}\n\n{'x' * 4_000}") == []


def test_a_doctest_result_ends_before_a_remark() -> None:
    assert pairs(">>> f(1)\n2\nNote: always") == [((1,), 2)]


def test_literals_of_all_kinds_are_arguments() -> None:
    assert pairs("f(-1, {1}, [None, (True,)], 'a)') == {'k': -2.5}") == [
        ((-1, {1}, [None, (True,)], "a)"), {"k": -2.5})
    ]


def test_spoken_truth_values_are_read() -> None:
    assert pairs("f(1) => true\nf(2) => false") == [((1,), True), ((2,), False)]


def test_keywords_find_their_places() -> None:
    assert pairs("f(1, b=2) == 3", ("a", "b")) == [((1, 2), 3)]
    assert pairs("f(1, c=2) == 3", ("a", "b")) == []


def test_a_call_with_another_number_of_arguments_is_left() -> None:
    assert pairs("f(1) == 2", ("a", "b")) == []


def test_each_example_is_found_once_and_in_order() -> None:
    assert pairs("f(2) == 3\nf(1) == 2\n>>> f(2)\n3") == [((2,), 3), ((1,), 2)]


def test_steps_of_a_derivation_are_no_examples() -> None:
    assert pairs("f(1) = 3\nf(2) = 2\nExample:\nf(3) = [1, 3, 2]") == []


def test_input_and_output_lines_are_read_by_parameter() -> None:
    text = "Example 1:\n  Input: grid = [[1, 2]], k = 3\n  Output: [1]\nExample 2:\n  Input: [[]], 1\n  Output: []"
    assert pairs(text, ("grid", "k")) == [(([[1, 2]], 3), [1]), (([[]], 1), [])]


def test_for_sentences_are_read_by_parameter() -> None:
    assert pairs('For s = "a", c = "b", the result should be 3.', ("s", "c")) == [(("a", "b"), 3)]


@pytest.mark.parametrize(
    "text", ["For 3 the output should be 4", "Input: 1\nOutput: x", "Input: 1\nExplain: 2", "Input: x"]
)
def test_half_a_pair_is_left(text: str) -> None:
    assert pairs(text, ("k",)) == []


def test_without_parameters_no_pair_is_read() -> None:
    assert pairs("Input: 1\nOutput: 2") == []


def test_only_calls_of_the_entry_point_have_arguments() -> None:
    assert call_arguments(parse_expression("g(1)"), "f") is None
    assert call_arguments(parse_expression("1"), "f") is None


@pytest.mark.parametrize(
    "text",
    ["f(1) == 2", "f(1) = 2", "f(1) gives 2", "f(1) => 2", "f(1) -> 2", "f(1) returns 2", "f(x=1) == 2", " f(1)==2 "],
)
def test_a_written_example_is_read(text: str) -> None:
    assert parse_example(text, "f", ("x",)) == Example((1,), 2)


def test_a_dot_in_python_makes_a_float_of_a_number() -> None:
    assert type(parse_example("f(1) == 2.", "f", None).expected) is float


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
        "f(1) returns 2.",
        "f(",
    ],
)
def test_a_bad_example_is_an_error(text: str) -> None:
    with pytest.raises(SourceError):
        parse_example(text, "f", ("x",))


def test_without_names_no_number_of_arguments_is_asked_for() -> None:
    with pytest.raises(SourceError, match=r"no call of f with literals$"):
        parse_example("g(1) == 2", "f", None)
