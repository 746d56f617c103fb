from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.core.errors import TaskFormatError, ValueCodecError
from armillary.core.tasks import (
    Budget,
    Example,
    Parameter,
    Predicate,
    TaskSpec,
    task_from_json,
    task_to_json,
)
from armillary.core.values import dumps

ORIGINS = st.sampled_from(["user", "docstring", "model"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary()
ARGUMENTS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
PREDICATES = st.lists(st.builds(Predicate, st.text(), ORIGINS), max_size=2).map(tuple)
TASKS = st.builds(
    TaskSpec,
    prompt=st.text(),
    entry_point=st.text(),
    parameters=st.lists(st.builds(Parameter, st.text(), st.text(), st.text()), max_size=2).map(tuple),
    returns=st.text(),
    examples=st.lists(
        st.builds(Example, st.lists(ARGUMENTS, max_size=2).map(tuple), ARGUMENTS, st.text(), ORIGINS), max_size=2
    ).map(tuple),
    requires=PREDICATES,
    ensures=PREDICATES,
    laws=PREDICATES,
    raises=st.lists(st.tuples(st.text(), st.text()), max_size=2).map(tuple),
    reference=st.text(),
    budget=st.builds(
        Budget,
        st.integers(1, 99),
        st.integers(0, 99),
        st.integers(1, 10**6),
        st.floats(0, 1e6, exclude_min=True) | st.integers(1, 10**6),
    ),
)
TASK = TaskSpec(
    prompt="largest of a list",
    entry_point="largest",
    parameters=(Parameter("items", "list[int]", "list[int] len 1..9"),),
    examples=(Example(([3, 1, 2],), 3), Example(([],), raises="ValueError", origin="docstring")),
    ensures=(Predicate("result in items"),),
    raises=(("ValueError", "not items"),),
)


@given(TASKS)
def test_a_task_survives_the_way_through_json(task: TaskSpec) -> None:
    assert task_from_json(json.loads(dumps(task_to_json(task)))) == task


@given(TASKS, TASKS)
def test_hashes_differ_where_the_tasks_do(one: TaskSpec, other: TaskSpec) -> None:
    same = replace(other, budget=one.budget)
    assert (one.sha256 == other.sha256) == (dumps(task_to_json(one)) == dumps(task_to_json(same)))


def test_the_budget_does_not_change_what_is_right() -> None:
    assert replace(TASK, budget=Budget(1, 1, 1, 1.0)).sha256 == TASK.sha256


@pytest.mark.parametrize(
    "changes",
    [
        {"examples": (Example((1,), 2),)},
        {"ensures": (Predicate("result"),)},
        {"laws": (Predicate("f(x) == f(-x)"),)},
        {"raises": (("ValueError", "x < 0"),)},
        {"reference": "def f(x): return x"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_each_kind_of_expectation_is_hard_evidence(changes: dict[str, Any]) -> None:
    assert TaskSpec("p", "f", **changes).has_hard_evidence


def test_a_task_written_before_there_were_temporal_bounds_has_none() -> None:
    body = task_to_json(TASK)
    del body["temporal"]
    assert task_from_json(body).temporal == ()


def test_a_bare_prompt_has_no_hard_evidence() -> None:
    assert not TaskSpec("p", "f", requires=(Predicate("x > 0"),)).has_hard_evidence


def test_an_example_that_the_codec_cannot_carry_is_refused() -> None:
    with pytest.raises(ValueCodecError, match=r"builtins\.range"):
        task_to_json(TaskSpec("p", "f", examples=(Example((range(3),)),)))


@pytest.mark.parametrize("field", sorted(task_to_json(TASK).keys() - {"temporal"}))
def test_a_missing_field_is_no_task(field: str) -> None:
    body = task_to_json(TASK)
    del body[field]
    with pytest.raises(TaskFormatError, match="not a task's JSON form"):
        task_from_json(body)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", 5),
        ("entry_point", None),
        ("parameters", "abc"),
        ("parameters", ["abc"]),
        ("parameters", [["a"] * 4]),
        ("parameters", [["a", 1, "b"]]),
        ("returns", []),
        ("examples", {}),
        ("examples", [5]),
        ("examples", [{"arguments": 5, "expected": 5, "raises": "", "origin": "user"}]),
        ("examples", [{"arguments": {"tuple": []}, "expected": {"what": 5}, "raises": "", "origin": "user"}]),
        ("examples", [{"arguments": {"tuple": []}, "expected": 5, "raises": None, "origin": "user"}]),
        ("examples", [{"arguments": {"tuple": []}, "expected": 5, "raises": "", "origin": "stranger"}]),
        ("examples", [{"arguments": {"complex": {"a": 1}}, "expected": 5, "raises": "", "origin": "user"}]),
        ("requires", [["x > 0"]]),
        ("ensures", [["x > 0", "stranger"]]),
        ("laws", [[5, "user"]]),
        ("laws", 5),
        ("raises", [["ValueError"]]),
        ("raises", "ab"),
        ("raises", ["ab"]),
        ("reference", False),
        ("budget", []),
        ("budget", {"num_candidates": 8}),
        ("budget", {"num_candidates": "8", "max_rounds": 2, "max_tokens": 1, "max_seconds": 1.0}),
        ("budget", {"num_candidates": 8, "max_rounds": True, "max_tokens": 1, "max_seconds": 1.0}),
        ("budget", {"num_candidates": 8, "max_rounds": 2, "max_tokens": 1, "max_seconds": "1"}),
    ],
)
def test_a_field_that_was_never_written_so_is_no_task(field: str, value: Any) -> None:
    with pytest.raises(TaskFormatError, match="not a task's JSON form"):
        task_from_json(task_to_json(TASK) | {field: value})


@pytest.mark.parametrize("body", [None, 5, "text", [], {}])
def test_another_form_altogether_is_no_task(body: Any) -> None:
    with pytest.raises(TaskFormatError, match="not a task's JSON form"):
        task_from_json(body)


NUMBERS = [-1, True, "8", None, 10**9 + 1, 10**5000, float("inf"), float("nan"), 1e300, [1]]


@pytest.mark.parametrize("field", ["num_candidates", "max_rounds", "max_tokens", "max_seconds"])
@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: f"{value!r:.9}" if value != 10**5000 else "huge")
def test_a_budget_that_nobody_could_keep_is_refused(field: str, value: Any) -> None:
    with pytest.raises(TaskFormatError, match=rf"^budget\.{field}: .* is not a (whole )?number "):
        Budget(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"), [("num_candidates", 0), ("max_tokens", 0), ("max_seconds", 0), ("max_seconds", 0.0)]
)
def test_a_budget_of_nothing_is_refused(field: str, value: Any) -> None:
    with pytest.raises(TaskFormatError, match=rf"^budget\.{field}: {value} is not a "):
        Budget(**{field: value})


def test_parts_of_numbers_are_allowed_for_seconds_only() -> None:
    assert Budget(max_seconds=0.5, max_rounds=0).max_seconds == 0.5
    with pytest.raises(TaskFormatError, match=r"^budget.max_tokens: 0.5 is not a whole number from 1 to 1000000000$"):
        Budget(max_tokens=0.5)  # type: ignore[arg-type]  # what a caller without a type checker may write


def test_a_written_budget_is_held_to_the_same_bounds() -> None:
    body = task_to_json(TASK)
    with pytest.raises(TaskFormatError, match=r"^budget.max_seconds: inf is not a number over 0"):
        task_from_json(body | {"budget": body["budget"] | {"max_seconds": float("inf")}})  # type: ignore[operator]
