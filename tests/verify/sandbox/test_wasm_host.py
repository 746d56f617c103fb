"""One guest after the other, each within its limits, and nothing of one is left for the next."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from armillary.verify.sandbox import wasm_host
from armillary.verify.sandbox.outcomes import Call
from armillary.verify.sandbox.wasm_calls import OutOfBoundsError
from armillary.verify.sandbox.wasm_host import GuestMemory, GuestStoppedError, Host, Watch
from armillary.verify.sandbox.wasm_wire import (
    BOOT_S,
    END,
    OUTPUT,
    READY,
    REFUSED,
    RESULT,
    Ending,
    Order,
    read_message,
    to_message,
)
from armillary.verify.sandbox.wire import job_to_bytes, make_job

ORDER = Order(
    first=0, wall_s=20.0, cpu_s=10.0, call_cpu_s=5.0, memory_bytes=256 << 20, output_bytes=1000, result_bytes=1 << 20
)
READY_TO_ANSWER = b'["jail",...]\n'


def job(source: str, *calls: Call) -> bytes:
    return job_to_bytes(make_job(source, calls, seed=0, call_cpu_s=1.0))


@pytest.fixture(scope="module")
def host(interpreter: Path, compiled_folder: Path) -> Host:
    return Host(interpreter, compiled_folder)


class Listener:
    """Keeps what a guest has written."""

    def __init__(self) -> None:
        self.output = b""
        self.lines: list[bytes] = []
        self._rest = b""

    def hear(self, kind: bytes, content: bytes) -> None:
        if kind == OUTPUT:
            self.output += content
        else:
            assert kind == RESULT
            *lines, self._rest = (self._rest + content).split(b"\n")
            self.lines += lines


def run(host: Host, source: str, *calls: Call, order: Order = ORDER) -> tuple[Ending, Listener]:
    listener = Listener()
    return host.run(order, job(source, *calls), listener.hear), listener


def test_a_guest_answers_and_prints(host: Host) -> None:
    ending, heard = run(host, "print('hi')\ndef f(x): return x + 1", Call("f", (1,)), Call("f", (2,)))
    assert (ending.reason, ending.code, heard.output) == ("exit", 0, b"hi\n")
    answers = [json.loads(line)[:4] for line in heard.lines[2:]]
    assert answers == [["call", 0, "returned", 2], ["call", 1, "returned", 3]]
    assert 0 < ending.cpu_s < ORDER.cpu_s


def test_a_guest_begins_with_the_call_that_it_is_told(host: Host) -> None:
    calls = [Call("f", (number,)) for number in range(3)]
    _, heard = run(host, "def f(x): return x", *calls, order=replace(ORDER, first=2))
    assert [json.loads(line)[:4] for line in heard.lines[2:]] == [["call", 2, "returned", 2]]


def test_nothing_of_a_guest_is_left_for_the_next(host: Host) -> None:
    source = "import math\ndef f():\n    found = hasattr(math, 'left')\n    math.left = 1\n    return found"
    for _ in range(2):
        assert b'"returned",false' in run(host, source, Call("f", ()))[1].lines[2]


def test_a_guest_that_ends_itself_gives_its_code(host: Host) -> None:
    assert run(host, "import os; os._exit(3)")[0].code == 3


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("import os; os.abort()", -6),
        # Takes values from an empty stack until it meets what is none.
        ("f = lambda: 0\nf.__code__ = f.__code__.replace(co_code=bytes([1, 0] * 5000 + [83, 0]))\nf()", -11),
    ],
)
def test_a_guest_that_breaks_its_interpreter_has_crashed(host: Host, source: str, code: int) -> None:
    ending, _ = run(host, source)
    assert (ending.reason, ending.code) == ("crash", code)


@pytest.mark.parametrize(
    ("limits", "reason"), [({"call_cpu_s": 0.1}, "call"), ({"cpu_s": 0.1}, "cpu"), ({"wall_s": 0.1}, "wall")]
)
@pytest.mark.parametrize("source", ["while True: pass", "7 ** 10 ** 8"])
def test_a_guest_that_computes_too_long_is_ended(
    host: Host, source: str, limits: dict[str, float], reason: str
) -> None:
    assert run(host, source, order=replace(ORDER, **limits))[0].reason == reason


def test_a_guest_that_sleeps_too_long_is_ended(host: Host) -> None:
    assert run(host, "import time; time.sleep(60)", order=replace(ORDER, call_cpu_s=0.05))[0].reason == "call"


def test_a_guest_that_prints_too_much_is_ended_and_its_output_cut(host: Host) -> None:
    ending, heard = run(host, "while True: print('x' * 300, flush=True)")
    assert (ending.reason, len(heard.output)) == ("output", ORDER.output_bytes)


def test_a_guest_that_reports_too_much_is_ended(host: Host) -> None:
    order = replace(ORDER, result_bytes=300)
    assert run(host, "import os\nwhile True: os.write(2, b'x' * 100)", order=order)[0].reason == "output"


def test_a_guest_gets_no_more_memory_than_it_may(host: Host) -> None:
    eater = "block = bytearray(200 << 20)"
    assert b'["load",""]' in run(host, eater)[1].lines
    assert b'["load","MemoryError:"]' in run(host, eater, order=replace(ORDER, memory_bytes=100 << 20))[1].lines


def test_no_address_outside_of_a_guests_memory_is_touched() -> None:
    wasmtime = pytest.importorskip("wasmtime", reason="tier C comes with the extra `wasm`")
    text = '(module (import "h" "f" (func $f)) (memory (export "memory") 1) (func (export "go") call $f))'
    found: list[object] = []

    def look(caller: Any) -> None:
        memory = GuestMemory(caller)
        memory.write(65_530, b"by six")
        found.append(memory.read(65_530, 6))
        for address, num_bytes in ((65_531, 6), (1 << 31, 1), (0, 65_537), (-1, 1), (1, -1)):
            with pytest.raises(OutOfBoundsError):
                memory.read(address, num_bytes)
            found.append(address)

    store = wasmtime.Store()
    linker = wasmtime.Linker(store.engine)
    linker.define_func("h", "f", wasmtime.FuncType([], []), look, access_caller=True)
    linker.instantiate(store, wasmtime.Module(store.engine, text)).exports(store)["go"](store)
    assert found == [b"by six", 65_531, 1 << 31, 0, -1, 1]


class Clock:
    """Wall clock and processor time, set by hand."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 100.0

    def read(self) -> tuple[float, float]:
        return self.wall_s, self.cpu_s

    def go(self, wall_s: float, cpu_s: float = 0.0) -> None:
        self.wall_s += wall_s
        self.cpu_s += cpu_s


LIMITS = Order(first=0, wall_s=10.0, cpu_s=6.0, call_cpu_s=2.0, memory_bytes=1, output_bytes=10, result_bytes=10)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> Watch:
    """Of a guest that has just been started."""
    return Watch(LIMITS, clock.read)


@pytest.fixture
def booted(watch: Watch) -> Watch:
    watch.see_lines(READY_TO_ANSWER)
    return watch


def test_the_start_of_the_interpreter_is_on_nobody_but_bounded(watch: Watch, clock: Clock) -> None:
    clock.go(BOOT_S - 1, BOOT_S - 1)
    assert (watch.look(), watch.cpu_s) == ("", 0.0)
    clock.go(2)
    assert watch.look() == "boot"


@pytest.mark.parametrize(
    ("wall_s", "cpu_s", "reason"),
    [(5.9, 1.9, ""), (6.1, 0.0, "call"), (2.1, 2.1, "call"), (6.5, 6.1, "cpu"), (10.1, 10.1, "wall")],
)
def test_a_guest_has_had_too_much_of(booted: Watch, clock: Clock, wall_s: float, cpu_s: float, reason: str) -> None:
    clock.go(wall_s, cpu_s)
    assert (booted.look(), booted.cpu_s) == (reason, pytest.approx(cpu_s))


def test_each_line_begins_a_call_but_half_a_line_does_not(booted: Watch, clock: Clock) -> None:
    clock.go(1.5, 1.5)
    booted.see_lines(b'["load",""]\n')
    clock.go(1.5, 1.5)
    assert booted.look() == ""
    booted.see_lines(b"[")
    clock.go(0.6, 0.6)
    assert booted.look() == "call"


def test_lines_do_not_lengthen_the_whole(booted: Watch, clock: Clock) -> None:
    for _ in range(7):
        clock.go(1.0, 1.0)
        booted.see_lines(b"\n")
    assert booted.look() == "cpu"


def test_the_first_reason_stays_and_ends_whoever_calls(booted: Watch, clock: Clock) -> None:
    booted.check()
    assert [booted.take(OUTPUT, b"x" * 8), booted.take(OUTPUT, b"y" * 8)] == [b"x" * 8, b"yy"]
    clock.go(60)
    assert booted.look() == "output"
    with pytest.raises(GuestStoppedError):
        booted.check()


def test_orders_are_carried_out_in_turn_and_refused_when_they_cannot_be(host: Host) -> None:
    told: list[tuple[bytes, bytes]] = []
    inbox: SimpleQueue[tuple[bytes, bytes]] = SimpleQueue()
    for order in (replace(ORDER, memory_bytes=1 << 20), ORDER):
        inbox.put((order.to_bytes(), job("")))

    def tell(kind: bytes, content: bytes) -> None:
        told.append((kind, content))
        if kind == END:
            raise BrokenPipeError

    wasm_host.serve(host, inbox, tell)
    assert [kind for kind, _ in told if kind != RESULT] == [READY, REFUSED, END]
    assert b"memory" in told[1][1]


def test_the_process_reads_orders_writes_messages_and_fails_aloud(
    interpreter: Path, compiled_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = (ORDER.to_bytes(), job("print('hi')"), b"no order", b"")
    stdin, stdout = io.BytesIO(b"".join(map(to_message, messages))), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stdout))
    codes: list[int] = []
    with pytest.raises(json.JSONDecodeError):
        wasm_host.main(str(interpreter), str(compiled_folder), codes.append)
    stdout.seek(0)
    told = []
    while (message := read_message(stdout)) is not None:
        told.append(message)
    assert [message[:1] for message in told if message[:1] != RESULT] == [READY, OUTPUT, END]
    assert b"ohi\n" in told
    assert sorted(codes) == [0, 70]
    assert "JSONDecodeError" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"\0\0", b"\0\0\0\5half"])
def test_half_a_message_is_the_end(content: bytes) -> None:
    assert read_message(io.BytesIO(content)) is None
