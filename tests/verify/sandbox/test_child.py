"""The harness, run in this process: what it does in the jail is the same code."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary.verify.sandbox.child import MODULE_NAME, Harness, ResultChannel, builtin_bases, describe, serve
from armillary.verify.sandbox.outcomes import Call
from armillary.verify.sandbox.sizes import TOO_LARGE
from armillary.verify.sandbox.wire import make_job


@pytest.fixture(autouse=True)
def untouched_process() -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGPROF)}
    state = random.getstate()
    yield
    random.setstate(state)
    sys.modules.pop(MODULE_NAME, None)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def harness(source: str, *calls: Call, call_cpu_s: float = 5.0) -> Harness:
    return Harness(make_job(source, calls, seed=0, call_cpu_s=call_cpu_s))


def first_answer(source: str, *arguments: Any, call_cpu_s: float = 5.0) -> list[Any]:
    made = harness(source, Call("f", arguments), call_cpu_s=call_cpu_s)
    assert made.load() == ""
    fields: list[Any] = json.loads(made.answer(0).line)
    return fields[2:]


def test_a_value_is_reported_in_its_tagged_form() -> None:
    assert first_answer("def f(x):\n    return (x, 1)", {2}) == ["returned", {"tuple": [{"set": [2]}, 1]}, "", ""]


def test_an_exception_is_reported_by_name_and_text() -> None:
    assert first_answer("def f():\n    raise KeyboardInterrupt('x')") == [
        "raised", ["BaseException", "KeyboardInterrupt"], "KeyboardInterrupt", "x",
    ]  # fmt: skip


def test_a_value_without_a_form_is_reported_as_such() -> None:
    kind, value, name, _ = first_answer("def f():\n    return object()")
    assert (kind, value, name) == ("unencodable", None, "IncomparableValueError")


@pytest.mark.parametrize(
    "value", ["[[] for _ in range(190_000)]", "'x' * (2 << 20)", "[{} for _ in range(15_000)]", "'\\x01' * 100_000"]
)
def test_a_value_that_is_too_large_to_be_judged_is_reported_as_such(value: str) -> None:
    kind, tagged, _, message = first_answer(f"V = {value}\ndef f():\n    return V")
    assert (kind, tagged, message) == ("unencodable", None, TOO_LARGE)


@pytest.mark.parametrize("body", ["while True: pass", "import time; time.sleep(60)"])
def test_a_call_over_its_time_is_interrupted(body: str) -> None:
    assert first_answer(f"def f():\n    {body}", call_cpu_s=0.05) == ["timeout", None, "", ""]


def test_a_function_that_is_not_there_is_a_name_error() -> None:
    assert first_answer("g = 1")[2:] == ["NameError", "name 'f' is not defined"]


def test_time_spent_on_a_text_of_an_exception_counts() -> None:
    source = "class E(Exception):\n    def __str__(self):\n        while True: pass\ndef f():\n    raise E"
    assert first_answer(source, call_cpu_s=0.05)[0] == "timeout"


def test_a_swallowed_interruption_still_counts() -> None:
    source = "def f():\n    try:\n        while True: pass\n    except BaseException:\n        return 1"
    assert first_answer(source, call_cpu_s=0.05)[0] == "timeout"


def test_loading_over_its_time_is_an_error() -> None:
    assert harness("while True: pass", call_cpu_s=0.05).load() == "TimeLimit: loading took too long"


def test_an_error_while_loading_is_one_line() -> None:
    assert harness("raise ValueError('a\\n  b')").load() == "ValueError: a b"


def test_a_text_that_cannot_be_made_is_replaced() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe(Odd()) == ("Odd", "(its message cannot be printed)")


def test_a_long_text_is_cut() -> None:
    assert len(describe(ValueError("x" * 1000))[1]) == 300


def test_serving_reports_the_load_and_every_call_on_a_line() -> None:
    reader, writer = os.pipe()
    job = make_job("def f(x):\n    return x", [Call("f", (1,)), Call("f", (2,))], seed=0, call_cpu_s=5.0)
    serve(job, ResultChannel(writer), io.StringIO())
    os.close(writer)
    with open(reader, encoding="ascii") as file:
        lines = [json.loads(line) for line in file]
    assert [line[:2] for line in lines] == [["load", ""], ["call", 0], ["call", 1]]


def test_serving_ends_early_when_the_results_have_taken_their_room(tmp_path: Path) -> None:
    job = make_job("def f():\n    return ['x' * 450_000]", [Call("f", ())] * 20, seed=0, call_cpu_s=5.0)
    file = tmp_path / "lines"
    with file.open("wb") as opened:
        serve(job, ResultChannel(opened.fileno()), io.StringIO())
    assert len(file.read_text().splitlines()) == 1 + 9


def test_serving_a_program_that_does_not_load_makes_no_call() -> None:
    reader, writer = os.pipe()
    closed = io.TextIOWrapper(io.BytesIO())  # as the real one: a closed StringIO would not mind
    closed.close()
    serve(make_job("1 / 0", [Call("f", ())], seed=0, call_cpu_s=5.0), ResultChannel(writer), closed)
    os.close(writer)
    with open(reader, encoding="ascii") as file:
        assert [json.loads(line) for line in file] == [["load", "ZeroDivisionError: division by zero"]]


def test_an_exception_is_an_instance_of_its_real_built_in_classes_only() -> None:
    class Liar(type):
        def __instancecheck__(cls, instance: object) -> bool:
            raise KeyError

        def __eq__(cls, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]  # a hostile class may not be hashed

    fake = Liar("ValueError", (Exception,), {})
    assert builtin_bases(fake()) == ("BaseException", "Exception")
    assert set(builtin_bases(OSError())) == {"BaseException", "Exception", "OSError"}
