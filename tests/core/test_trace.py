from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.core.errors import NotFoundError, TraceError
from armillary.core.trace import GENESIS, Trace, TraceEvent, event_hash, event_to_json, read_trace
from armillary.core.values import dumps


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A trace of four events."""
    path = tmp_path / "runs" / "one.jsonl"
    with Trace(path) as trace:
        trace.append("header", {"version": 1})
        trace.append("task", {"text": "ümlaut\nand a break", "nested": [1, {"deep": None}]})
        trace.append("attempt", {"tokens": 12})
        trace.append("answer", {})
    return path


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(dumps(line) + "\n" for line in lines))


def _rehashed(line: dict[str, Any]) -> dict[str, Any]:
    """The line with a hash that fits its fields, as a forger would write it."""
    fields = {name: line[name] for name in ("seq", "time", "kind", "body", "previous")}
    return line | {"hash": event_hash(*fields.values())}


def test_what_was_written_is_read_back(path: Path) -> None:
    events = list(read_trace(path))
    assert [event.kind for event in events] == ["header", "task", "attempt", "answer"]
    assert events[1].body == {"text": "ümlaut\nand a break", "nested": [1, {"deep": None}]}


def test_each_event_names_the_hash_of_the_one_before(path: Path) -> None:
    events = list(read_trace(path))
    assert events[0].previous == GENESIS
    assert [event.previous for event in events[1:]] == [event.hash for event in events[:-1]]
    assert [event.seq for event in events] == [0, 1, 2, 3]


def test_a_trace_without_a_path_stays_in_memory() -> None:
    with Trace() as trace:
        event = trace.append("header", {"a": 1})
        assert trace.events == [event]


def test_a_trace_keeps_what_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    with Trace(path) as trace:
        trace.append("header", {})
        assert list(read_trace(path)) == trace.events


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)))
def test_any_json_body_reads_back(tmp_path_factory: pytest.TempPathFactory, body: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("trace") / "one.jsonl"
    with Trace(path) as trace:
        written = trace.append("task", body)
    assert list(read_trace(path)) == [written]


def test_listeners_hear_each_event_in_order_after_it_was_written(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    path = tmp_path / "one.jsonl"

    def listener(name: str) -> Any:
        return lambda event: heard.append((name, event.seq, len(path.read_text().splitlines())))

    with Trace(path, (listener("first"), listener("second"))) as trace:
        trace.append("header", {})
        trace.append("answer", {})
    assert heard == [("first", 0, 1), ("second", 0, 1), ("first", 1, 2), ("second", 1, 2)]


def test_a_listener_that_fails_loses_no_event(tmp_path: Path) -> None:
    def fail(_event: TraceEvent) -> None:
        raise RuntimeError("view is gone")

    path = tmp_path / "one.jsonl"
    with Trace(path, (fail,)) as trace, pytest.raises(RuntimeError, match="view is gone"):
        trace.append("header", {})
    assert len(list(read_trace(path))) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seq", 7),
        ("time", 0.0),
        ("kind", "answer"),
        ("body", {"text": "another"}),
        ("previous", GENESIS),
        ("hash", "f" * 64),
    ],
)
def test_a_changed_field_is_found_at_its_line(path: Path, field: str, value: Any) -> None:
    lines = _lines(path)
    lines[1][field] = value
    _write(path, lines)
    with pytest.raises(TraceError, match=rf"{path.name}:2: "):
        list(read_trace(path))


def test_a_changed_line_with_a_fitting_hash_is_found_at_the_next(path: Path) -> None:
    lines = _lines(path)
    lines[1] = _rehashed(lines[1] | {"body": {"text": "another"}})
    _write(path, lines)
    with pytest.raises(TraceError, match=r":3: the chain is broken"):
        list(read_trace(path))


@pytest.mark.parametrize(
    ("order", "at"),
    [([1, 2, 3], 1), ([0, 2, 3], 2), ([0, 2, 1, 3], 2), ([0, 1, 1, 2, 3], 3), ([3, 2, 1, 0], 1)],
    ids=["first cut", "middle cut", "swapped", "doubled", "reversed"],
)
def test_missing_added_and_moved_lines_break_the_chain(path: Path, order: list[int], at: int) -> None:
    lines = _lines(path)
    _write(path, [lines[index] for index in order])
    with pytest.raises(TraceError, match=rf":{at}: the chain is broken: a line is missing, added or moved$"):
        list(read_trace(path))


@pytest.mark.parametrize("keep", [1, 40, 200])
def test_a_last_line_that_was_cut_is_named_with_its_likely_cause(path: Path, keep: int) -> None:
    text = path.read_text()
    last = text.rstrip("\n").rindex("\n") + 1
    path.write_text(text[: last + keep])
    events = read_trace(path)
    assert [next(events).seq for _ in range(3)] == [0, 1, 2]
    with pytest.raises(TraceError, match=r"one.jsonl:4: not a trace event: .*\(the file may have been cut short\)$"):
        next(events)


def test_a_last_line_that_lacks_only_its_break_is_whole(path: Path) -> None:
    path.write_text(path.read_text().rstrip("\n"))
    assert len(list(read_trace(path))) == 4


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "[]",
        '"text"',
        "{}",
        "[" * 100_000,
        "9" * 5_000,
        '{"seq":0}',
        "not json",
    ],
    ids=["empty", "null", "list", "text", "no fields", "deep", "long number", "one field", "no json"],
)
def test_a_line_that_is_no_event_is_refused(path: Path, line: str) -> None:
    path.write_text(line + "\n")
    with pytest.raises(TraceError, match=r"one.jsonl:1: not a trace event"):
        list(read_trace(path))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seq", False),
        ("seq", 0.0),
        ("time", "now"),
        ("time", None),
        ("kind", 5),
        ("body", []),
        ("body", None),
        ("previous", 0),
        ("hash", None),
    ],
)
def test_a_field_of_the_wrong_type_is_refused_even_with_a_fitting_hash(path: Path, field: str, value: Any) -> None:
    line = _lines(path)[0] | {field: value}
    _write(path, [line if field == "hash" else _rehashed(line)])
    with pytest.raises(TraceError, match=rf":1: not a trace event: {field} has the wrong type$"):
        list(read_trace(path))


def test_a_field_that_does_not_belong_is_refused(path: Path) -> None:
    _write(path, [_lines(path)[0] | {"comment": "hello"}])
    with pytest.raises(TraceError, match=r":1: not a trace event"):
        list(read_trace(path))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_json_cannot_hold_is_refused(path: Path, number: str) -> None:
    path.write_text(path.read_text().replace('"version":1', f'"version":{number}'))
    with pytest.raises(TraceError, match=r":1: not a trace event: ValueError"):
        list(read_trace(path))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"body"', '{ "body"'),
        ('"body":{"version":1}', '"body":{"version":2},"body":{"version":1}'),
        ('"version"', '"\\u0076ersion"'),
        ('{"version":1}', '{"version":1} '),
    ],
    ids=["space", "double key", "escape", "space after"],
)
def test_another_spelling_of_the_same_event_is_refused(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(TraceError, match=r":1: the line says the same in another spelling than was written$"):
        list(read_trace(path))


def test_bytes_that_are_no_text_are_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n")
    with pytest.raises(TraceError, match="not UTF-8 text"):
        list(read_trace(path))


def test_a_missing_trace_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no trace at .*gone"):
        list(read_trace(tmp_path / "gone"))


def test_a_second_writer_is_refused_and_the_first_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    with Trace(path) as trace:
        trace.append("header", {})
        with pytest.raises(
            TraceError, match=r"one.jsonl exists already \(a trace never overwrites; name another file\)$"
        ):
            Trace(path)
        trace.append("answer", {})
    assert list(read_trace(path)) == trace.events


def test_of_writers_that_begin_at_once_one_gets_the_file(tmp_path: Path) -> None:
    path, barrier = tmp_path / "one.jsonl", threading.Barrier(8)
    opened: list[Trace] = []

    def begin() -> None:
        barrier.wait()
        with contextlib.suppress(TraceError):
            opened.append(Trace(path))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (trace,) = opened
    trace.close()


def test_an_event_is_refused_after_the_end(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "one.jsonl")
    trace.append("header", {})
    trace.close()
    trace.close()
    with pytest.raises(TraceError, match="is closed, the answer event came too late"):
        trace.append("answer", {})
    assert len(trace.events) == 1


def test_a_body_that_is_no_json_leaves_the_trace_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    with Trace(path) as trace:
        trace.append("header", {})
        with pytest.raises(ValueError, match="not JSON compliant"):
            trace.append("attempt", {"logprob": -math.inf})
        trace.append("answer", {})
    assert [event.kind for event in read_trace(path)] == ["header", "answer"]


def test_a_file_that_cannot_grow_is_one_clear_error_and_ends_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Trace(path) as trace:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
            with pytest.raises(TraceError, match=r"^cannot write the trace .*one.jsonl: File too large$"):
                trace.append("header", {})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        with pytest.raises(TraceError, match="is closed"):
            trace.append("header", {})
        assert trace.events == []


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match=r"^cannot write the trace .*/file/one.jsonl: "):
        Trace(tmp_path / "file" / "one.jsonl")
    with pytest.raises(TraceError, match=r"exists already"):
        Trace(tmp_path)


def test_the_hash_covers_the_canonical_line_of_the_other_fields(path: Path) -> None:
    event = next(read_trace(path))
    fields = event_to_json(event)
    assert fields.pop("hash") == event_hash(*(fields[name] for name in ("seq", "time", "kind", "body", "previous")))  # type: ignore[arg-type]  # fields of one event


WRITER = """
import sys
from pathlib import Path
from armillary.core.trace import Trace

trace = Trace(Path(sys.argv[1]))
for number in range(1_000_000):
    trace.append("attempt", {"number": number, "text": "x" * 300})
    print(number, flush=True)
"""


def test_a_killed_writer_loses_no_event_that_it_had_appended(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) == 50:
                os.kill(writer.pid, signal.SIGKILL)
                break
        appended = max([50, *map(int, writer.stdout)])
    assert writer.returncode == -signal.SIGKILL
    numbers: list[Any] = []
    with contextlib.suppress(TraceError):  # the line that was being written may be cut
        numbers.extend(event.body["number"] for event in read_trace(path))
    assert numbers[: appended + 1] == list(range(appended + 1))


def test_the_disk_itself_has_all_events_before_the_file_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.jsonl"
    synced: list[tuple[os.stat_result, int]] = []

    def note(descriptor: int) -> None:
        synced.append((os.fstat(descriptor), len(path.read_text().splitlines())))

    monkeypatch.setattr(os, "fsync", note)
    with Trace(path) as trace:
        trace.append("header", {})
        trace.append("answer", {})
        assert synced == []
    trace.close()
    ((status, num_lines),) = synced
    assert os.path.samestat(status, path.stat())
    assert num_lines == 2


def test_a_disk_that_does_not_take_it_at_the_end_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / "one.jsonl"
    monkeypatch.setattr(os, "fsync", fail)
    trace = Trace(path)
    trace.append("header", {})
    with pytest.raises(TraceError, match=r"^cannot write the trace .*one.jsonl: Input/output error$"):
        trace.close()
    trace.close()
    assert list(read_trace(path)) == trace.events
