from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import Budget, Example, Parameter
from armillary.verify.draft import Draft, build_task


def draft(**fields: Any) -> Draft:
    return Draft(**{"prompt": "p", "signature": "f(x: int, y: int = 0) -> int", **fields})


def test_a_full_draft_becomes_a_task() -> None:
    task = build_task(
        draft(
            inputs={"x": "int | 0..9", "y": "len<=3"} | {"y": "0..3"},
            examples=["f(1, 2) == 3", {"call": "f(0, 0)", "returns": 0}, {"input": {"y": 1, "x": 2}, "output": 3}],
            requires=["x > 0"],
            ensures=["result > x"],
            laws=["f(x, y) == f(y, x)"],
            raises={"ValueError": "x < 0"},
            reference="def f(x, y): return x + y",
            budget={"max_rounds": 0, "max_seconds": 1.5},
        )
    )
    assert task.parameters == (Parameter("x", "int", "int | 0..9"), Parameter("y", "int", "0..3"))
    assert [(item.arguments, item.expected) for item in task.examples] == [((1, 2), 3), ((0, 0), 0), ((2, 1), 3)]
    assert task.budget == Budget(max_rounds=0, max_seconds=1.5)
    assert (task.returns, task.raises, task.entry_point) == ("int", (("ValueError", "x < 0"),), "f")


def test_examples_of_the_prompt_are_added_once() -> None:
    task = build_task(draft(prompt="f(1, 2) == 3 and f(2, 2) == 4", examples=["f(1, 2) == 3"]))
    assert [(item.arguments, item.origin) for item in task.examples] == [((1, 2), "user"), ((2, 2), "docstring")]


def test_inputs_name_the_parameters_where_no_signature_does() -> None:
    task = build_task(Draft(prompt="p", entry_point="f", inputs={"a": "int", "b": "str"}))
    assert [item.name for item in task.parameters] == ["a", "b"]


def test_a_name_alone_leaves_the_parameters_open() -> None:
    task = build_task(Draft(prompt="p", entry_point="f", examples=["f(1, 2) == 3"]))
    assert task.parameters == ()


def test_an_example_may_raise() -> None:
    task = build_task(
        draft(examples=[{"call": "f(1, 2)", "raises": "ValueError"}, {"input": [1, 2], "raises": "KeyError"}])
    )
    assert task.examples == (Example((1, 2), raises="ValueError"), Example((1, 2), raises="KeyError"))


def test_one_value_is_the_only_argument() -> None:
    task = build_task(Draft(prompt="p", signature="f(x)", examples=[{"input": 3, "output": 4}]))
    assert task.examples[0].arguments == (3,)


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"prompt": "  "}, "prompt", "needs a prompt"),
        ({"signature": ""}, "entry_point", "needs the name"),
        ({"signature": "f("}, "signature", "no signature"),
        ({"signature": "", "entry_point": "1f"}, "entry_point", "no function name"),
        ({"signature": "", "entry_point": "class"}, "entry_point", "no function name"),
        ({"prompt": "a\ud800"}, "prompt", "surrogate"),
        ({"signature": "f(x, x)"}, "signature", "'x' stands here twice"),
        ({"signature": "f(*xs)"}, "signature", "name each parameter"),
        ({"reference": "class f: pass"}, "reference", "defines no function 'f'"),
        ({"reference": "async def f(x, y): return x"}, "reference", "defines no function 'f'"),
        ({"reference": "def f(x): return x"}, "reference", "cannot be called with 2 arguments"),
        ({"entry_point": "g"}, "entry_point", "defines 'f'"),
        ({"inputs": {"z": "int"}}, "inputs.z", "unknown field"),
        ({"inputs": {"x": "int | len<=3"}}, "inputs.x", "bounds nothing"),
        ({"inputs": {"x": "Node"}}, "inputs.x", "cannot be made"),
        ({"examples": [3]}, "examples[0]", "is no example"),
        ({"examples": [{"call": "f(1, 2)", "return": 3}]}, "examples[0]", "has the fields call, return"),
        ({"examples": [{"call": 3, "returns": 3}]}, "examples[0]", "has the fields"),
        ({"examples": [{"input": [1], "output": 3}]}, "examples[0]", "has 1 values"),
        ({"examples": [{"input": {"x": 1}, "output": 3}]}, "examples[0]", "has 1 values"),
        ({"examples": [{"call": "f(1, 2)", "raises": 3}]}, "examples[0]", "no exception's name"),
        ({"examples": [{"call": "f(1, 2)", "raises": "a b"}]}, "examples[0]", "no exception's name"),
        ({"requires": ["z"]}, "requires[0]", "reads 'z'"),
        ({"reference": "def f(x: return"}, "reference", "never closed|invalid"),
        ({"reference": "def g(): pass"}, "reference", "defines no function 'f'"),
        ({"budget": {"max_rounds": -1}}, "budget.max_rounds", "from 0 on"),
        ({"budget": {"max_tokens": 0}}, "budget.max_tokens", "from 1 on"),
        ({"budget": {"max_tokens": 1.5}}, "budget.max_tokens", "not a number"),
        ({"budget": {"max_tokens": True}}, "budget.max_tokens", "not a number"),
        ({"budget": {"tokens": 3}}, "budget.tokens", "unknown field"),
    ],
)
def test_a_bad_field_is_named(fields: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem) as caught:
        build_task(draft(**fields))
    assert caught.value.field == field


def test_a_name_is_one_name_however_it_was_typed() -> None:
    decomposed = unicodedata.normalize("NFD", "größe")
    task = build_task(
        Draft(
            prompt="p",
            entry_point=decomposed,
            signature=f"{decomposed}({decomposed}: int)",
            inputs={decomposed: "0..3"},
        )
    )
    assert (task.entry_point, task.parameters) == ("größe", (Parameter("größe", "int", "0..3"),))


def test_the_last_definition_of_a_reference_counts() -> None:
    assert build_task(draft(reference="def f(x): ...\ndef f(x, y=0): return x + y")).reference


def test_without_a_signature_a_reference_may_take_any_number() -> None:
    assert build_task(Draft(prompt="p", entry_point="f", reference="def f(a, b): return a")).reference


def test_examples_without_signature_must_agree_on_the_number_of_arguments() -> None:
    with pytest.raises(TaskFormatError, match="do not agree"):
        build_task(Draft(prompt="p", entry_point="f", examples=["f(1) == 1", "f(1, 2) == 3"]))


def test_the_line_of_the_nearest_field_is_reported() -> None:
    with pytest.raises(TaskFormatError) as caught:
        build_task(draft(examples=["f(0)"], lines={"examples": 5}))
    assert caught.value.line == 5


@pytest.mark.parametrize(
    ("annotation", "domain"),
    [("int", "list[int | 5..9]"), ("int", "list[int | 5..-5]"), ("list[int]", "list[str]"), ("str", "len 9..2")],
)
def test_inputs_that_contradict_the_signature_or_themselves_are_refused(annotation: str, domain: str) -> None:
    with pytest.raises(TaskFormatError) as caught:
        build_task(Draft("p", signature=f"f(n: {annotation})", inputs={"n": domain}, lines={"inputs.n": 4}))
    assert (caught.value.field, caught.value.line) == ("inputs.n", 4)


@pytest.mark.parametrize(
    ("annotation", "domain"),
    [
        ("float", "int | 5..9"),
        ("int | None", "int | 5..9"),
        ("Sequence[int]", "tuple[int, ...]"),
        ("Node", "int"),
        ("dict[int]", "int"),
        ("", "list[int]"),
    ],
)
def test_inputs_may_be_narrower_than_the_signature(annotation: str, domain: str) -> None:
    signature = f"f(n: {annotation})" if annotation else "f(n)"
    task = build_task(Draft("p", signature=signature, inputs={"n": domain}))
    assert task.parameters[0].domain == domain


def test_an_example_of_another_kind_than_inputs_declare_is_refused() -> None:
    with pytest.raises(TaskFormatError, match="'x' is not of the kind") as caught:
        build_task(draft(inputs={"x": "0..9"}, examples=["f(1, 2) == 3", "f('a', 2) == 3"], lines={"examples[1]": 8}))
    assert (caught.value.field, caught.value.line) == ("examples[1]", 8)


@pytest.mark.parametrize("example", ["f(99, 2) == 3", {"call": "f('a', 2)", "raises": "TypeError"}])
def test_an_example_may_lie_outside_of_the_bounds_or_raise(example: Any) -> None:
    assert len(build_task(draft(inputs={"x": "0..9"}, examples=[example])).examples) == 1
