from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from armillary.core.tasks import TaskSpec
from armillary.verify.symbolic.adapter import Jails
from armillary.verify.symbolic.difference import Difference, Same, Unknown, find_difference
from armillary.verify.symbolic.request import SymbolicBudget

MakeTask = Callable[..., TaskSpec]
QUICK = SymbolicBudget(cpu_s=1.0, max_paths=50)
IDENTITY = "def f(x): return x"


@pytest.mark.parametrize(
    ("left", "right", "arguments"),
    [
        ("def f(x): return x * 2", "def f(x): return x + x if x != 54321 else 0", (54321,)),
        ("def f(x): return 1 // x", "def f(x): return 1 // x if x else 0", (0,)),
        ("def f(x): return 1 // x", "def f(x):\n    if x == 0: raise ValueError\n    return 1 // x", (0,)),
        ("def f(x): return [x]", "def f(x): return (x,)", None),
        ("def f(x): return ([x], {1: x > 0})", "def f(x): return ([x], {1: 1 if x > 0 else 0})", None),
        ("def f(x): return {1: x}", "def f(x): return {2: x}", None),
        ("def f(x): return {1: 5}", "def f(x): return {True: 5}", None),
        ("def f(x): return {1, 2}", "def f(x): return {True, 2}", None),
    ],
)
def test_an_input_that_tells_two_programs_apart_is_found(
    jails: Jails, make_task: MakeTask, left: str, right: str, arguments: tuple[Any, ...] | None
) -> None:
    found = find_difference(jails, make_task(), left, right, budget=QUICK)
    assert isinstance(found, Difference)
    assert arguments in (None, found.arguments)
    assert found.left != found.right


def test_programs_that_are_the_same_on_every_path_are_proved_the_same(jails: Jails, make_task: MakeTask) -> None:
    left, right = "def f(x): return x * 2", "def f(x): return x + x"
    listed = find_difference(
        jails, make_task(), "def f(x): return {1: [x]}", "def f(x): return {1: [x][:]}", budget=QUICK
    )
    assert listed == Same(True, "the same on all 1 paths")
    assert find_difference(jails, make_task(), left, right, budget=QUICK) == Same(True, "the same on all 1 paths")
    halved = find_difference(jails, make_task(requires="x > 0"), left, right + "\nimport math", budget=QUICK)
    assert halved == Same(False, "the same on all 2 paths; no proof: line 2: the module math")


def test_programs_that_raise_alike_are_the_same(jails: Jails, make_task: MakeTask) -> None:
    left, right = "def f(x): return 1 // x", "def f(x):\n    return 1 // x"
    assert isinstance(find_difference(jails, make_task("int | 0..1"), left, right, budget=QUICK), Same)


def test_programs_without_inputs_are_not_the_same(jails: Jails, make_task: MakeTask) -> None:
    found = find_difference(jails, make_task(requires="x > 3 and x < 3"), IDENTITY, IDENTITY, budget=QUICK)
    assert found == Unknown("vacuous: no input of 2 paths satisfies the conditions")


def test_why_no_difference_is_known_is_said(
    jails: Jails, reporting: Callable[..., Jails], run_of: Callable[..., Any], make_task: MakeTask
) -> None:
    def compare(jails: Jails, domain: str = "int", other: str = IDENTITY) -> Any:
        return find_difference(jails, make_task(domain), IDENTITY, other)

    assert compare(jails, "Any") == Unknown("a parameter of kind any has no symbolic form")
    assert compare(jails, other="def g(x): return x") == Unknown("KeyError: 'f'")
    false_alarm = reporting(counterexamples=[run_of([3])], is_exhausted=False)
    assert compare(false_alarm) == Unknown("1 differences did not come about outside of CrossHair")
    assert "more are left" in compare(reporting(is_exhausted=False)).reason
    lost = reporting(witnesses=[run_of([12], 12)])
    assert compare(lost, "int | 0..9") == Unknown("a path's input could not be run outside of CrossHair")
    endless = "def f(x):\n    while True:\n        pass"
    assert compare(reporting(), "int", endless) == Unknown("a path's input could not be run outside of CrossHair")
