from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec
from armillary.verify.symbolic.adapter import Jails, SymbolicResult, check_properties, check_reference
from armillary.verify.symbolic.request import SymbolicBudget

MakeTask = Callable[..., TaskSpec]
TESTED = ("ensures[0]", "laws[0]")
QUICK = SymbolicBudget(cpu_s=1.0, max_paths=50)
IDENTITY = "def f(x): return x"


def check(jails: Jails, task: TaskSpec, code: str = IDENTITY, **options: Any) -> SymbolicResult:
    [result] = check_properties(jails, task, code, **({"budget": QUICK, "tested": TESTED} | options))
    return result


@pytest.mark.parametrize(
    ("inputs", "fields", "code"),
    [
        ("int", {"ensures": "result >= 0"}, "def f(x): return x if x > 0 else -x"),
        ("list[int] | len<=3", {"ensures": "result == x[::-1]"}, "def f(x):\n    x.reverse()\n    return x"),
        ("int", {"ensures": "result == 7", "requires": "x == 7"}, IDENTITY),
        ("int", {"law": "f(f(x)) == f(x)"}, "def f(x): return max(x, 0)"),
        ("int | 0..3", {"ensures": "result", "raises": (("ZeroDivisionError", "x == 0"),)}, "def f(x): return 6 // x"),
        ("str | None", {"ensures": "(result == 0) == (not x)"}, "def f(x): return len(x) if x else 0"),
    ],
)  # fmt: skip
def test_a_promise_that_holds_on_every_path_is_proved(
    jails: Jails, make_task: MakeTask, inputs: str, fields: dict[str, Any], code: str
) -> None:
    result = check(jails, make_task(inputs, **fields), code)
    assert (result.status, result.breach, result.notes) == ("proved", None, ())
    assert result.reason == f"holds on all {result.num_paths} paths"


@pytest.mark.parametrize(
    ("inputs", "fields", "code", "smallest"),
    [
        ("int", {"ensures": "result == x"}, "def f(x): return x if x != 73123 else 0", (73123,)),
        ("int", {"law": "f(x) == f(-x)"}, "def f(x): return x if x > 9 else 0", (10,)),
        ("float", {"ensures": "result == x"}, "def f(x): return x if x != 7.25 else 0.0", (7.25,)),
        ("float | 0..9", {"ensures": "result < 8.5"}, "def f(x): return x", None),
        ("str", {"ensures": "len(result) == len(x)"}, "def f(x): return x.replace('ab', '')", ("ab",)),
        ("list[int]", {"ensures": "result in x"}, "def f(x): return x[0]", ([],)),
        ("dict[str, int]", {"ensures": "result == x"}, "def f(x): return {} if 'ab' in x else x", ({"ab": 0},)),
        ("set[int]", {"ensures": "result == sorted(x)"}, "def f(x): return [y for y in x]", None),
        ("Literal['a', 3]", {"ensures": "result == 'a'"}, IDENTITY, (3,)),
        ("tuple[int | 0..9, ...]", {"ensures": "len(result) < 2"}, IDENTITY, ((0, 0),)),
        ("tuple[str | chars 'ab', int]", {"ensures": "result[0] != 'ba'"}, IDENTITY, (("ba", 0),)),
        ("list[tuple[int | 0..5, str]]", {"ensures": "result == []"}, IDENTITY, ([(0, "")],)),
        ("list[Literal['a', 2]]", {"ensures": "2 not in result"}, IDENTITY, ([2],)),
        ("list[int | None] | len >= 1", {"ensures": "None not in result"}, IDENTITY, ([None],)),
        ("dict[str, int | 0..9]", {"ensures": "9 not in result.values()"}, IDENTITY, ({"": 9},)),
        ("list[list[int | 3..4] | len == 1]", {"ensures": "[4] not in result"}, IDENTITY, ([[4]],)),
        ("bytes | len<=2", {"ensures": "result != b'b'"}, IDENTITY, (b"b",)),
    ],
)
def test_an_input_that_breaks_a_promise_is_found_made_small_and_run_again(
    jails: Jails, make_task: MakeTask, inputs: str, fields: dict[str, Any], code: str, smallest: tuple[Any, ...] | None
) -> None:
    result = check(jails, make_task(inputs, **fields), code, budget=SymbolicBudget(cpu_s=4.0, max_paths=200))
    assert result.status == "refuted"
    assert result.breach is not None
    assert smallest in (None, result.breach.arguments)


def test_the_promise_that_an_input_breaks_is_named_whichever_was_asked_about(jails: Jails, make_task: MakeTask) -> None:
    task = make_task("int", ensures="result == x")
    both = replace(task, ensures=(Predicate("result == x"), Predicate("x < 50", origin="docstring")))
    kept, broken = check_properties(jails, both, IDENTITY, tested=TESTED, budget=QUICK)
    assert (kept.status, broken.status) == ("proved", "refuted")
    assert (broken.promise.id, broken.promise.origin) == ("ensures[1]", "docstring")


def test_promises_after_a_refuted_one_are_not_looked_at(jails: Jails, make_task: MakeTask) -> None:
    task = replace(make_task("int", law="f(x) == x"), ensures=(Predicate("result > x"), Predicate("result == x")))
    assert [item.promise.id for item in check_properties(jails, task, IDENTITY, budget=QUICK)] == ["ensures[0]"]


# Each of these would be proved, were it not for one condition.


def test_only_what_the_user_wrote_is_proved(jails: Jails, make_task: MakeTask) -> None:
    reason = "it is no proof: not all of it was written by the user"
    by_model = replace(make_task(), ensures=(Predicate("result == x", origin="model"),))
    assert reason in check(jails, by_model).reason
    on_a_guess = replace(make_task(ensures="result == x"), requires=(Predicate("x > 3", origin="docstring"),))
    assert reason in check(jails, on_a_guess).reason


def test_only_what_was_tested_is_proved(jails: Jails, make_task: MakeTask) -> None:
    assert "it was not tested before" in check(jails, make_task(ensures="result == x"), tested=()).reason


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    n = 0\n    while n < x:\n        n += 1\n    return max(n, x)",
        "def f(x): return 1 + f(x - 1) if x > 0 else x",
        "def f(x):\n    for n in range(x):\n        if n > 5000: return 0\n    return x",
    ],
)
def test_a_loop_or_recursion_that_is_cut_off_is_not_proved(jails: Jails, make_task: MakeTask, code: str) -> None:
    result = check(jails, make_task("int | >= 0", ensures="result == x"), code, budget=SymbolicBudget(1.0, 12))
    assert result.status == "unknown"
    assert "more are left" in result.reason


def test_a_path_that_never_ends_is_given_up_and_not_proved(jails: Jails, make_task: MakeTask) -> None:
    code = "def f(x):\n    while x == x:\n        x += 1 if x >= 0 else -1\n    return x"
    result = check(jails, make_task("int", ensures="False"), code, budget=SymbolicBudget(0.5, 5))
    assert (result.status, result.notes) == ("unknown", ())


def test_a_promise_without_inputs_is_not_proved(jails: Jails, make_task: MakeTask) -> None:
    result = check(jails, make_task("int", ensures="False", requires="x > 3 and x < 3"))
    assert (result.status, result.reason) == ("unknown", "vacuous: no input of 2 paths satisfies the conditions")


@pytest.mark.parametrize(
    ("inputs", "fields", "code", "reason"),
    [
        ("float", {"ensures": "result <= x + 1"}, IDENTITY, "paths were given up"),
        ("int | 0..5", {"ensures": "result == x"}, "def f(x): return 0.5 + x - 0.5", "paths were given up"),
        ("bool", {"ensures": "result == x"}, "def f(x):\n    y = 0.1 + 0.2\n    return x", "a value of type float"),
        ("int", {"ensures": "result == 1"}, "def f(x, y=[]):\n    y.append(x)\n    return len(y)", "a default value"),
        ("int", {"ensures": "result == x"}, "y = []\ndef f(x):\n    y.append(x)\n    return x", "statement of the"),
        ("int", {"ensures": "result < 99"}, "import random\ndef f(x): return random.randint(1, 99)", "module random"),
        ("int", {"ensures": "result > 1"}, "import time\ndef f(x): return time.time()", "the module time"),
        ("bool", {"ensures": "result in ([0, 8], [8, 0])"}, "def f(x): return [y for y in {8, 0}]", "order of a set"),
        ("bool", {"ensures": "result >= 0"}, "def f(x): return id(x)", "the name id"),
        ("int | >= 0", {"ensures": "result == x"}, "def f(x): return len(range(x))", "a range outside"),
        ("int | >= 0", {"ensures": "len(range(result)) == x"}, IDENTITY, "a range outside"),
        ("int | >= 0", {"ensures": "result == x", "requires": "len(range(x)) == x"}, IDENTITY, "a range outside"),
        ("list[int]", {"ensures": "len(result) == len(x)"}, IDENTITY, "a list that may be longer than 8"),
    ],
)  # fmt: skip
def test_what_crosshair_takes_for_proved_but_python_does_not_keep_is_unknown(
    jails: Jails, make_task: MakeTask, inputs: str, fields: dict[str, Any], code: str, reason: str
) -> None:
    result = check(jails, make_task(inputs, **fields), code)
    assert result.status == "unknown"
    assert reason in result.reason


def test_nothing_is_proved_if_a_result_of_the_program_is_not_crosshairs(
    reporting: Callable[..., Jails], run_of: Callable[..., Any], make_task: MakeTask
) -> None:
    task = make_task("int", ensures="result == x")
    assert check(reporting(), task).status == "proved"
    other = check(reporting(witnesses=[run_of([5], 6)]), task)
    assert other.reason.endswith("CrossHair's result on one input is not the program's, 5")
    lying = check(reporting(witnesses=[run_of([5], {"int": []})]), task)
    assert "is not the program's" in lying.reason
    hidden = check(reporting(witnesses=[run_of([0], has_result=False)]), task)
    assert hidden.reason.endswith("a result that is no plain value")


def test_a_breach_among_the_paths_that_seemed_to_hold_refutes(
    reporting: Callable[..., Jails], run_of: Callable[..., Any], make_task: MakeTask
) -> None:
    result = check(reporting(witnesses=[run_of([5], 5)]), make_task("int", ensures="result != 5"))
    assert (result.status, result.promise.id) == ("refuted", "ensures[0]")


def test_nothing_is_proved_if_a_paths_input_cannot_be_judged(
    reporting: Callable[..., Jails], run_of: Callable[..., Any], make_task: MakeTask
) -> None:
    outside = check(
        reporting(witnesses=[run_of([0], 0), run_of([99], 99)]), make_task("int | 0..9", ensures="result == x")
    )
    assert outside.reason == "only 1 of 2 inputs, one per path, could be judged when they were run"


def test_a_counterexample_that_does_not_come_about_is_dropped_with_a_note(
    reporting: Callable[..., Jails], run_of: Callable[..., Any], make_task: MakeTask
) -> None:
    suspects = [run_of([3], 3), run_of([10], 10), run_of([4], error="TypeError"), run_of([1, 2]), run_of(["a"])]
    jails = reporting(counterexamples=suspects, is_exhausted=False)
    result = check(jails, make_task("int | 0..9", ensures="result == x"))
    assert (result.status, result.breach) == ("unknown", None)
    assert result.reason == "CrossHair's counterexamples did not come about when they were run"
    assert result.notes == (
        "ensures[0]: 5 counterexamples of CrossHair's did not come about when they were run "
        "(TypeError, a false promise), 3 of them outside of the domain",
    )


def test_infinite_and_undefined_numbers_are_no_counterexamples(
    reporting: Callable[..., Jails], run_of: Callable[..., Any], make_task: MakeTask
) -> None:
    suspects = [run_of([{"a": [float("nan")]}]), run_of([{"a": [float("inf")]}])]
    jails = reporting(counterexamples=suspects, is_exhausted=False)
    result = check(jails, make_task("dict[str, list[float]]", ensures="result != x"))
    assert result.status == "unknown"
    assert "2 of them outside of the domain" in result.notes[0]


def test_it_is_told_how_far_an_exploration_came(reporting: Callable[..., Jails], make_task: MakeTask) -> None:
    task = make_task("int", ensures="result == x")
    cut = check(reporting(is_exhausted=False, num_paths=40), task)
    assert cut.reason == "no counterexample on 40 paths in 0.5 CPU-s, but more are left"
    lost = check(reporting(is_exhausted=False, num_paths=40, obstacles={"a": 2, "PathTimeout": 3}), task)
    assert lost.reason == "3 of 40 paths were given up: PathTimeout"
    assert check(reporting(num_held=0, num_outside=40, witnesses=[], num_paths=40), task).reason.startswith("vacuous")


def test_what_cannot_be_asked_is_said(jails: Jails, make_task: MakeTask) -> None:
    assert (
        check(jails, make_task("Any", ensures="result == x")).reason == "a parameter of kind any has no symbolic form"
    )
    nested = check(jails, make_task("list[Any]", ensures="result == x"))
    assert nested.reason == "a parameter of kind any has no symbolic form"
    clash = TaskSpec("p", "f", (Parameter("f", "int"),), laws=(Predicate("f == f"),))
    assert check(jails, clash).reason == "a parameter has the name of the function"
    only_raises = make_task("int", raises=(("ValueError", "x > 3"),))
    assert check_properties(jails, only_raises, IDENTITY) == ()


def test_a_program_that_does_not_load_is_unknown(jails: Jails, make_task: MakeTask) -> None:
    result = check(jails, make_task("int", ensures="result == x"), "def g(x): return x")
    assert (result.status, result.reason) == ("unknown", "KeyError: 'f'")


def test_parameters_that_only_examples_show_are_not_asked_about(jails: Jails) -> None:
    task = TaskSpec("p", "f", examples=(Example((1,), 1),), ensures=(Predicate("True"),))
    assert check(jails, task).reason == "the task names no parameters"


def test_a_law_is_not_proved_where_a_side_of_it_raises(jails: Jails, make_task: MakeTask) -> None:
    code = "def f(x):\n    if x == 3: raise ValueError\n    return x"
    result = check(jails, make_task("int", law="f(x) == x"), code)
    assert result.status == "unknown"
    assert result.notes[0].endswith("counterexamples of CrossHair's did not come about when they were run (ValueError)")


def test_a_condition_that_raises_is_not_proved_over(jails: Jails, make_task: MakeTask) -> None:
    task = make_task("int | 0..9", ensures="result == x", requires="10 // x > 2")
    result = check(jails, task)
    assert result.status == "unknown"
    assert result.reason == "1 of 3 paths were given up: a condition on the inputs raises"


def compare(jails: Jails, task: TaskSpec, code: str, reference: str, **options: Any) -> SymbolicResult:
    options = {"budget": QUICK, "tested": ("reference",)} | options
    return check_reference(jails, replace(task, reference=reference), code, **options)


def test_an_input_on_which_a_program_and_its_reference_differ_is_found(jails: Jails, make_task: MakeTask) -> None:
    result = compare(jails, make_task(), "def f(x): return x if x != 73123 else 0", IDENTITY)
    assert (result.status, result.promise.id) == ("refuted", "reference")
    assert result.breach is not None
    assert (result.breach.arguments, result.breach.finding.expected) == ((73123,), "73123")


def test_a_program_that_does_as_its_reference_on_all_paths_is_proved(jails: Jails, make_task: MakeTask) -> None:
    result = compare(jails, make_task(), "def f(x): return x if x > 0 else -x", "def f(x): return abs(x)")
    assert (result.status, result.reason) == ("proved", f"holds on all {result.num_paths} paths")


def test_where_the_reference_raises_a_program_may_do_what_it_likes(jails: Jails, make_task: MakeTask) -> None:
    picky = "def f(x):\n    if x < 0: raise ValueError\n    return x"
    assert compare(jails, make_task(), IDENTITY, picky).status == "proved"
    assert compare(jails, make_task(), picky, IDENTITY).status == "refuted"
    never = compare(jails, make_task("bool"), IDENTITY, "def f(x): raise ValueError")
    assert never.reason == "vacuous: no input of 1 paths satisfies the conditions"


@pytest.mark.parametrize(
    ("options", "reference", "reason"),
    [
        ({"tested": ()}, IDENTITY, "it was not tested before"),
        ({}, "import math\ndef f(x): return x", "it is no proof: the reference: line 1: the module math"),
    ],
)
def test_sameness_that_rests_on_anything_else_is_no_proof(
    jails: Jails, make_task: MakeTask, options: dict[str, Any], reference: str, reason: str
) -> None:
    assert reason in compare(jails, make_task(), IDENTITY, reference, **options).reason
