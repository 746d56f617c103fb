from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.verify.execution import Execution, Jail, run_calls
from armillary.verify.generate import Arguments
from armillary.verify.laws import MAX_CALLS, Laws, Side
from armillary.verify.sandbox.outcomes import Call


def evaluate(jail: Jail, law: str, code: str, *inputs: Any) -> list[tuple[Side, ...]]:
    task = TaskSpec("p", "f", parameters=(Parameter("x"),), laws=(Predicate(law),))

    def ask(rows: Sequence[Arguments]) -> Execution:
        return run_calls(jail, code, [Call("f", row) for row in rows])

    found = Laws(task, jail).evaluate(0, [(item,) for item in inputs], ask)
    assert not isinstance(found, Execution)
    return found


def texts(found: list[tuple[Side, ...]]) -> list[tuple[str, ...]]:
    return [tuple(side.seen.text for side in row) for row in found]


def test_both_sides_of_an_equality_are_given_for_each_input(jail: Jail) -> None:
    assert texts(evaluate(jail, "f(x) == x + 1", "def f(x): return x * 2", 1, 5)) == [("2", "2"), ("10", "6")]


def test_any_other_law_gives_its_truth(jail: Jail) -> None:
    assert texts(evaluate(jail, "f(x) > 3", "def f(x): return x", 1, 5)) == [("False",), ("True",)]


def test_answers_are_fed_into_further_calls(jail: Jail) -> None:
    assert texts(evaluate(jail, "f(f(f(x))) == sum(f(i) for i in range(x))", "def f(x): return x + 1", 2, 3)) == [
        ("5", "3"),
        ("6", "6"),
    ]


def test_what_the_candidate_changes_in_its_arguments_stays_with_it(jail: Jail) -> None:
    assert texts(evaluate(jail, "f(x) == x", "def f(x):\n    x.append(1)\n    return x", [0])) == [("[0, 1]", "[0]")]


@pytest.mark.parametrize(
    ("law", "code", "kind", "is_candidates"),
    [
        ("f(x) == 1", "def f(x): return 1 / 0", "raised", True),
        ("f(x)[0] == 1", "def f(x): return x", "raised", False),
        ("f(x) == 1", "def f(x):\n    while True: pass", "timeout", True),
        ("sum(1 for _ in range(10 ** 9)) == f(x)", "def f(x): return x", "timeout", False),
        ("f(x) == 1", "def f(x): yield x", "unencodable", True),
        ("map(f, [x]) == 1", "def f(x): return x", "unencodable", False),
    ],
)
def test_a_side_without_a_value_says_whose_fault_it_is(
    jail: Jail, law: str, code: str, kind: str, is_candidates: bool
) -> None:
    [(left, *_)] = evaluate(jail, law, code, 0)
    assert (left.seen.kind, left.is_candidates) == (kind, is_candidates)


def test_a_law_may_not_call_the_code_for_ever(jail: Jail) -> None:
    [(side,)] = evaluate(jail, f"all(f(i) for i in range({MAX_CALLS + 1}))", "def f(x): return True", 0)
    assert side.seen.text == f"it calls the code more than {MAX_CALLS} times"
    assert texts(evaluate(jail, f"all(f(i) for i in range({MAX_CALLS}))", "def f(x): return True", 0)) == [("True",)]


def test_laws_that_do_not_load_are_the_tasks_fault(jail: Jail) -> None:
    twice = TaskSpec("p", "f", parameters=(Parameter("x"), Parameter("x")), laws=(Predicate("f(x)"),))
    with pytest.raises(TaskFormatError, match="the task's laws do not load"):
        Laws(twice, jail).evaluate(0, [(1, 1)], lambda rows: Execution(()))


def test_a_candidate_that_does_not_load_is_told(jail: Jail) -> None:
    task = TaskSpec("p", "f", parameters=(Parameter("x"),), laws=(Predicate("f(x)"),))
    failed = Execution((), "E: no")
    assert Laws(task, jail).evaluate(0, [(1,)], lambda rows: failed) is failed
