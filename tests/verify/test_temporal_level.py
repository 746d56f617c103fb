"""Bounds on counted steps, judged with the real jail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.core.values import encode
from armillary.verify.contract import Contract
from armillary.verify.execution import Jail
from armillary.verify.fuzz import SearchResult, search
from armillary.verify.generate import is_large
from armillary.verify.oracles import SLOW, Finding, Unjudged
from armillary.verify.sandbox.outcomes import Call, JailResult, Outcome
from armillary.verify.temporal_level import STEP_LIMIT, TemporalOracle, temporal_inputs

Result = Callable[..., JailResult]
LINEAR = "def f(xs):\n    return sum(x * x for x in xs)\n"
QUADRATIC = (
    "def f(xs):\n    total = 0\n    for x in xs:\n        for y in xs:\n            total += x * y\n    return total\n"
)


def task(*bounds: str, annotation: str = "list[int]", **fields: Any) -> TaskSpec:
    parameters = (Parameter("xs", annotation),)
    return TaskSpec("p", "f", parameters, temporal=tuple(map(Predicate, bounds)), **fields)


BOUNDED = task("steps <= 6 * len(xs) + 20")


def judge(jail: Jail, code: str, xs: Any, *bounds: str) -> Any:
    [judgement] = TemporalOracle(task(*bounds) if bounds else BOUNDED, jail, code).judge([(xs,)])
    return judgement["temporal[0]"]


def find(jail: Jail, spec: TaskSpec, code: str) -> SearchResult:
    contract = Contract(spec, jail)
    return search(spec, TemporalOracle(spec, jail, code), contract, temporal_inputs(spec, contract, count=60, seed=0))


def test_every_bound_is_a_promise_of_whoever_wrote_it(jail: Jail) -> None:
    spec = TaskSpec("p", "f", temporal=(Predicate("steps < 3"), Predicate("steps < 4", "model")))
    promises = TemporalOracle(spec, jail, LINEAR).promises
    assert [(item.id, item.level, item.origin, item.text) for item in promises] == [
        ("temporal[0]", "temporal", "user", "steps < 3"),
        ("temporal[1]", "temporal", "model", "steps < 4"),
    ]


def test_a_bound_that_is_kept_is_judged_on_every_input(jail: Jail) -> None:
    result = find(jail, BOUNDED, LINEAR)
    assert (result.breach, result.num_judged["temporal[0]"] > 60) == (None, True)


def test_the_smallest_input_on_which_a_program_takes_too_many_steps_is_found(jail: Jail) -> None:
    breach = find(jail, BOUNDED, QUADRATIC).breach
    assert breach is not None
    # 8 * 8 + 8 + 1 steps are too many, 7 * 7 + 7 + 1 are not.
    assert breach.arguments == ([0] * 8,)
    assert breach.finding == Finding("steps <= 6 * len(xs) + 20", "73 steps")


def test_what_only_long_inputs_show_is_found(jail: Jail) -> None:
    breach = find(jail, task("steps <= 100 * len(xs) + 100"), QUADRATIC).breach
    assert breach is not None
    assert len(breach.arguments[0]) == 100


def test_an_endless_loop_ends_by_count_and_breaks_every_bound(jail: Jail) -> None:
    code = "def f(xs):\n    while xs: pass\n"
    found = judge(jail, code, [1])
    assert found == Finding("steps <= 6 * len(xs) + 20", f"more than {STEP_LIMIT} steps", is_slow=True)
    assert judge(jail, code, []) is None


def test_a_bound_that_allows_more_than_is_counted_is_not_judged(jail: Jail) -> None:
    found = judge(jail, "def f(xs):\n    while xs: pass\n", [1], "steps < 10 ** 7 or steps > 10 ** 7")
    assert found == Unjudged(f"it takes more than {STEP_LIMIT} steps, which are not counted further")


def test_a_single_step_is_told_as_one(jail: Jail) -> None:
    assert judge(jail, "def f(xs): pass", [], "steps > 1") == Finding("steps > 1", "1 step")


def test_a_bound_that_raises_is_broken_and_says_so(jail: Jail) -> None:
    found = judge(jail, LINEAR, [], "steps / len(xs) < 9")
    assert isinstance(found, Finding)
    assert found.actual == "1 step, on which the predicate raised ZeroDivisionError: division by zero"


def test_a_bound_without_an_answer_is_not_judged(jail: Jail) -> None:
    found = judge(jail, LINEAR, [], "all(i < steps * 10 ** 9 for i in range(10 ** 9))")
    assert found == Unjudged("its predicate: no answer within the time limit")


def test_an_exception_keeps_no_bound_but_may_break_one(jail: Jail) -> None:
    code = "def f(xs):\n    for x in xs: pass\n    raise KeyError(1)\n"
    assert judge(jail, code, [1]) == Unjudged("it raised KeyError", is_outside=True)
    assert judge(jail, code, [1] * 9, "steps < 9") == Finding("steps < 9", "10 steps")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def f(xs):\n    return map(abs, xs)\n", "it returns an iterator, whose work is not counted"),
        ("def f(xs):\n    exec('pass')\n", "it uses exec: text that is run is not counted"),
        ("import timeit as t\ndef f(xs): pass\n", "it uses timeit: text that is run is not counted"),
        ("from marshal import loads\ndef f(xs): pass\n", "it uses marshal: text that is run is not counted"),
    ],
)
def test_work_that_cannot_be_counted_keeps_no_bound(jail: Jail, code: str, reason: str) -> None:
    assert judge(jail, code, [1]) == Unjudged(reason, is_hidden=True)


def test_a_name_that_only_looks_like_such_a_module_is_counted(jail: Jail) -> None:
    assert judge(jail, "import re\ndef f(xs):\n    trace = re.compile('a')\n    return trace and 1\n", [1]) is None


def counted(result: Result, value: object) -> JailResult:
    return result([Outcome("returned", encode(value))])


def is_counting(source: str) -> bool:
    return "armillary_steps" in source


@pytest.mark.parametrize(
    ("value", "judged"),
    [
        ((3, False, "returned", 0.1), None),
        (
            (3, False, "returned", 0.6),
            Unjudged("it takes far more processor time than its steps account for", is_hidden=True),
        ),
        ((300_000, False, "returned", 2.0), None),
        ((-1, False, "returned", 0.1), Finding("steps < 10 ** 9", "a forged value")),
        ((1, False, "returned"), Finding("steps < 10 ** 9", "a forged value")),
        ((True, False, "returned", 0.1), Finding("steps < 10 ** 9", "a forged value")),
        ([1, False, "returned", 0.1], Finding("steps < 10 ** 9", "a forged value")),
    ],
)
def test_what_left_the_counting_process_is_doubted(
    jail: Jail, scripted: Any, result: Result, value: object, judged: object
) -> None:
    def script(source: str, calls: Sequence[Call], number: int) -> JailResult:
        return counted(result, value) if is_counting(source) else jail.run(source, calls)

    assert judge(scripted(script), LINEAR, [1], "steps < 10 ** 9") == judged


def test_a_call_without_an_answer_breaks_the_bound_unless_its_input_is_large(jail: Jail) -> None:
    code = "import time\ndef f(xs):\n    while xs: time.sleep(9)\n"
    found = judge(jail, code, [1])
    assert found == Finding("steps <= 6 * len(xs) + 20", "no answer within the time limit", is_slow=True)
    assert judge(jail, code, [1] * 50) == SLOW


def test_a_call_that_ends_its_process_breaks_the_bound(scripted: Any, result: Result) -> None:
    jail = scripted(lambda source, calls, number: result([Outcome("missing")], stopped_by="signal"))
    found = judge(jail, LINEAR, [1])
    assert found == Finding("steps <= 6 * len(xs) + 20", "the process was killed by signal 9")


def test_a_function_that_is_not_there_is_not_judged(jail: Jail) -> None:
    found = judge(jail, "def g(xs): pass", [1])
    assert found == Unjudged("raised KeyError: 'f'")


@pytest.mark.parametrize("code", ["1 / 0", "def f(:"])
def test_code_that_does_not_load_is_told(jail: Jail, code: str) -> None:
    found = judge(jail, code, [1])
    assert isinstance(found, Unjudged)
    assert found.is_unloaded
    assert found.reason.startswith("the code, while it counts, does not load: ")


def test_inputs_grow_long_and_stay_what_the_task_allows(jail: Jail) -> None:
    spec = task("steps > 0", requires=(Predicate("xs == sorted(xs)"),))
    inputs = temporal_inputs(spec, Contract(spec, jail), count=40, seed=0)
    lengths = [len(xs) for (xs,) in inputs]
    assert {32, 128, 512} <= set(lengths)
    assert all(xs == sorted(xs) for (xs,) in inputs)
    sizes = [is_large(row) for row in inputs]
    assert sizes == sorted(sizes)
    assert len(set(map(repr, inputs))) == len(inputs)


@pytest.mark.parametrize(
    ("annotation", "domain", "longest"),
    [
        ("str", "", 512),
        ("list[int]", "list[int] | len<=40", 40),
        ("int", "int | 0..9", 0),
        ("list[int | str]", "", 512),
    ],
)
def test_inputs_grow_no_longer_than_the_domain(jail: Jail, annotation: str, domain: str, longest: int) -> None:
    spec = TaskSpec("p", "f", (Parameter("xs", annotation, domain),))
    inputs = temporal_inputs(spec, Contract(spec, jail), count=40, seed=0)
    assert max(len(xs) if isinstance(xs, list | str) else 0 for (xs,) in inputs) == longest
