from __future__ import annotations

import time

import pytest

from armillary.verify.docstring_examples import find_examples
from armillary.verify.example_wording import WINDOW_CHARS

MEGABYTE = 1_000_000


def pairs(text: str, names: tuple[str, ...] | None = None) -> list[tuple[tuple[object, ...], object]]:
    return [(example.arguments, example.expected) for example in find_examples(text, "f", names)]


@pytest.mark.parametrize("text", ["f(1) returns 2.", "(f(1) returns 2.)", "f(1) is 2. More", ">>> f(1)\n2\nf(1) is 2."])
def test_a_full_stop_is_no_part_of_a_number(text: str) -> None:
    (example,) = find_examples(text, "f")
    assert example.expected == 2
    assert type(example.expected) is int


@pytest.mark.parametrize("text", ["f(1) == [2., 3]", "f(1) == (2.,)", "f(1) == 2.0.", ">>> f(1)\n2.", "f(1) == 2.e0"])
def test_a_dot_that_python_reads_makes_a_float(text: str) -> None:
    (example,) = find_examples(text, "f")
    number = example.expected[0] if isinstance(example.expected, list | tuple) else example.expected
    assert type(number) is float


@pytest.mark.parametrize(
    "text",
    [
        "f(1) is 2 because 4 is not prime",
        "f(1) is 2, because it is odd",
        "f(1) is 2 as expected",
        "f(1) == 2, f(2) == 3",
        "f(1) == 2,\nf(2) == 3",
        "f(1) == 2,\n\nmore",
        "f(1) == 2 and f(2) == 3",
        "f(1) is 2 while `f(2)` is 3",
        "f(1) == 2; f(2) == 3",
        "(e.g. f(1) == 2) and so on",
        "(for example, f(1) returns 2.) More",
        "f(1) == 2 (the second one).",
        "f(1) == 2  # 1 is not a prime",
        "The result of f(1) is 2.",
        "> f(1) == 2",
        "If it is odd, beware. f(1) == 2",
        "Return the next one if n is odd\nf(1) == 2",
        "Return the next one if n is odd\nassert f(1) == 2",
        "Wrong:\nf(1) == 3\n\nRight:\nf(1) == 2",
        "Never wrong is\n\nf(3) == 3\n\nf(1) == 2",
        "f(4) == False # not prime\nf(1) == 2",
        "f(1) == 2\nand nothing else",
        "f(1) == 2\nx = 3",
        "f(1) == 2, always",
    ],
)
def test_words_that_change_nothing_leave_an_example(text: str) -> None:
    assert ((1,), 2) in pairs(text)


@pytest.mark.parametrize(
    "rest",
    [
        "is 3 digits long",
        "is 3\ndigits long",
        "is 1 more than f(4)",
        "returns 3 less than n",
        "is 10 at most",
        "returns 7 only if n is odd",
        "is 1 plus 2",
        "returns 1 to 5",
        "is 2 x",
        "== 2 * 3",
        "== 2 - 1",
        "== 2%",
        "== 2!",
        "== 2 (mod 5)",
        "returns 2, then 3",
        "returns 2,\n3",
        "returns 2.,",
        "returns 2...",
        "is 2 as a string",
        "is 2 as long as it rains",
        "is 2 and 3",
        "is 2, always unless it is odd",
        "be 2",
    ],
)
def test_words_behind_a_value_that_may_change_it_leave_no_example(rest: str) -> None:
    assert pairs(f"f(1) {rest}") == []


@pytest.mark.parametrize(
    "text",
    [
        "A common mistake is f(2) == 22.",
        "Wrong: f(1) == 2",
        "Wrong:\nf(1) == 2",
        "Wrong:\n\n    f(1) == 2",
        "Common mistakes:\nf(3) == 3\nf(1) == 2",
        "# Wrong\nf(1) == 2",
        "Wrong:\n>>> f(1)\n2",
        "Wrong: For k = 1 the output should be 2",
        "A common mistake is\n\nf(1) == 2",
        "It must never be that f(1) == 2",
        "It must never be\nthat f(1) == 2",
        "Do not expect\nf(1) == 2",
        "Suppose that\nf(1) == 2",
        "Note that f([]) == 0 does not hold",
        "Note that f([]) == 0\ndoes not hold",
        "f(1) == 2 fails",
        "f(1) == 2  # wrong",
        "f(1) == 2 (this is wrong)",
        "f(1) == 2. This is wrong.",
        "f(1) == 2, which is wrong",
        "f(1) == 2 because of a bug",
        "f(1) is 2 and f(2) is 3 do not hold",
        "(f(1) == 2) is wrong",
        "(f(1) == 2) when it is odd",
        "instead of f(1) == 3",
        "rather than f(1) == 3",
        "not f(1) == 2",
        "f(1) should not return 2",
        "f(1) isn't 2",
        "It isn't so that f(1) == 2",
        "If n is odd, f(1) == 2",
        "Suppose f(1) == 2.",
        "unless f(1) == 2",
        "Unlike f(1) == 2, this holds",
        "avoid f(1) == 2",
        "Let f(1) be 2",
        "Previously f(1) == 2.",
    ],
)
def test_what_is_denied_or_only_supposed_is_no_example(text: str) -> None:
    assert pairs(text, ("k",)) == []


@pytest.mark.parametrize(
    "text",
    [
        "The length of f(1) is 2",
        "half of f(1) is 2",
        "print(f(1) == 2)",
        "assertFalse(f(1) == 2)",
        "3 > f(1) == 2",
        ">>> f(1)  # doctest: +SKIP\n2",
        ">>> f(1) == 2\nFalse",
        ">>> f(1) == 2.\nTrue",
    ],
)
def test_a_call_inside_something_larger_is_no_example(text: str) -> None:
    assert pairs(text) == []


def test_a_doctest_below_a_warning_may_still_raise() -> None:
    text = "What fails:\n>>> f(1)\nTraceback (most recent call last):\nValueError"
    assert [example.raises for example in find_examples(text, "f")] == ["ValueError"]


def test_a_word_far_away_counts_no_more() -> None:
    assert pairs(f"never {'so ' * WINDOW_CHARS} f(1) == 2") == [((1,), 2)]


@pytest.mark.parametrize(
    "text",
    [
        "f(1)" + " " * MEGABYTE,
        "f(1) " * (MEGABYTE // 5),
        "f(((((" * (MEGABYTE // 6),
        "f('" + "a" * MEGABYTE,
        "f('" * (MEGABYTE // 3),
        " " * MEGABYTE + "f(1) == 2",
        "f(1) == " + "1" * MEGABYTE,
        "f(1) == 1" + "." * MEGABYTE,
        "Input:" * (MEGABYTE // 6),
        "Input: 1" + " " * MEGABYTE,
        "For " * (MEGABYTE // 4),
        ">>> f(1)\n" * (MEGABYTE // 9),
        ">>> f(1)\nx\n" + "(\n" * (MEGABYTE // 2),
        (">>> f(1)\n" + "[\n" * 1900 + "\n") * 260,
    ],
    ids=range(14),
)
def test_a_megabyte_of_hostile_text_takes_less_than_a_second(text: str) -> None:
    # The clock of the process, not of the wall: other work on the machine is no fault of the reader.
    start_s = time.process_time()
    find_examples(text, "f", ("x",))
    assert time.process_time() - start_s < 1.0
