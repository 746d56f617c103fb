from __future__ import annotations

import time

import pytest

from armillary.verify.docstring_examples import find_examples

MEGABYTE = 1_000_000
TANKS = ("tanks", "capacity")


def pairs(text: str, names: tuple[str, ...] = ("xs",)) -> list[tuple[tuple[object, ...], object]]:
    return [(example.arguments, example.expected) for example in find_examples(text, "f", names)]


@pytest.mark.parametrize(
    "lines",
    [
        "tanks : [1, 2]\n    capacity : 3\n",
        "tanks: [1, 2]\n    capacity: 3\n",
        "tanks = [1, 2],\n    capacity = 3\n",
        "- `tanks`: [1, 2]\n  - `capacity`: 3\n",
        "capacity: 3\n    tanks: [1, 2]\n",
        "tanks: [1, 2]\n    van_capacity: 3\n",
    ],
)
def test_inputs_may_have_a_line_each(lines: str) -> None:
    assert pairs(f"Example 1:\n  Input:\n    {lines}  Output: 6\n", TANKS) == [(([1, 2], 3), 6)]


@pytest.mark.parametrize(
    "lines",
    [
        "tanks: [1, 2]\n",
        "tanks: [1, 2]\n    capacity: 3\n    seed: 4\n",
        "tanks: [1, 2]\n    speed: 3\n",
        "big_tanks: [1, 2]\n    van_capacity: 3\n",
        "van_capacity: 3\n    tanks: [1, 2]\n",
        "tanks: [1, 2]\n    capacity: 3 liters\n",
        "tanks: [1, 2]\n    capacity: n\n",
        "tanks: [1, 2]\n    tanks: [1, 2]\n",
        "tanks: [1, 2]\n    capacity == 3\n",
        "tanks: [1, 2]\n    overcapacity: 3\n",
    ],
)
def test_lines_that_do_not_name_each_parameter_once_are_no_inputs(lines: str) -> None:
    assert pairs(f"Input:\n    {lines}Output: 6\n", TANKS) == []


def test_json_is_read_in_inputs_and_outputs() -> None:
    assert pairs("Input: xs = [true, null]\nOutput: [false]") == [(([True, None],), [False])]


@pytest.mark.parametrize(
    "text",
    [
        'For n = 6, the sum of its digits will be 2 the output should be "10".',
        'For n = 6, the sum of digits is 2, the output should be "10".',
        'For n = 6 the number of ones is 2.5, so the result is "10".',
        'For n = 6, its binary digits are 2, thus the answer must be "10"',
    ],
)
def test_a_value_on_the_way_may_stand_between_input_and_output(text: str) -> None:
    assert pairs(text, ("n",)) == [((6,), "10")]


@pytest.mark.parametrize(
    "text",
    [
        "For n = 6, the base is 2 the output should be 2.",
        "For n = 6, reversed first, the output should be 2.",
        "For n = 6, the sum may be 2 the output should be 2.",
        "For n = 6, the sum is 2 when asked the output should be 2.",
        "For n = 6, if the sum is 2 the output should be 2.",
        "For n = 6, the sum is b the output should be 2.",
        "For n = 6, the sum is 2.\nthe output should be 2.",
        "For n = 6, the sum is 2\nthe output should be 2.",
        "For n = 6, the sum is 2 the output should be 2 or 3.",
        "For 6, the sum is 2 the output should be 2.",
        "For m = 6, the sum is 2 the output should be 2.",
        "It is wrong: For n = 6, the sum is 2 the output should be 2.",
    ],
)
def test_words_between_that_may_set_a_condition_leave_no_example(text: str) -> None:
    assert pairs(text, ("n",)) == []


def test_inputs_are_assigned_and_the_result_returned() -> None:
    text = """Sort them.

    For example:
      xs = [2, 1, 3]
            -> sort xs -> [1, 2, 3]
            -> reverse xs -> [3, 2, 1]
      return [3, 2, 1]

      If there is none, there is none to sort:
      xs = []
      returns []

      xs = [1]
      return = [1]

    Example with a name:
      xs = [4, 3]
      return: [4, 3]
    """
    assert pairs(text) == [(([2, 1, 3],), [3, 2, 1]), (([],), []), (([1],), [1]), (([4, 3],), [4, 3])]


def test_all_inputs_are_assigned() -> None:
    text = "Example:\n  a = 1, b = 2\n  return 3\n\nExample:\n  a = 1\n  b = 3\n  return 4"
    assert pairs(text, ("a", "b")) == [((1, 2), 3), ((1, 3), 4)]
    assert pairs(text, ("a", "b", "c")) == []


@pytest.mark.parametrize(
    "text",
    [
        "xs = [2]\nreturn [2]",
        "It works so:\nxs = [2]\nreturn [2]",
        "Example:\nwhile xs:\n    xs = [2]\n    return [2]",
        "Example:\nif not xs:\n    xs = [2]\n    return [2]",
        "Example:\n    xs = [2]\nreturn [2]",
        "Example:\n  xs = [2]\n  ys = [3]\n  return [2]",
        "Example:\n  xs = [2]\n  return [2] + xs",
        "Example:\n  xs = [2]\n  return sorted(xs)",
        "Example:\n  xs == [2]\n  return [2]",
        "Example:\n  ys = [2]\n  return [2]",
        "Example:\n  xs = sorted([2])\n  return [2]",
        "Example:\n  Sort.\n  xs = [2]\n  return [2]",
        "Wrong example:\n  xs = [2]\n  return [2]",
    ],
)
def test_lines_of_a_program_are_no_example(text: str) -> None:
    assert pairs(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Example:\n" + "xs = [1]\n" * (MEGABYTE // 9),
        "Example:\nxs = [1]" + "\n -> a" * (MEGABYTE // 6),
        "xs = 1\nreturn 1\n" * (MEGABYTE // 16),
        "example " * (MEGABYTE // 8),
        "For xs = 1, the sum " + "is 1 " * (MEGABYTE // 5),
        "For xs = 1, the sum is 1 " * (MEGABYTE // 25),
        "Input:\n" + "xs: 1\n" * (MEGABYTE // 6),
        "Input:\nxs: " + "[true," * (MEGABYTE // 6),
        "f(1) -> " + "1+1=" * (MEGABYTE // 4),
        "f(1) -> 1+1=" * (MEGABYTE // 12),
    ],
    ids=range(10),
)
def test_a_megabyte_of_hostile_text_takes_less_than_a_second(text: str) -> None:
    # The clock of the process, not of the wall: other work on the machine is no fault of the reader.
    start_s = time.process_time()
    find_examples(text, "f", ("xs",))
    assert time.process_time() - start_s < 1.0
