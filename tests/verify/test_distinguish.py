from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.core.values import Json, decode
from armillary.verify import distinguish
from armillary.verify.distinguish import MAX_PROGRAMS, telling_inputs
from armillary.verify.execution import Jail
from armillary.verify.sandbox.outcomes import Call, JailResult, Outcome
from armillary.verify.symbolic.difference import Difference
from armillary.verify.symbolic.request import SymbolicBudget

TASK = TaskSpec("p", "f", parameters=(Parameter("xs", "list[int]"),))
INPUTS = [([],), ([3, 1, 2, 3],), ([5, 4],), ([1],)]
SORTED = "def f(xs): return sorted(xs)"
DISTINCT = "def f(xs): return sorted(set(xs))"
SAME = "def f(xs): return xs"


QUICK = SymbolicBudget(cpu_s=2.0, max_paths=60, slack_cpu_s=3.0)


def tell(jail: Jail, *codes: str, task: TaskSpec = TASK, is_explored: bool = True) -> list[Json]:
    budget = QUICK if is_explored else None
    return [decode(item)[0] for item in telling_inputs(jail, task, codes, INPUTS, budget=budget)]


def test_each_pair_is_told_apart_by_a_small_input(jail: Jail) -> None:
    assert tell(jail, SORTED, DISTINCT, SAME) == [[3, 3], [1, 0], [0, 0]]


def test_programs_that_do_the_same_are_not_told_apart(jail: Jail) -> None:
    assert tell(jail, SORTED, SORTED) == tell(jail, SORTED, SORTED + "  # the same", is_explored=False) == []


def test_an_exception_tells_programs_apart_as_a_value_does(jail: Jail) -> None:
    assert tell(jail, SORTED, "def f(xs): return sorted(xs) if xs else 1 / 0") == [[]]


def test_a_program_that_does_not_load_differs_everywhere(jail: Jail) -> None:
    assert tell(jail, SORTED, "1 / 0") == [[]]


def test_inputs_stay_within_the_tasks_bounds(jail: Jail) -> None:
    task = TaskSpec("p", "f", parameters=(Parameter("xs", "list[int]"),), requires=(Predicate("sum(xs) > 5"),))
    [found] = tell(jail, SORTED, DISTINCT, task=task)
    assert sum(found) > 5  # type: ignore[arg-type]


def test_only_the_first_programs_are_looked_at(jail: Jail) -> None:
    assert tell(jail, *[SORTED] * MAX_PROGRAMS, SAME) == []


NEEDLE = "def f(xs): return sorted(xs) if sum(xs) != 4711 else []"


def test_a_needle_that_no_input_hits_is_found_by_exploring(jail: Jail) -> None:
    pytest.importorskip("crosshair")
    assert tell(jail, SORTED, NEEDLE, is_explored=False) == []
    [found] = tell(jail, SORTED, NEEDLE)
    assert sum(found) == 4711  # type: ignore[arg-type]


def test_only_pairs_that_no_input_tells_apart_are_explored(jail: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("crosshair")
    asked: list[tuple[str, str, float]] = []

    def never(jails: object, task: TaskSpec, left: str, right: str, *, budget: SymbolicBudget, seed: int) -> None:
        asked.append((left, right, budget.cpu_s))

    monkeypatch.setattr(distinguish, "find_difference", never)
    same = SORTED + "  # the same"
    assert tell(jail, SORTED, same, SAME) == [[1, 0]]
    assert asked == [(SORTED, same, 2.0)]
    other = same + " again"
    assert tell(jail, SORTED, same, other) == []
    assert [(pair, cpu_s) for *pair, cpu_s in asked[1:]] == [
        ([SORTED, same], 2 / 3), ([SORTED, other], 2 / 3), ([same, other], 2 / 3),
    ]  # fmt: skip


def test_a_difference_that_does_not_come_about_as_programs_are_compared_is_dropped(
    jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("crosshair")
    monkeypatch.setattr(distinguish, "find_difference", lambda *_, **__: Difference(([7],), "[7]", "[8]"))
    assert tell(jail, SORTED, SORTED + "  # the same") == []


def test_nothing_is_explored_without_crosshair_or_room_for_it_or_a_symbolic_form_of_inputs(
    jail: Jail, scripted: Any, result: Callable[..., JailResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        return result([Outcome("returned", 0)] * len(calls))

    weak = scripted(script)
    weak.tier = "C"
    monkeypatch.setattr(distinguish, "open_explorer", lambda tier: pytest.fail("it was opened"))
    assert tell(jail, SORTED, NEEDLE, task=TaskSpec("p", "f", parameters=(Parameter("xs"),))) == []
    assert tell(weak, SORTED, NEEDLE) == []
    monkeypatch.setattr(distinguish, "is_installed", lambda: False)
    assert tell(jail, SORTED, NEEDLE) == []
