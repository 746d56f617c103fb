from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.verify.contract import Contract
from armillary.verify.execution import Jail
from armillary.verify.fuzz import SearchResult, admissible_inputs, search
from armillary.verify.generate import Arguments
from armillary.verify.oracles import DifferentialOracle, Finding, Judgement, Promise, PropertyOracle


def spec(annotation: str = "list[int]", **fields: Any) -> TaskSpec:
    return TaskSpec("p", "f", parameters=(Parameter("xs", annotation),), **fields)


def hunt(jail: Jail, task: TaskSpec, code: str, *, seed: int = 0) -> SearchResult:
    contract = Contract(task, jail)
    oracle = DifferentialOracle(task, jail, code) if task.reference else PropertyOracle(task, jail, code)
    return search(task, oracle, contract, admissible_inputs(task, contract, count=100, seed=seed))


SORTED = spec(ensures=(Predicate("result == sorted(xs)"),))


@pytest.mark.parametrize(
    ("task", "code", "smallest"),
    [
        (SORTED, "def f(xs): return sorted(set(xs))", ([0, 0],)),
        (SORTED, "def f(xs): return xs", ([1, 0],)),
        (SORTED, "def f(xs): return sorted(xs)[:3]", ([0, 0, 0, 0],)),
        (spec("int", reference="def f(x): return abs(x)"), "def f(x): return x", (-1,)),
        (spec("int", reference="def f(x): return x"), "def f(x): return x if x < 50 else 0", (50,)),
        (spec("str", reference="def f(s): return s.upper()"), "def f(s): return s.capitalize()", ("aa",)),
        (spec(laws=(Predicate("f(xs) == f(xs[::-1])"),)), "def f(xs): return xs[:1]", ([1, 0],)),
    ],
    ids=range(7),
)
def test_a_planted_bug_is_found_and_made_as_small_as_it_gets(
    jail: Jail, task: TaskSpec, code: str, smallest: Arguments
) -> None:
    breach = hunt(jail, task, code).breach
    assert breach is not None
    assert breach.arguments in (smallest, ([0, 1],) if smallest == ([1, 0],) else smallest)


def test_the_same_seed_finds_the_same_breach(jail: Jail) -> None:
    code = "def f(xs): return sorted(xs) if sum(xs) < 90 else []"
    assert hunt(jail, SORTED, code, seed=5) == hunt(jail, SORTED, code, seed=5)


def test_a_right_program_survives_every_input(jail: Jail) -> None:
    assert hunt(jail, SORTED, "def f(xs): return sorted(xs)") == SearchResult({"ensures[0]": 100})


def test_counterexamples_satisfy_requires_and_bounds(jail: Jail) -> None:
    task = TaskSpec(
        "p",
        "f",
        parameters=(Parameter("n", "int", "3..90"),),
        requires=(Predicate("n % 2 == 0"),),
        ensures=(Predicate("result"),),
    )
    breach = hunt(jail, task, "def f(n): return n < 2").breach
    assert breach is not None
    assert breach.arguments == (4,)


def test_requires_that_nothing_satisfies_leave_no_inputs(jail: Jail) -> None:
    task = spec(requires=(Predicate("False"),))
    assert admissible_inputs(task, Contract(task, jail), count=10, seed=0) == []


def test_a_slow_input_is_not_shrunk(jail: Jail) -> None:
    breach = hunt(jail, SORTED, "def f(xs):\n    while len(xs) > 1: pass\n    return xs").breach
    assert breach is not None
    assert breach.finding.is_slow


class Moody:
    """Breaks its promise in the judgements whose numbers are given."""

    promises = (Promise("mood", "property", "user", "is steady"),)

    def __init__(self, broken: set[int]) -> None:
        self.broken = broken
        self.num_judged = 0

    def judge(self, inputs: Sequence[Arguments]) -> list[Judgement]:
        self.num_judged += 1
        finding = Finding("steady", "moody") if self.num_judged in self.broken else None
        return [{"mood": finding} for _ in inputs]


def test_what_does_not_break_again_is_flaky(jail: Jail) -> None:
    task = spec("int")
    found = search(task, Moody({1}), Contract(task, jail), [(0,), (1,)])
    assert (found.breach, found.flaky_id) == (None, "mood")


def test_a_small_input_that_fails_only_in_company_gives_way_to_the_first(jail: Jail) -> None:
    task = spec("int")
    # 1 finds 7, 2 shrinks it to 0, 3 holds for 0 alone, 4 breaks for 7 alone.
    found = search(task, Moody({1, 2, 4}), Contract(task, jail), [(7,)])
    assert found.breach is not None
    assert found.breach.arguments == (7,)


def test_no_inputs_find_nothing(jail: Jail) -> None:
    assert search(SORTED, Moody({1}), Contract(SORTED, jail), []) == SearchResult()
