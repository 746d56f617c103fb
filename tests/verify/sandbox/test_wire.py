from __future__ import annotations

import json
import math
from typing import Any

import pytest

from armillary.core.errors import ValueCodecError
from armillary.core.values import encode
from armillary.verify.sandbox import wire
from armillary.verify.sandbox.outcomes import Call, Layer, Outcome
from armillary.verify.sandbox.sizes import MAX_LINE_BYTES, MAX_VALUE_MEMORY_BYTES

LAYERS = (Layer("landlock", True, "ABI 7"), Layer("seccomp", True, ""))
VALUES: list[Any] = [
    None, True, 0, -(2**52), 2**60, -(2**60), 1.5, -0.0, math.inf, "é\ud800", b"\x00\xff", 1 + 2j, complex(0.0, -0.0),
    [], [[1]], (), (1, [2]), {1, "a", (2, 3)}, frozenset({frozenset({1}), b"x"}), {1: [2], (1,): {2: {}}},
    {(1, frozenset({2.5, None})): 1},
]  # fmt: skip


def lines(*outcomes: str) -> bytes:
    return "".join(f"{line}\n" for line in (wire.layers_line(LAYERS), wire.load_line(""), *outcomes)).encode()


def returned(value_text: str) -> bytes:
    """A line with a value exactly as some program might have forged it."""
    return lines(f'["call",0,"returned",{value_text},"",""]')


def test_a_job_survives_the_way_into_the_jail() -> None:
    job = wire.make_job("x = 'é\ud800'", [Call("f", (1, (2, {3})))], seed=4, call_cpu_s=0.5)
    assert wire.job_from_bytes(wire.job_to_bytes(job)) == job


def test_an_argument_that_cannot_be_carried_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValueCodecError):
        wire.make_job("", [Call("f", (object(),))], seed=0, call_cpu_s=1.0)


def test_a_whole_report_is_read_as_it_was_written() -> None:
    outcomes = (
        Outcome("returned", encode((1, 2))),
        Outcome("raised", None, "E", "why", ("OSError",)),
        Outcome("timeout"),
    )
    report = wire.read_report(lines(*[wire.outcome_line(index, item) for index, item in enumerate(outcomes)]), 3)
    assert report == wire.Report(LAYERS, "", outcomes, is_forged=False)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_value_that_can_be_written_is_accepted(value: Any) -> None:
    line = wire.outcome_line(0, Outcome("returned", encode(value)))
    report = wire.read_report(lines(line), 1)
    assert not report.is_forged
    assert report.outcomes[0].value == encode(value)


@pytest.mark.parametrize(
    "text",
    [
        "NaN", "Infinity", "-0.0", "1e400", str(2**54), "9" * 5000, "{}", '{"tuple":[],"set":[]}', '{"odd":1}',
        '{"tuple":{"a":1}}', '{"tuple":3}', '{"set":[[1]]}', '{"set":[{"set":[]}]}', '{"set":[{"dict":[]}]}',
        '{"frozenset":[{"tuple":[[1]]}]}', '{"dict":{}}', '{"dict":[[1]]}', '{"dict":[[[1],2]]}', '{"dict":[1]}',
        '{"int":"0x1"}', '{"int":"12345678901234567890"}', '{"int":"0x"}', '{"int":5}',
        '{"int":"0x0fffffffffffffffff"}',
        '{"int":"0x' + "f" * 20_000 + '"}', '{"float":"1.0"}', '{"float":1}', '{"float":["nan"]}', '{"bytes":"0"}',
        '{"bytes":"zz"}', '{"bytes":1}', '{"complex":[1,2]}', '{"complex":[1.0]}', '{"complex":["1",1.0]}',
        '{"complex":[{"int":"0x1"},1.0]}', '{"complex":[{"float":"2"},1.0]}', "[" * 66 + "]" * 66, "[" * 30_000,
        "[" + "1," * (MAX_VALUE_MEMORY_BYTES // 48) + "1]",
    ],
    ids=range(39),
)  # fmt: skip
def test_a_value_that_the_codec_never_writes_is_a_forgery(text: str) -> None:
    assert wire.read_report(returned(text), 1) == wire.Report(LAYERS, "", (Outcome("missing"),), is_forged=True)


@pytest.mark.parametrize(
    "line",
    [
        "", "null", "[]", "{}", '["call"]', '["load",""]', '["call",1,"raised",[],"E",""]',
        '["call",true,"raised",[],"E",""]', '["call",0.0,"raised",[],"E",""]', '["call",0,"missing",null,"",""]',
        '["call",0,"raised",1,"E",""]', '["call",0,"raised",null,"E",""]', '["call",0,"raised",["Odd"],"E",""]',
        '["call",0,"raised",[["OSError"]],"E",""]', '["call",0,"timeout",[],"",""]',
        '["call",0,"raised",[],1,""]', '["call",0,"raised",[],"E",1]',
        json.dumps(["call", 0, "raised", [], "E" * 101, ""]), json.dumps(["call", 0, "raised", [], "E", "m" * 301]),
        '["call",0,["raised"],[],"E",""]', "é",
        json.dumps(["call", 0, "returned", "x" * MAX_LINE_BYTES, "", ""]),
    ],
    ids=range(22),
)  # fmt: skip
def test_a_malformed_line_costs_every_outcome(line: str) -> None:
    report = wire.read_report(lines(line), 1)
    assert (report.outcomes, report.is_forged) == ((Outcome("missing"),), True)


@pytest.mark.parametrize(
    "first",
    [
        '["jail"]',
        '["fail",["a",true,""]]',
        '["jail",1]',
        '["jail",["a",true]]',
        '["jail",["a",1,""]]',
        '["jail",[1,true,""]]',
    ],
)
def test_a_malformed_first_line_tells_of_no_layers(first: str) -> None:
    report = wire.read_report(f"{first}\n".encode(), 1)
    assert (report.layers, report.is_forged) == ((), True)


@pytest.mark.parametrize("second", ['["load"]', '["load",1]', '["load","a\\nb"]', json.dumps(["load", "x" * 500])])
def test_a_malformed_second_line_says_nothing_about_loading(second: str) -> None:
    report = wire.read_report(f"{wire.layers_line(LAYERS)}\n{second}\n".encode(), 1)
    assert (report.load_error, report.is_forged) == (None, True)


def test_a_line_too_many_costs_every_outcome() -> None:
    first, second = (wire.outcome_line(index, Outcome("returned", 1)) for index in (0, 1))
    assert wire.read_report(lines(first, second), 1).outcomes == (Outcome("missing"),)


def test_a_line_that_was_cut_off_is_ignored() -> None:
    whole = lines(wire.outcome_line(0, Outcome("returned", 1)))
    report = wire.read_report(whole + b'["call",1,"ret', 2)
    assert report.outcomes == (Outcome("returned", 1), Outcome("missing"))
    assert not report.is_forged


def test_a_child_that_died_at_once_reports_nothing() -> None:
    assert wire.read_report(b"", 1) == wire.Report((), None, (Outcome("missing"),), is_forged=False)


def test_a_line_longer_than_the_limit_cannot_be_written() -> None:
    with pytest.raises(ValueCodecError, match="too large to be judged"):
        wire.outcome_line(0, Outcome("returned", "x" * MAX_LINE_BYTES))


def test_a_run_that_returned_more_than_it_may_is_a_forgery() -> None:
    value = ["x" * 450_000]
    answers = [wire.outcome_line(index, Outcome("returned", encode(value))) for index in range(10)]
    honest, forged = wire.read_report(lines(*answers[:9]), 10), wire.read_report(lines(*answers), 10)
    assert [item.kind for item in honest.outcomes] == ["returned"] * 9 + ["missing"]
    assert (honest.is_full, honest.is_forged) == (True, False)
    assert (forged.outcomes, forged.is_forged) == ((Outcome("missing"),) * 10, True)
