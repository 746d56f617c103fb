from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec
from armillary.verify.execution import Jail, Observation
from armillary.verify.suspicion import expectation, find_contradiction, is_kind_of, meets


def task(*examples: Example, **fields: Any) -> TaskSpec:
    return TaskSpec("p", "f", parameters=(Parameter("x", "int"),), examples=examples, **fields)


ONE = Example((1,), 2)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (task(ONE, Example((1,), 3)), "two examples disagree: f(1) gives 2 and 3"),
        (task(ONE, Example((1,), raises="E")), "two examples disagree: f(1) gives 2 and raises E"),
        (task(ONE, requires=(Predicate("x > 1"),)), "the example f(1) does not satisfy requires"),
        (task(ONE, ensures=(Predicate("result == x"),)), "the example f(1) == 2 breaks ensures: result == x"),
        (task(ONE, raises=(("E", "x == 1"),)), "f(1) must raise E, but an example expects 2"),
        (task(ONE, reference="def f(x): return x"), "the reference fails the example f(1): expected 2, got 1"),
        (
            task(ONE, reference="x = y\ndef f(x): pass"),
            "the reference does not load: NameError: name 'y' is not defined",
        ),
    ],
)
def test_a_contradiction_is_named(jail: Jail, spec: TaskSpec, problem: str) -> None:
    assert find_contradiction(spec, jail) == problem


@pytest.mark.parametrize(
    "spec",
    [
        task(),
        task(ONE, ONE),
        task(ONE, Example((1,), 3, origin="model")),
        task(
            ONE,
            Example((-1,), raises="ValueError"),
            requires=(Predicate("x < 9"),),
            ensures=(Predicate("result > x"),),
            raises=(("ValueError", "x < 0"),),
            reference="def f(x):\n    if x < 0: raise ValueError\n    return x + 1",
        ),
    ],
    ids=range(4),
)
def test_a_sound_task_raises_no_suspicion(jail: Jail, spec: TaskSpec) -> None:
    assert find_contradiction(spec, jail) == ""


LOOP = "def f(x):\n    for _ in range(min(abs(x), 60)): pass\n    return x + 1"


@pytest.mark.parametrize("parameter", [Parameter("x", "int"), Parameter("x")], ids=["a type", "only examples"])
def test_a_reference_over_a_bound_on_steps_is_named_with_the_call(jail: Jail, parameter: Parameter) -> None:
    spec = task(ONE, Example((9,), 10), temporal=(Predicate("steps <= 9"),), reference=LOOP)
    problem = find_contradiction(replace(spec, parameters=(parameter,)), jail)
    assert re.fullmatch(
        r"the reference breaks a temporal bound on f\(-?\d+\): expected steps <= 9, got \d+ steps", problem
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"temporal": (Predicate("steps <= 9", origin="model"),)},
        {"temporal": (Predicate("steps <= 9"),), "requires": (Predicate("0 <= x < 3"),)},
        {"temporal": (Predicate("steps <= 200"),)},
    ],
    ids=["a model's bound", "outside of requires", "a bound that it keeps"],
)
def test_a_reference_within_its_bounds_is_not_suspected(jail: Jail, fields: dict[str, Any]) -> None:
    assert find_contradiction(task(ONE, reference=LOOP, **fields), jail) == ""


def test_a_bound_of_inputs_of_which_nothing_is_known_is_not_held_against_the_reference(jail: Jail) -> None:
    spec = TaskSpec("p", "f", (Parameter("x"),), temporal=(Predicate("steps < 1"),), reference=LOOP)
    assert find_contradiction(spec, jail) == ""


def test_an_example_is_met_by_its_value_or_its_exception() -> None:
    assert meets(ONE, Observation("returned", value=2), "int")
    assert not meets(ONE, Observation("raised", error="E"), "int")
    assert meets(Example((1,), raises="E"), Observation("raised", error="E"), "")
    assert not meets(Example((1,), raises="E"), Observation("raised", error="F"), "")
    assert (expectation(ONE), expectation(Example((1,), raises="E"))) == ("2", "raises E")


def test_one_exception_is_a_kind_of_another_by_name_or_by_built_in_class() -> None:
    assert is_kind_of("IndexError", "LookupError")
    assert is_kind_of("Odd", "Odd")
    assert not is_kind_of("LookupError", "IndexError")
    assert not is_kind_of("Odd", "LookupError")
    assert not is_kind_of("LookupError", "Odd")


def test_an_example_that_raises_a_subclass_of_what_is_demanded_contradicts_nothing(jail: Jail) -> None:
    spec = TaskSpec(
        "p", "f", parameters=(Parameter("x"),), examples=(Example((1,), raises="KeyError"),),
        raises=(("LookupError", "x == 1"),),
    )  # fmt: skip
    assert find_contradiction(spec, jail) == ""


def test_a_predicate_without_an_answer_on_an_example_contradicts_nothing(jail: Jail) -> None:
    endless = Predicate("sum(1 for _ in range(10 ** 9)) == result")
    spec = TaskSpec("p", "f", parameters=(Parameter("x"),), examples=(Example((1,), 1),), ensures=(endless,))
    assert find_contradiction(spec, jail) == ""


def test_a_requirement_without_an_answer_on_an_example_contradicts_nothing(jail: Jail) -> None:
    endless = Predicate("sum(1 for _ in range(10 ** 9)) > 0")
    spec = TaskSpec("p", "f", parameters=(Parameter("x"),), examples=(Example((1,), 1),), requires=(endless,))
    assert find_contradiction(spec, jail) == ""
