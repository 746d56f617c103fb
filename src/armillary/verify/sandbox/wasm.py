"""The parent's end of tier C: start a host of guests, hand it jobs, gather what comes back. Compares nothing.

For systems that have not what the other tiers are made of. It has the face of ``link.ZygoteLink`` and gives back what
that gives. As nothing can interrupt a guest and let it go on, a call whose time is up ends it, and the calls after it
are made by a new guest, which loads the program again. Not thread-safe, and one job at a time.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final

from armillary.core.errors import SandboxError
from armillary.core.settings import load_settings
from armillary.verify.sandbox.link import RawRun
from armillary.verify.sandbox.outcomes import Limits, Outcome, StopReason, Tier
from armillary.verify.sandbox.packages import Outfit
from armillary.verify.sandbox.sizes import MAX_RESULT_BYTES
from armillary.verify.sandbox.wasm_module import find_interpreter
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
from armillary.verify.sandbox.wire import job_from_bytes, load_line, outcome_line

LOST_IN_TIER_C: Final = (
    "a Python of its own, 3.12 of 32 bits",
    "no folder, threads, processes, signals or sockets",
    "fewer modules of the standard library, none of installed packages",
    "recursion through C code ends after some hundred calls",
    "after a call that runs out of time the program is loaded anew",
    "one wall instead of several: that of the engine",
)
"""What this tier lacks beside the others."""

LOADING_TIMED_OUT: Final = "TimeLimit: loading took too long"
START_S: Final = 300.0  # a slow machine may take a minute to compile, once
END_S: Final = 5.0
_MAX_GUESTS: Final = 4
_NUM_FIRST_LINES: Final = 2
_SOURCE_FOLDER: Final = str(Path(__file__).resolve().parents[3])
_BOOT: Final = (
    "import sys; source, site, interpreter, folder = sys.argv[1:]; sys.path += [source, site]; "
    "from armillary.verify.sandbox.wasm_host import main; main(interpreter, folder)"
)
_STANDARD_LIBRARY: Final = Outfit()
_STOPPED_BY: Final[dict[str, StopReason]] = {
    "exit": "exit",
    "crash": "signal",
    "cpu": "cpu",
    "wall": "wall",
    "output": "output",
    "call": "exit",
}


@dataclass
class _Progress:
    """One job, what its guests may spend together, and what they have left so far."""

    job: bytes
    limits: Limits
    start: float
    cpu_s: float = 0.0
    output: bytearray = field(default_factory=bytearray)
    lines: bytearray = field(default_factory=bytearray)

    def order(self, first: int) -> Order:
        """For a guest that makes the calls from one on, with the limits that are left."""
        # The first guest's clock starts with its first line; what the start of a further one takes is on the job.
        spent_s = time.monotonic() - self.start if first else 0.0
        return Order(
            first=first,
            wall_s=self.limits.wall_s - spent_s,
            cpu_s=self.limits.cpu_s - self.cpu_s,
            call_cpu_s=self.limits.call_cpu_s,
            memory_bytes=self.limits.memory_bytes,
            output_bytes=self.limits.output_bytes - len(self.output),
            result_bytes=MAX_RESULT_BYTES - len(self.lines),
        )

    def note_timeout(self) -> None:
        """Write down what a guest cannot that was ended because a call, or the loading, took too long."""
        # What follows the last line break is half a line.
        del self.lines[self.lines.rfind(b"\n") + 1 :]
        number = self.next_call
        line = load_line(LOADING_TIMED_OUT) if number < 0 else outcome_line(number, Outcome("timeout"))
        self.lines += line.encode() + b"\n"

    def has_more_calls(self) -> bool:
        """Whether the program has loaded, and calls are left to be made."""
        return 0 < self.next_call < len(job_from_bytes(self.job).calls)

    @property
    def next_call(self) -> int:
        """Number of the first call without an answer; below 0 while the program has not loaded."""
        return self.lines.count(b"\n") - _NUM_FIRST_LINES


class WasmLink:
    """A running host of tier C; :meth:`close` ends it and its guest.

    Args:
        outfit: what programs may import besides the standard library; here nothing can be.
        folder: where the compiled interpreter is kept, by default in the home of the settings.

    Raises:
        SandboxError: the extra is not installed, packages are asked for, or the host could not be started.
        SettingsError: there are settings that cannot be read.
    """

    def __init__(self, outfit: Outfit = _STANDARD_LIBRARY, folder: Path | None = None) -> None:
        if outfit != _STANDARD_LIBRARY:
            raise SandboxError("tier C has no room for installed packages", hint="it needs tier A or B")
        self._process = _start(find_interpreter(), folder or load_settings().home / "wasm")
        self._inbox: queue.SimpleQueue[tuple[bytes, bytes] | None] = queue.SimpleQueue()
        stdout = self._process.stdout
        assert stdout is not None
        self._reader = threading.Thread(target=_read_messages, args=(stdout, self._inbox), daemon=True)
        self._reader.start()
        try:
            kind, _ = self._next(START_S)
            assert kind == READY
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether the host's process still runs."""
        return self._process.poll() is None

    def prepare(self, tier: Tier, limits: Limits) -> None:
        """Nothing: a guest cannot be locked in ahead."""

    def execute(self, tier: Tier, job: bytes, limits: Limits) -> RawRun:
        """Have one job done, by a guest of its own and one more for each call that ran out of time.

        On any exception the caller must close this link.

        Raises:
            SandboxError: the host died, or refused the limits.
        """
        assert tier == "C"
        progress = _Progress(job, limits, time.monotonic())
        ending = self._run(progress, progress.order(0), progress.lines)
        num_guests = 1
        while ending.reason == "call":
            progress.note_timeout()
            if num_guests == _MAX_GUESTS or not progress.has_more_calls():
                break
            order = progress.order(progress.next_call)
            spent = "wall" if order.wall_s <= 0 else "cpu" if order.cpu_s <= 0 else ""
            ending = replace(ending, reason=spent) if spent else self._run_rest(progress, order)
            num_guests += 1
        elapsed_ms = (time.monotonic() - progress.start) * 1000
        stopped_by = _STOPPED_BY[ending.reason]
        return RawRun(bytes(progress.output), bytes(progress.lines), stopped_by, ending.code, elapsed_ms)

    def close(self) -> None:
        """End the host, and the guest that it may be running."""
        stdin = self._process.stdin
        assert stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with suppress(BrokenPipeError):
            stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._process.stderr.close()

    def _run_rest(self, progress: _Progress, order: Order) -> Ending:
        """Have a new guest go on; what it tells of its start is known already."""
        lines = bytearray()
        ending = self._run(progress, order, lines)
        parts = lines.split(b"\n", _NUM_FIRST_LINES)
        if len(parts) > _NUM_FIRST_LINES and parts[1] == load_line("").encode():
            progress.lines += parts[_NUM_FIRST_LINES]
            return ending
        # The program loads in another way than before, or not in time: the answers to its last calls stay missing.
        return replace(ending, reason="exit") if ending.reason == "call" else ending

    def _run(self, progress: _Progress, order: Order, lines: bytearray) -> Ending:
        self._send(order.to_bytes(), progress.job)
        deadline = time.monotonic() + BOOT_S + order.wall_s + END_S
        while True:
            kind, content = self._next(deadline - time.monotonic())
            if kind == OUTPUT:
                progress.output += content
            elif kind == RESULT:
                lines += content
            elif kind == REFUSED:
                raise SandboxError(f"the sandbox could not be built: wasm: {content.decode(errors='replace')}")
            else:
                assert kind == END
                ending = Ending(**json.loads(content))
                if ending.reason == "boot":
                    raise SandboxError(f"a guest of tier C did not start within {BOOT_S:.0f} s")
                progress.cpu_s += ending.cpu_s
                return ending

    def _send(self, *messages: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            for message in messages:
                stdin.write(to_message(message))
            stdin.flush()
        except (BrokenPipeError, OSError) as error:
            raise SandboxError("the host of tier C died", hint="run it again") from error

    def _next(self, timeout_s: float) -> tuple[bytes, bytes]:
        try:
            message = self._inbox.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            raise SandboxError("the host of tier C does not answer in time", hint="run it again") from None
        if message is None:
            raise SandboxError(f"the host of tier C died: {self._last_words()}", hint="run it again")
        return message

    def _last_words(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        self._process.kill()
        assert self._process.stderr is not None
        text = b""
        with suppress(ValueError):  # another thread has closed us, and the stream
            text = self._process.stderr.read()
        lines = text.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no reason given"


def _start(interpreter: Path, folder: Path) -> subprocess.Popen[bytes]:
    from importlib.util import find_spec

    spec = find_spec("wasmtime")
    assert spec is not None
    assert spec.origin is not None
    site = str(Path(spec.origin).parents[1])
    command = [sys.executable, "-S", "-s", "-P", "-X", "utf8", "-c", _BOOT]
    # Windows starts no Python without the first.
    environment = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter with our own text
            [*command, _SOURCE_FOLDER, site, str(interpreter), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment | {"PYTHONHASHSEED": "0"},
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxError(f"the host of tier C did not start: {error.strerror}") from error


def _read_messages(stream: BinaryIO, inbox: queue.SimpleQueue[tuple[bytes, bytes] | None]) -> None:
    """Pass on what the host says until it says no more: a pipe cannot be waited for with a limit everywhere."""
    while (message := read_message(stream)) is not None:
        inbox.put((message[:1], message[1:]))
    inbox.put(None)
