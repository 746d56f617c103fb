"""Run guests of tier C one after the other, in a process of its own that is made for nothing else. Knows no verdict.

The process has an empty environment and holds no secret, so that an error in the engine would not hand one over. It
takes orders on its standard input, tells what its guest writes as it is written, and ends when its input does.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from armillary.verify.sandbox.wasm_calls import RESULT_FD, GuestExitError, GuestWorld, OutOfBoundsError
from armillary.verify.sandbox.wasm_harness import BOOT, COMPILE, guest_input, sources
from armillary.verify.sandbox.wasm_module import load_module, open_engine, read_interpreter
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

if TYPE_CHECKING:
    from wasmtime import Caller, Linker, Memory, Module, Store, Trap

WALL_PER_CPU: Final = 3.0

_WASI: Final = "wasi_snapshot_preview1"
_TICK_S: Final = 0.01
_OUR_LIMITS: Final[dict[str, float]] = {"wall_s": BOOT_S, "cpu_s": BOOT_S, "call_cpu_s": BOOT_S}
_FAILED: Final = 70
_SIGSEGV, _SIGABRT = 11, 6


class GuestStoppedError(Exception):
    """Ends a guest from within a function that it has called."""


def read_clocks() -> tuple[float, float]:
    """Wall clock and processor time of this process, in seconds."""
    return time.monotonic(), time.process_time()


class Watch:
    """Counts what one guest spends and says when it is too much.

    Args:
        order: its limits.
        clock: gives wall clock and processor time of this process, in seconds.
    """

    def __init__(self, order: Order, clock: Callable[[], tuple[float, float]] = read_clocks) -> None:
        self._order = order
        self._clock = clock
        self._room = {RESULT: order.result_bytes, OUTPUT: order.output_bytes}
        self._is_booted = False
        self._start_call()
        self._start = self._call
        self.reason = ""

    @property
    def cpu_s(self) -> float:
        """Processor time since the guest's first line."""
        return self._clock()[1] - self._start[1] if self._is_booted else 0.0

    def see_lines(self, content: bytes) -> None:
        """A guest has written on the channel of results; a whole line begins the next call."""
        if b"\n" not in content:
            return
        self._start_call()
        if not self._is_booted:
            self._is_booted, self._start = True, self._call

    def take(self, kind: bytes, content: bytes) -> bytes:
        """The part of what a guest writes that there is room for."""
        part = content[: self._room[kind]]
        self._room[kind] -= len(part)
        if len(part) < len(content):
            self.reason = "output"
        return part

    def look(self) -> str:
        """What the guest has had too much of, or nothing; once said it stays."""
        self.reason = self.reason or self._excess()
        return self.reason

    def check(self) -> None:
        """End the guest that is calling if it has had too much of anything.

        Raises:
            GuestStoppedError: it has.
        """
        if self.look():
            raise GuestStoppedError

    def _start_call(self) -> None:
        self._call = self._clock()

    def _excess(self) -> str:
        order, (now, cpu) = self._order, self._clock()
        if not self._is_booted:
            return "boot" if now - self._start[0] > BOOT_S else ""
        if now - self._start[0] > order.wall_s:
            return "wall"
        if cpu - self._start[1] > order.cpu_s:
            return "cpu"
        is_late = now - self._call[0] > WALL_PER_CPU * order.call_cpu_s
        return "call" if is_late or cpu - self._call[1] > order.call_cpu_s else ""


class GuestMemory:
    """The memory of the guest that is calling, with every address checked."""

    def __init__(self, caller: Caller) -> None:
        memory: Memory = caller["memory"]  # type: ignore[assignment]  # what the interpreter's module names so
        self._num_bytes = memory.data_len(caller)
        self._base = ctypes.addressof(memory.data_ptr(caller).contents)

    def read(self, address: int, num_bytes: int) -> bytes:
        """A copy of a part."""
        return ctypes.string_at(self._base + self._checked(address, num_bytes), num_bytes)

    def write(self, address: int, content: bytes) -> None:
        """Change a part."""
        ctypes.memmove(self._base + self._checked(address, len(content)), content, len(content))

    def _checked(self, address: int, num_bytes: int) -> int:
        if min(address, num_bytes) < 0 or address + num_bytes > self._num_bytes:
            raise OutOfBoundsError
        return address


class Host:
    """The compiled interpreter, ready for one guest after the other.

    Args:
        interpreter: its file.
        folder: where its machine code is kept.

    Raises:
        SandboxError: it is another interpreter.
    """

    def __init__(self, interpreter: Path, folder: Path) -> None:
        self._engine = open_engine()
        self._module: Module = load_module(self._engine, read_interpreter(interpreter), folder)
        self._world: GuestWorld | None = None
        self._linker = self._link()
        self._harness = self._compile_harness()

    def run(self, order: Order, job: bytes, tell: Callable[[bytes, bytes], None]) -> Ending:
        """Have one job done by a guest of its own, which is gone afterwards.

        Args:
            order: its limits.
            job: of :mod:`armillary.verify.sandbox.wire`.
            tell: given what the guest writes, as it is written: ``OUTPUT`` or ``RESULT``, and the bytes.
        """
        return self._run(order, BOOT, guest_input(self._harness, order.first, job), tell)

    def _compile_harness(self) -> bytes:
        """Our own modules, compiled by the interpreter that will run them."""
        found: list[bytes] = []
        order = Order(0, **_OUR_LIMITS, memory_bytes=512 << 20, output_bytes=1 << 16, result_bytes=1 << 24)
        ending = self._run(order, COMPILE, json.dumps(sources()).encode(), lambda _, content: found.append(content))
        assert (ending.reason, ending.code) == ("exit", 0), found
        return b"".join(found)

    def _run(self, order: Order, program: str, text: bytes, tell: Callable[[bytes, bytes], None]) -> Ending:
        from wasmtime import Store

        watch = Watch(order)

        def write(fd: int, content: bytes) -> None:
            kind = RESULT if fd == RESULT_FD else OUTPUT
            tell(kind, watch.take(kind, content))
            if kind == RESULT:
                watch.see_lines(content)
            watch.check()

        arguments = ("python", "-S", "-s", "-P", "-B", "-X", "utf8", "-c", program)
        self._world = GuestWorld(arguments, text, write, watch.check)
        is_over = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(watch, is_over), daemon=True)
        store = Store(self._engine)
        store.set_limits(memory_size=order.memory_bytes, instances=1, memories=1, tables=1)
        store.set_epoch_deadline(1)
        ticker.start()
        try:
            reason, code = self._let_run(store, watch)
        finally:
            is_over.set()
            ticker.join()
            store.close()
            self._world = None
        return Ending(reason, code, watch.cpu_s)

    def _let_run(self, store: Store, watch: Watch) -> tuple[str, int]:
        from wasmtime import Trap

        try:
            instance = self._linker.instantiate(store, self._module)
            start: Any = instance.exports(store)["_start"]
            start(store)
        except GuestExitError as exit_:
            return "exit", exit_.code
        except GuestStoppedError:
            return watch.reason, 0
        except Trap as trap:
            return (watch.reason, 0) if watch.reason else ("crash", -_signal_of(trap))
        return "exit", 0

    def _tick(self, watch: Watch, is_over: threading.Event) -> None:
        while not is_over.wait(_TICK_S):
            if watch.look():
                self._engine.increment_epoch()

    def _link(self) -> Linker:
        from wasmtime import FuncType, Linker

        linker = Linker(self._engine)
        for item in self._module.imports:
            assert item.name is not None
            assert isinstance(item.type, FuncType)
            linker.define_func(_WASI, item.name, item.type, self._answer(item.name), access_caller=True)
        return linker

    def _answer(self, name: str) -> Callable[..., int | None]:
        def answer(caller: Caller, *arguments: int) -> int | None:
            assert self._world is not None
            return self._world.call(name, GuestMemory(caller), arguments)

        return answer


def _signal_of(trap: Trap) -> int:
    """The signal that would have ended a process that does such a thing."""
    return _SIGABRT if "unreachable" in trap.message else _SIGSEGV


def serve(host: Host, inbox: SimpleQueue[tuple[bytes, bytes]], tell: Callable[[bytes, bytes], None]) -> None:
    """Carry out orders until there is no more to be told."""
    from wasmtime import WasmtimeError

    with suppress(BrokenPipeError):
        tell(READY, b"")
        while True:
            order, job = inbox.get()
            try:
                ending = host.run(Order(**json.loads(order)), job, tell)
            except WasmtimeError as error:
                tell(REFUSED, str(error).partition("\n")[0].encode())
            else:
                tell(END, json.dumps(asdict(ending)).encode())


def main(interpreter: str, folder: str, leave: Callable[[int], object] = os._exit) -> None:
    """Carry out the orders that come on the standard input until it ends.

    Args:
        interpreter: its file.
        folder: where its machine code is kept.
        leave: ends this process at once, whatever its threads do.
    """
    inbox: SimpleQueue[tuple[bytes, bytes]] = SimpleQueue()

    def tell(kind: bytes, content: bytes) -> None:
        sys.stdout.buffer.write(to_message(kind + content))
        sys.stdout.buffer.flush()

    threading.Thread(target=_take_orders, args=(sys.stdin.buffer, inbox, leave), daemon=True).start()
    try:
        serve(Host(Path(interpreter), Path(folder)), inbox, tell)
    except Exception:
        traceback.print_exc()
        raise
    finally:
        leave(_FAILED)


def _take_orders(stream: BinaryIO, inbox: SimpleQueue[tuple[bytes, bytes]], leave: Callable[[int], object]) -> None:
    """Also while a guest runs, so that it ends when whoever wants to hear of it is gone."""
    while (order := read_message(stream)) is not None and (job := read_message(stream)) is not None:
        inbox.put((order, job))
    leave(0)
