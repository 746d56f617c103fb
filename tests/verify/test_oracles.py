from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.verify.execution import Jail
from armillary.verify.oracles import MAX_HASHED_MEMBERS, Contract, DifferentialOracle, PropertyOracle
from armillary.verify.sandbox.outcomes import Call, JailResult, Outcome


def task(**fields: Any) -> TaskSpec:
    return TaskSpec("p", "f", parameters=(Parameter("x", "int"),), **fields)


def predicates(*texts: str) -> tuple[Predicate, ...]:
    return tuple(map(Predicate, texts))


def judge(jail: Jail, spec: TaskSpec, code: str, *inputs: Any) -> list[dict[str, tuple[str, str] | None]]:
    oracle = DifferentialOracle(spec, jail, code) if spec.reference else PropertyOracle(spec, jail, code)
    return [
        {name: None if item is None else (item.expected, item.actual) for name, item in row.items()}
        for row in oracle.judge([(item,) for item in inputs])
    ]


def test_requires_admit_only_what_satisfies_all_of_them(jail: Jail) -> None:
    contract = Contract(task(requires=predicates("x > 0", "10 % x == 0")), jail)
    assert contract.admits([(0,), (1,), (3,), (5,)]) == [False, True, False, True]


def test_without_requires_everything_is_admitted(jail: Jail) -> None:
    assert Contract(task(), jail).admits([(0,), (1,)]) == [True, True]
    assert Contract(task(requires=predicates("x > 0")), jail).admits([]) == []


def test_ensures_hold_or_are_broken_by_a_result(jail: Jail) -> None:
    spec = task(ensures=predicates("result > x", "result != 3"))
    held, broken = judge(jail, spec, "def f(x): return x + 1", 1, 2)
    assert held == {"ensures[0]": None, "ensures[1]": None}
    assert broken == {"ensures[0]": None, "ensures[1]": ("result != 3", "result is 3")}


def test_a_predicate_that_fails_on_a_result_breaks_the_promise(jail: Jail) -> None:
    [row] = judge(jail, task(ensures=predicates("result > x")), "def f(x): return None", 1)
    assert row["ensures[0]"] is not None
    assert row["ensures[0]"][1].startswith("result is None, on which the predicate raised TypeError")


def test_a_predicate_without_an_answer_says_nothing(jail: Jail) -> None:
    spec = task(ensures=predicates("sum(1 for _ in range(10 ** 9)) > x", "result == x"))
    assert judge(jail, spec, "def f(x): return x", 1) == [{"ensures[1]": None}]


def test_an_exception_breaks_every_ensures(jail: Jail) -> None:
    [row] = judge(jail, task(ensures=predicates("result > x", "True")), "def f(x): raise KeyError(x)", 1)
    assert row == {"ensures[0]": ("result > x", "raised KeyError: 1"), "ensures[1]": ("True", "raised KeyError: 1")}


def test_the_demanded_exception_must_come_and_only_then(jail: Jail) -> None:
    spec = task(raises=(("ValueError", "x < 0"),), ensures=predicates("result == x"))
    code = "def f(x):\n    if x in (-1, 1): raise ValueError('no')\n    return x"
    rows = judge(jail, spec, code, -1, -2, 1, 2)
    assert rows[0] == {"raises[ValueError]": None}
    assert rows[1] == {"raises[ValueError]": ("raises ValueError", "-2")}
    assert rows[2] == {"raises[ValueError]": ("raises ValueError only if x < 0", "raised ValueError: no")}
    assert rows[3] == {"ensures[0]": None}


def test_another_exception_without_ensures_says_nothing(jail: Jail) -> None:
    assert judge(jail, task(raises=(("ValueError", "x < 0"),)), "def f(x): return 1 / x", 0) == [{}]


def test_a_call_that_never_ends_breaks_the_promise_and_is_marked_slow(jail: Jail) -> None:
    oracle = PropertyOracle(task(ensures=predicates("result == x")), jail, "def f(x):\n    while x: pass\n    return x")
    slow = oracle.judge([(0,), (1,)])[1]["ensures[0]"]
    assert slow is not None
    assert slow.is_slow
    assert slow.actual == "no answer within the time limit"


def test_calls_that_were_skipped_say_nothing(jail: Jail) -> None:
    rows = judge(jail, task(ensures=predicates("True")), "import os\ndef f(x): os._exit(1)", *range(5))
    assert [len(row) for row in rows] == [1, 1, 1, 0, 0]


def test_an_equality_law_is_compared_by_value_outside_of_the_jail(jail: Jail) -> None:
    spec = task(laws=predicates("f(x) == f(-x)"))
    held, broken = judge(jail, spec, "def f(x): return x if x == 2 else 0.0 if x > 0 else 0", 1, 2)
    assert held == {"laws[0]": None}
    assert broken == {"laws[0]": ("f(x) == f(-x)", "2 != 0")}


def test_an_object_that_equals_everything_breaks_an_equality_law(jail: Jail) -> None:
    code = "class E:\n    def __eq__(self, other): return True\ndef f(x): return E()"
    [row] = judge(jail, task(laws=predicates("f(x) == 1")), code, 1)
    assert row["laws[0]"] is not None


def test_another_law_is_a_claim(jail: Jail) -> None:
    held, broken = judge(jail, task(laws=predicates("f(x) > x")), "def f(x): return 5", 1, 9)
    assert held == {"laws[0]": None}
    assert broken == {"laws[0]": ("f(x) > x", "the law does not hold")}


def test_a_law_says_nothing_where_a_side_raises(jail: Jail) -> None:
    assert judge(jail, task(laws=predicates("f(x) == f(x)")), "def f(x): raise KeyError", 1) == [{}]


def test_laws_are_left_where_ensures_are_broken_already(jail: Jail) -> None:
    spec = task(ensures=predicates("result == x"), laws=predicates("f(x) == 0"))
    assert judge(jail, spec, "def f(x): return 1", 2) == [{"ensures[0]": ("result == x", "result is 1")}]


def test_a_program_that_does_not_load_with_its_laws_is_not_judged(
    scripted: Any, result: Callable[..., JailResult]
) -> None:
    jail = scripted(lambda source, calls, run: result([Outcome("missing")] * len(calls), load_error="E: no"))
    spec = task(laws=predicates("f(x) == 0"))
    assert judge(jail, spec, "", 1) == [{}]
    assert judge(jail, task(reference="def f(x): return 1"), "", 1) == [{}]


def test_the_reference_decides_where_it_returns(jail: Jail) -> None:
    spec = task(reference="def f(x): return 10 // x", returns="int")
    rows = judge(jail, spec, "def f(x): return 10 // x if x < 3 else 'odd'", 0, 1, 5)
    assert rows == [{}, {"reference": None}, {"reference": ("2", "'odd'")}]


def test_an_exception_where_the_reference_returns_is_broken(jail: Jail) -> None:
    rows = judge(jail, task(reference="def f(x): return x"), "def f(x): raise KeyError(x)", 1)
    assert rows == [{"reference": ("1", "raised KeyError: 1")}]


def test_promises_name_all_clauses() -> None:
    spec = task(ensures=predicates("result"), laws=predicates("f(x)"), raises=(("E", "x"),))
    found = PropertyOracle(spec, jail=None, code="").promises  # type: ignore[arg-type]
    assert [(item.id, item.text) for item in found] == [
        ("ensures[0]", "result"),
        ("laws[0]", "f(x)"),
        ("raises[E]", "E if x"),
    ]


def test_predicates_that_do_not_load_are_the_tasks_fault(jail: Jail) -> None:
    twice = TaskSpec("p", "f", parameters=(Parameter("x"), Parameter("x")), requires=predicates("x"))
    with pytest.raises(TaskFormatError, match="do not load"):
        Contract(twice, jail).admits([(1, 1)])


def test_a_result_with_too_many_hashed_members_is_not_built(jail: Jail) -> None:
    spec = task(ensures=predicates("len(result) == 3"))
    code = "def f(x): return [{i: (i,) for i in range(x)}, {1}, frozenset()]"
    rows = judge(jail, spec, code, 5, MAX_HASHED_MEMBERS + 1)
    assert rows == [{"ensures[0]": None}, {}]


def test_a_value_in_another_spelling_than_is_written_breaks_the_promise(
    scripted: Any, result: Callable[..., JailResult]
) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        return result([Outcome("returned", {"set": [2, 1]})] * len(calls))

    [row] = judge(scripted(script), task(ensures=predicates("True")), "", 1)
    assert row == {"ensures[0]": ("True", "a forged value")}
