from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from armillary.verify.execution import CALLS_PER_RUN, MAX_FULL_RUNS, MAX_STOPS, TOO_LARGE, Jail, run_alone, run_calls
from armillary.verify.sandbox.outcomes import Call, JailResult, Outcome

Result = Callable[..., JailResult]
MISSING = Outcome("missing")


def calls(count: int) -> list[Call]:
    return [Call("f", (index,)) for index in range(count)]


def test_every_kind_of_outcome_is_told_apart(jail: Jail) -> None:
    source = """
import os, sys
def f(x):
    if x == 1: raise KeyError("odd\\nmore")
    if x == 2: return object()
    if x == 3:
        while True: pass
    if x == 4: os._exit(3)
    return [x]
"""
    found = run_calls(jail, source, calls(6)).observations
    assert [item.kind for item in found] == ["returned", "raised", "unencodable", "timeout", "died", "returned"]
    assert [item.text for item in found[:2]] == ["[0]", "raised KeyError: 'odd\\nmore'"]
    assert found[1].error == "KeyError"
    assert "cannot leave the sandbox" in found[2].text
    assert found[4].text == "the process ended itself"
    assert found[5].value == [5]


def test_a_program_that_does_not_load_has_no_observations(jail: Jail) -> None:
    found = run_calls(jail, "x = y", calls(2))
    assert (found.observations, found.load_error) == ((), "NameError: name 'y' is not defined")
    assert "does not load" in run_alone(jail, "x = y", Call("f", ())).text


def test_loading_alone_can_be_tried(jail: Jail) -> None:
    assert run_calls(jail, "def f(): pass", ()).load_error == ""
    assert run_calls(jail, "1 / 0", ()).load_error == "ZeroDivisionError: division by zero"


def test_flooding_the_output_is_a_death_of_its_own(jail: Jail) -> None:
    found = run_alone(jail, "def f():\n    while True: print('x' * 9999)", Call("f", ()))
    assert (found.kind, found.text) == ("died", "printed more than it may")


def test_many_calls_are_split_into_runs(scripted: Any, result: Result) -> None:
    jail = scripted(lambda source, calls, run: result([Outcome("returned", 1)] * len(calls)))
    assert len(run_calls(jail, "", calls(CALLS_PER_RUN + 5)).observations) == CALLS_PER_RUN + 5
    assert jail.runs == [CALLS_PER_RUN, 5]


def test_a_call_that_was_only_starved_by_others_gets_its_answer_alone(scripted: Any, result: Result) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        if run == 0:
            return result([Outcome("returned", 0), MISSING, MISSING], stopped_by="wall")
        return result([Outcome("returned", call.arguments[0]) for call in calls])

    jail = scripted(script)
    assert [item.value for item in run_calls(jail, "", calls(3)).observations] == [0, 1, 2]
    assert jail.runs == [3, 1, 1]


@pytest.mark.parametrize(
    ("stopped_by", "kind", "text"),
    [
        ("wall", "timeout", "no answer within the time limit"),
        ("cpu", "timeout", "no answer within the time limit"),
        ("signal", "died", "the process was killed by signal 9"),
        ("exit", "died", "the process ended itself"),
        ("output", "died", "printed more than it may"),
    ],
)
def test_a_missing_answer_tells_what_ended_the_process(
    scripted: Any, result: Result, stopped_by: str, kind: str, text: str
) -> None:
    jail = scripted(lambda source, calls, run: result([MISSING] * len(calls), stopped_by=stopped_by))
    found = run_alone(jail, "", Call("f", ()))
    assert (found.kind, found.text) == (kind, text)


def test_after_some_calls_without_answer_the_rest_is_skipped(scripted: Any, result: Result) -> None:
    jail = scripted(lambda source, calls, run: result([MISSING] * len(calls), stopped_by="wall"))
    found = run_calls(jail, "", calls(10)).observations
    assert [item.kind for item in found] == ["timeout"] * MAX_STOPS + ["skipped"] * (10 - MAX_STOPS)


def test_a_program_that_stops_loading_later_has_no_observations(scripted: Any, result: Result) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        answers = [Outcome("returned", 1)] * len(calls)
        return result(answers) if run == 0 else result([MISSING] * len(calls), load_error="E: now and then")

    assert run_calls(scripted(script), "", calls(CALLS_PER_RUN + 1)).load_error == "E: now and then"


def test_the_standard_dicts_come_out_as_the_dict_that_they_equal_and_no_other_subclass_does(jail: Jail) -> None:
    source = """
from collections import Counter, OrderedDict, defaultdict
class Own(dict): pass
class Sly(Counter): pass
def f(x):
    moved = OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    return [Counter("aab"), defaultdict(list, {1: [2]}), moved, Own(a=1), Sly("a")][x]
"""
    found = run_calls(jail, source, calls(5)).observations
    assert [item.text for item in found[:3]] == ["{'a': 2, 'b': 1}", "{1: [2]}", "{'b': 2, 'a': 1}"]
    assert [item.kind for item in found[3:]] == ["unencodable", "unencodable"]


def test_a_patched_counter_does_not_choose_what_comes_out(jail: Jail) -> None:
    source = "from collections import Counter\nCounter.items = lambda self: [('b', 1)]\ndef f(): return Counter('a')"
    assert run_alone(jail, source, Call("f", ())).text == "{'a': 1}"


def test_a_run_whose_results_fill_its_room_is_gone_on_with_in_another(scripted: Any, result: Result) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        if run < MAX_FULL_RUNS - 1:
            return result([Outcome("returned", run), MISSING, MISSING][: len(calls)], stopped_by="results")
        return result([Outcome("returned", run)] * len(calls))

    found = run_calls(scripted(script), "", calls(6)).observations
    assert [item.value for item in found] == [0, 1, 2, 3, 3, 3]


def test_after_some_such_runs_the_rest_is_too_large(scripted: Any, result: Result) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        return result([Outcome("returned", run), *[MISSING] * (len(calls) - 1)], stopped_by="results")

    found = run_calls(scripted(script), "", calls(6)).observations
    assert [item.kind for item in found] == ["returned"] * MAX_FULL_RUNS + ["unencodable"] * (6 - MAX_FULL_RUNS)
    assert found[-1] == TOO_LARGE


def test_a_single_answer_that_fills_the_room_is_a_death(scripted: Any, result: Result) -> None:
    jail = scripted(lambda source, calls, run: result([MISSING] * len(calls), stopped_by="results"))
    assert run_calls(jail, "", calls(1)).observations[0].text == "gave more than it may"
