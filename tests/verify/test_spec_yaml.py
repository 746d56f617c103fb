from __future__ import annotations

import math

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import Budget, Example, Predicate
from armillary.verify.source import SourceError
from armillary.verify.spec_yaml import task_from_yaml, value_of
from armillary.verify.yaml_nodes import compose_yaml

MERGE = """
prompt: Merge two sorted lists.
signature: "def merge(a: list[int], b: list[int]) -> list[int]"
inputs:
  a: list[int] | len<=50
examples:
  - call: merge([1], [2])
    returns: [1, 2]
  - input: [[], []]
    output: []
  - merge([3], []) == [3]
  - call: merge([1], [0])
    raises: ValueError
requires: [a == sorted(a), b == sorted(b)]
ensures:
  - result == sorted(a + b)
laws: merge(a, b) == merge(b, a)
temporal:
  - steps <= 6 * (len(a) + len(b)) + 20
raises:
  TypeError: len(a) > 90
reference: |
  def merge(a, b):
      return sorted(a + b)
budget: {max_rounds: 0, max_seconds: 2.5}
"""


def test_all_fields_are_read() -> None:
    task = task_from_yaml(MERGE)
    assert task.entry_point == "merge"
    assert task.examples == (
        Example(([1], [2]), [1, 2]),
        Example(([], []), []),
        Example(([3], []), [3]),
        Example(([1], [0]), raises="ValueError"),
    )
    assert [item.text for item in task.requires] == ["a == sorted(a)", "b == sorted(b)"]
    assert (len(task.ensures), len(task.laws)) == (1, 1)
    assert task.temporal == (Predicate("steps <= 6 * (len(a) + len(b)) + 20"),)
    assert task.raises == (("TypeError", "len(a) > 90"),)
    assert (task.budget.max_rounds, task.budget.max_seconds) == (0, 2.5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{1, 2}", {1, 2}),
        ("(1, 2)", (1, 2)),
        ("[(1, 2), None]", [(1, 2), None]),
        ("[true, word, null]", [True, "word", None]),
        ("{a: [1, 'x']}", {"a": [1, "x"]}),
        ("'5'", "5"),
        ("5", 5),
        ("no", "no"),
        ("-.inf", -math.inf),
        ("[.inf]", [math.inf]),
        ("'010'", "010"),
        ("2020-01-01", "2020-01-01"),
        ("face", "face"),
        ("1:30", "1:30"),
        ("~", None),
        ("- 1\n- (2,)", [1, (2,)]),
        ("1: a\nb: false", {1: "a", "b": False}),
    ],
)
def test_values_are_python_literals_or_plain_yaml(text: str, value: object) -> None:
    assert value_of(compose_yaml(text)) == value


def test_yaml_spells_not_a_number() -> None:
    assert math.isnan(value_of(compose_yaml(".nan")))


@pytest.mark.parametrize("text", ["010", "-07", "9" * 5000, "0x" + "f" * 50_000, "0b12", "- 010", "010: 1"])
def test_a_number_that_python_does_not_read_is_not_taken_for_text(text: str) -> None:
    with pytest.raises(SourceError, match="quote it if it is text"):
        value_of(compose_yaml(text))


@pytest.mark.parametrize("text", ["a: 1\na: 2", "{a: 1, a: 2}", "1: 1\n1.0: 2", "b:\n  - a: 1\n    a: 2"])
def test_a_key_that_stands_twice_in_a_value_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="stands here twice"):
        value_of(compose_yaml(text))


def test_fields_that_are_left_empty_say_nothing() -> None:
    task = task_from_yaml("prompt: p\nsignature: f(x)\nexamples:\nensures: ~\nlaws: null\ninputs:\nbudget:\nraises:\n")
    assert (task.examples, task.ensures, task.laws, task.raises, task.budget) == ((), (), (), (), Budget())


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_a_byte_order_mark_and_any_line_end_change_nothing(newline: str) -> None:
    text = "\ufeffprompt: |\n  a\n  b\nsignature: f(x)\nexamples:\n  - f(1) == 2\n"
    task = task_from_yaml(text.replace("\n", newline))
    assert (task.prompt, task.examples) == ("a\nb\n", (Example((1,), 2),))


def test_a_key_that_is_no_plain_value_is_refused() -> None:
    with pytest.raises(SourceError):
        value_of(compose_yaml("? [x]\n: 1"))


def test_signature_and_examples_come_from_a_stub_in_the_prompt() -> None:
    task = task_from_yaml('prompt: |\n  def f(x: int) -> int:\n      """f(1) == 2"""\n')
    assert (task.entry_point, task.returns, task.examples[0].expected) == ("f", "int", 2)


def test_a_named_entry_point_chooses_the_stub() -> None:
    task = task_from_yaml("prompt: |\n  def f(x): ...\n  def g(a, b): ...\nentry_point: f\n")
    assert [item.name for item in task.parameters] == ["x"]
    task = task_from_yaml("prompt: |\n  def f(x): ...\nentry_point: h\n")
    assert task.parameters == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a", "line 1: this is a list, not a task"),
        ("word", "line 1: this is a single text, not a task"),
        ("prompt: a\nexample: 3", "line 2, example: unknown field .did you mean 'examples'"),
        ("prompt: a\nsignature: f(x)\ntemporal:\n  - steps < 3\n  - step < 3", "line 5, temporal.1.: 'step < 3' reads"),
        ("prompt: a\nsignature: f(steps)\ntemporal: steps < 3", "temporal: a parameter named 'steps'"),
        ("prompt: [1]", "line 1, prompt: expected text"),
        ("prompt: a\nsignature: f(x)\nexamples:\n  - call: f(1)\n    return: 2", "line 4, examples.0."),
        ("prompt: a\nsignature: f(x)\nexamples:\n  - [1, 2]", "line 4, examples.0.: expected fields"),
        (
            "prompt: a\nsignature: f(x)\nexamples:\n  - input: 1\n    output:\n      ? [x]\n      : 1",
            "line 6, examples.0..output",
        ),
        ("prompt: a\nsignature: f(x)\nensures:\n  - result\n  - y > 0", "line 5, ensures.1.: 'y > 0' reads 'y'"),
        ("prompt: a\nsignature: f(x)\nensures:\n  a: b", "line 4, ensures: expected a list"),
        (
            "prompt: a\nsignature: f(x)\nbudget:\n  max_tokens: many",
            "line 4, budget.max_tokens: 'many' is not a number",
        ),
        ("prompt: a\nsignature: f(x)\nraises:\n  ValueError: [x]", "line 4, raises.ValueError: expected text"),
    ],
)
def test_a_bad_field_is_named_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem):
        task_from_yaml(text)
