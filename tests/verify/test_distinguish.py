from __future__ import annotations

from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.core.values import Json, decode
from armillary.verify.distinguish import MAX_PROGRAMS, telling_inputs
from armillary.verify.execution import Jail

TASK = TaskSpec("p", "f", parameters=(Parameter("xs", "list[int]"),))
INPUTS = [([],), ([3, 1, 2, 3],), ([5, 4],), ([1],)]
SORTED = "def f(xs): return sorted(xs)"
DISTINCT = "def f(xs): return sorted(set(xs))"
SAME = "def f(xs): return xs"


def tell(jail: Jail, *codes: str, task: TaskSpec = TASK) -> list[Json]:
    return [decode(item)[0] for item in telling_inputs(jail, task, codes, INPUTS)]


def test_each_pair_is_told_apart_by_a_small_input(jail: Jail) -> None:
    assert tell(jail, SORTED, DISTINCT, SAME) == [[3, 3], [1, 0], [0, 0]]


def test_programs_that_do_the_same_are_not_told_apart(jail: Jail) -> None:
    assert tell(jail, SORTED, SORTED + "  # the same") == []


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
