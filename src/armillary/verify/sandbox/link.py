"""The parent's end of one zygote: start it, hand it a job, gather what comes back within limits, end it.

Not thread-safe, and one job at a time; ``client`` sees to that.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from armillary.core.errors import SandboxError
from armillary.verify.sandbox.outcomes import Limits, StopReason, Tier
from armillary.verify.sandbox.packages import Outfit
from armillary.verify.sandbox.sizes import MAX_RESULT_BYTES
from armillary.verify.sandbox.wire import KILL, MAX_MESSAGE_BYTES, READY

_SOURCE_FOLDER: Final = str(Path(__file__).resolve().parents[3])
# Last on the path, so that nothing installed beside us can stand in for the standard library.
_BOOT: Final = (
    "import sys; outfit, folder, fd, pid = sys.argv[1:]; sys.path.append(folder); "
    "from armillary.verify.sandbox.zygote import main; from armillary.verify.sandbox.packages import Outfit; "
    "sys.path.remove(folder); sys.path_importer_cache.pop(folder, None); "
    "main(int(fd), int(pid), Outfit.from_text(outfit))"
)
_STANDARD_LIBRARY: Final = Outfit()
START_S: Final = 60.0
KILL_S: Final = 5.0
_READ_BYTES: Final = 1 << 16
_SPENT_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class RawRun:
    """What one child left behind, unread.

    Attributes:
        output: what it printed, cut to the limit.
        lines: what it wrote on the result channel.
        code: its exit status, negative for a signal.
    """

    output: bytes
    lines: bytes
    stopped_by: StopReason
    code: int
    elapsed_ms: float

    @property
    def last_words(self) -> str:
        """How a child ended that could not even report its layers."""
        printed = self.output.decode(errors="replace").strip().splitlines()
        return (
            f"the child ended with {self.code} before it was locked in: {printed[-1] if printed else 'no reason given'}"
        )


class ZygoteLink:
    """A running zygote; :meth:`close` ends it and everything it forked.

    Args:
        outfit: what programs may import besides the standard library.

    Raises:
        SandboxError: it could not be started.
    """

    def __init__(self, outfit: Outfit = _STANDARD_LIBRARY) -> None:
        if sys.platform != "linux":
            raise SandboxError(f"the sandbox needs Linux, this is {sys.platform}")
        if not sys.executable:
            raise SandboxError("the sandbox needs the path of the Python interpreter, sys.executable is empty")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel = ours
        self._seat: _Seat | None = None
        with theirs:
            self._process = self._start(theirs.fileno(), outfit)
        try:
            self._await_ready()
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether the zygote's process still runs."""
        return self._process.poll() is None

    def prepare(self, tier: Tier, limits: Limits) -> None:
        """Have a child lock itself in now and wait; the next job gets it if it has the same tier and limits."""
        # That the zygote has died is for the next run to find out.
        with suppress(ConnectionError):
            self._seat = self._seat or self._open_seat(_header(tier, limits))

    def execute(self, tier: Tier, job: bytes, limits: Limits) -> RawRun:
        """Have one job done in a child of its own; on any exception the caller must close this link.

        Raises:
            SandboxError: the zygote died or cannot fork.
        """
        start = time.monotonic()
        try:
            with closing(self._take_seat(_header(tier, limits))) as seat:
                seat.hand_over(job)
                gatherer = _Gatherer(self._channel, seat.output, seat.lines, limits)
                gatherer.gather(start + limits.wall_s)
                return gatherer.result((time.monotonic() - start) * 1000)
        except ConnectionError as error:
            raise SandboxError("the sandbox's zygote died during a run", hint="run it again") from error

    def close(self) -> None:
        """End the zygote; it kills and reaps its child when the channel closes."""
        self._channel.close()
        if self._seat is not None:
            self._seat.close()
            self._seat = None
        try:
            self._await_end()
        finally:
            assert self._process.stderr is not None
            self._process.stderr.close()

    def _await_end(self) -> None:
        """Wait for a zygote that should be ending, and kill one that does not."""
        try:
            self._process.wait(KILL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self, channel_fd: int, outfit: Outfit) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-S", "-s", "-P", "-X", "utf8", "-c", _BOOT]
        try:
            return subprocess.Popen(  # noqa: S603 - our own interpreter with our own text
                [*command, outfit.to_text(), _SOURCE_FOLDER, str(channel_fd), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                env={"PYTHONHASHSEED": "0"},
                pass_fds=(channel_fd,),
                start_new_session=True,
            )
        except OSError as error:
            self._channel.close()
            raise SandboxError(f"the sandbox's zygote did not start: {error.strerror}") from error

    def _await_ready(self) -> None:
        self._channel.settimeout(START_S)
        try:
            is_ready = self._channel.recv(MAX_MESSAGE_BYTES) == READY
        except TimeoutError as error:
            raise SandboxError(f"the sandbox's zygote did not start within {START_S:.0f} s") from error
        if not is_ready:
            # Its error stream ends only with the process.
            self._await_end()
            assert self._process.stderr is not None
            last_words = self._process.stderr.read().decode(errors="replace").strip().splitlines()
            raise SandboxError(
                f"the sandbox's zygote did not start: {last_words[-1] if last_words else 'no reason given'}"
            )
        self._channel.settimeout(None)

    def _take_seat(self, header: bytes) -> _Seat:
        seat, self._seat = self._seat, None
        if seat is None:
            return self._open_seat(header)
        if seat.header == header and not select.select([self._channel], [], [], 0.0)[0]:
            return seat
        # It is for other limits, or its child has died while it waited.
        try:
            self._dismiss_child()
        finally:
            seat.close()
        return self._open_seat(header)

    def _open_seat(self, header: bytes) -> _Seat:
        job = os.memfd_create("job", os.MFD_CLOEXEC)
        start_end, start = os.pipe()
        output, output_end = os.pipe()
        lines, lines_end = os.pipe()
        seat = _Seat(header, job, start, output, lines)
        try:
            socket.send_fds(self._channel, [header], [job, start_end, output_end, lines_end])
        except BaseException:
            seat.close()
            raise
        finally:
            for descriptor in (start_end, output_end, lines_end):
                os.close(descriptor)
        return seat

    def _dismiss_child(self) -> None:
        self._channel.settimeout(KILL_S)
        try:
            self._channel.send(KILL)
            self._channel.recv(MAX_MESSAGE_BYTES)
        except TimeoutError as error:
            raise SandboxError(f"the sandbox's child could not be killed within {KILL_S:.0f} s") from error
        self._channel.settimeout(None)


@dataclass(frozen=True, slots=True)
class _Seat:
    """Our ends of what one child holds, which locks itself in and waits for its job.

    Attributes:
        job: file without a name that the job is written to.
        start: one byte in this pipe says that the job is there; its end, that none will come.
    """

    header: bytes
    job: int
    start: int
    output: int
    lines: int

    def hand_over(self, job: bytes) -> None:
        """Give the child its job."""
        with open(self.job, "wb", closefd=False) as file:
            file.write(job)
        # A child that is dead already is no error here: the zygote tells of its end.
        with suppress(BrokenPipeError):
            os.write(self.start, b"1")

    def close(self) -> None:
        """Close all ends; a child that still waits ends itself."""
        for descriptor in (self.job, self.start, self.output, self.lines):
            os.close(descriptor)


def _header(tier: Tier, limits: Limits) -> bytes:
    fields = {
        "tier": tier,
        "cpu_s": limits.cpu_s,
        "memory_bytes": limits.memory_bytes,
        "disk_bytes": limits.disk_bytes,
    }
    return json.dumps(fields).encode()


class _Gatherer:
    """Reads a child's two pipes and the zygote's reply, and has the child killed when a limit is passed."""

    def __init__(self, channel: socket.socket, output: int, lines: int, limits: Limits) -> None:
        self._channel = channel
        self._buffers = {output: bytearray(), lines: bytearray()}
        self._caps = {output: limits.output_bytes, lines: MAX_RESULT_BYTES}
        self._output, self._lines = output, lines
        self._cpu_s = limits.cpu_s
        self._stopped_by: StopReason = "exit"
        self._code = 0

    def gather(self, deadline: float) -> None:
        """Read until the zygote has reaped the child, killing it first when it passes a limit.

        Raises:
            SandboxError: the zygote died, cannot fork, or cannot kill.
        """
        with selectors.DefaultSelector() as selector:
            for pipe in self._buffers:
                os.set_blocking(pipe, False)
                selector.register(pipe, selectors.EVENT_READ)
            selector.register(self._channel, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select(max(0.0, deadline - time.monotonic()))]
                for pipe in self._buffers:
                    if pipe in ready and self._read(pipe) == 0:
                        selector.unregister(pipe)
                if self._channel in ready:
                    break
                is_late = time.monotonic() >= deadline
                if self._stopped_by != "exit":
                    if is_late:
                        raise SandboxError(f"the sandbox's child could not be killed within {KILL_S:.0f} s")
                elif is_late or self._is_overfull():
                    self._stopped_by = "wall" if is_late else "output"
                    self._channel.send(KILL)
                    deadline = time.monotonic() + KILL_S
        self._read_reply()

    def result(self, elapsed_ms: float) -> RawRun:
        """What was gathered."""
        output = bytes(self._buffers[self._output][: self._caps[self._output]])
        return RawRun(output, bytes(self._buffers[self._lines]), self._stopped_by, self._code, elapsed_ms)

    def _read(self, pipe: int) -> int | None:
        """Bytes that were read: 0 at the end, None when there are none now."""
        try:
            piece = os.read(pipe, _READ_BYTES)
        except BlockingIOError:
            return None
        # Past its cap a stream is only drained: nothing that a child writes can fill our memory.
        if len(self._buffers[pipe]) <= self._caps[pipe]:
            self._buffers[pipe] += piece
        return len(piece)

    def _is_overfull(self) -> bool:
        return any(len(buffer) > self._caps[pipe] for pipe, buffer in self._buffers.items())

    def _read_reply(self) -> None:
        message = self._channel.recv(MAX_MESSAGE_BYTES)
        if not message:
            raise SandboxError("the sandbox's zygote died during a run", hint="run it again")
        reply = json.loads(message)
        if "error" in reply:
            raise SandboxError(f"the sandbox cannot start a child: {reply['error']}")
        # Every writer is dead, so what the pipes hold now is all there will ever be.
        for pipe in self._buffers:
            while self._read(pipe):
                pass
        self._code = reply["code"]
        if self._stopped_by == "exit" and self._is_overfull():
            self._stopped_by = "output"
        elif self._stopped_by == "exit" and self._code < 0:
            # The kernel kills what has used up its processor time, without a word why, and by a count of its own
            # that is well ahead of the one that we get when the machine is busy.
            is_spent = self._code == -signal.SIGKILL and reply["cpu_s"] >= _SPENT_SHARE * self._cpu_s
            self._stopped_by = "cpu" if is_spent else "signal"
