"""The whole world of a guest of tier C: eighteen functions over three streams and a clock, and a refusal for the rest.

Nothing in here opens a file, a socket or a process. The guest is hostile: every address and length that it gives is
checked against its own memory, and what it may have us do at once is bounded.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

BAD_DESCRIPTOR: Final = 8
BAD_ADDRESS: Final = 21
INVALID: Final = 28
NOT_SUPPORTED: Final = 58
NOT_SEEKABLE: Final = 70
"""Numbers of errors, as WASI has them; 0 is success."""

STDIN_FD: Final = 0
OUTPUT_FD: Final = 1
RESULT_FD: Final = 2

_SOCKET: Final = 6  # the kind of file that is most like a pipe
_MAY_READ, _MAY_WRITE, _MAY_POLL = 1 << 1, 1 << 6, 1 << 27
_RESOLUTION_NS: Final = 1_000_000
_MAX_PIECES: Final = 1024
_MAX_BYTES: Final = 1 << 20
_MAX_SUBSCRIPTIONS: Final = 64
_NAP_S: Final = 0.01
_REALTIME, _MONOTONIC, _PROCESS_TIME, _THREAD_TIME = range(4)
_CLOCK_EVENT: Final = 0


class OutOfBoundsError(Exception):
    """The guest named an address that is not in its memory."""


class GuestExitError(Exception):
    """The guest ended itself."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the guest ended with {code}")
        self.code = code


class Memory(Protocol):
    """A guest's memory; both raise :class:`OutOfBoundsError`."""

    def read(self, address: int, num_bytes: int) -> bytes:
        """A copy of a part."""
        ...

    def write(self, address: int, content: bytes) -> None:
        """Change a part."""
        ...


class GuestWorld:
    """What one guest can ask for; one method per function, which all return the number of an error.

    Args:
        arguments: the guest's command line.
        text: what it reads from its standard input.
        write: is given what it writes, with the descriptor; raises to end the guest.
        check: called before and while the guest sleeps; raises to end the guest.
    """

    def __init__(
        self, arguments: Sequence[str], text: bytes, write: Callable[[int, bytes], None], check: Callable[[], None]
    ) -> None:
        self._lists = {
            "args": [item.encode() + b"\0" for item in arguments],
            "environ": [b"PYTHONHASHSEED=0\0"],  # so that sets have the same order in every run; the harness drops it
        }
        self._text = memoryview(text)
        self._write = write
        self._check = check
        self._open = {STDIN_FD, OUTPUT_FD, RESULT_FD}
        self._start_ns = time.monotonic_ns()
        self._start_cpu_ns = time.process_time_ns()

    def call(self, name: str, memory: Memory, arguments: Sequence[int]) -> int:
        """Answer one call by its name in ``wasi_snapshot_preview1``.

        Raises:
            GuestExitError: the guest wants to end.
        """
        # An address comes as a signed number.
        numbers = [number & 0xFFFF_FFFF if -(1 << 31) <= number < 0 else number for number in arguments]
        function = _FUNCTIONS.get(name)
        if function is None:
            return BAD_DESCRIPTOR  # all of them begin with a descriptor, and none that it has is a folder or a socket
        try:
            return function(self, memory, *numbers)
        except OutOfBoundsError:
            return BAD_ADDRESS

    def args_sizes_get(self, memory: Memory, count: int, size: int) -> int:
        """How long the command line is."""
        return self._tell_sizes(memory, "args", count, size)

    def args_get(self, memory: Memory, pointers: int, room: int) -> int:
        """The command line."""
        return self._tell_list(memory, "args", pointers, room)

    def environ_sizes_get(self, memory: Memory, count: int, size: int) -> int:
        """How long the environment is."""
        return self._tell_sizes(memory, "environ", count, size)

    def environ_get(self, memory: Memory, pointers: int, room: int) -> int:
        """The environment."""
        return self._tell_list(memory, "environ", pointers, room)

    def clock_res_get(self, memory: Memory, clock: int, result: int) -> int:
        """How coarse the clocks are."""
        memory.write(result, struct.pack("<Q", _RESOLUTION_NS))
        return 0 if clock <= _THREAD_TIME else INVALID

    def clock_time_get(self, memory: Memory, clock: int, precision: int, result: int) -> int:
        """The time, cut to milliseconds: finer ones serve those who measure their keeper."""
        now_ns = self._now_ns(clock)
        if now_ns is None:
            return INVALID
        memory.write(result, struct.pack("<Q", now_ns // _RESOLUTION_NS * _RESOLUTION_NS))
        return 0

    def fd_read(self, memory: Memory, fd: int, pieces: int, num_pieces: int, result: int) -> int:
        """Read from the standard input."""
        if fd != STDIN_FD or fd not in self._open:
            return BAD_DESCRIPTOR
        num_read = 0
        for address, num_bytes in _pieces(memory, pieces, num_pieces):
            part, self._text = self._text[:num_bytes], self._text[num_bytes:]
            memory.write(address, bytes(part))
            num_read += len(part)
        memory.write(result, struct.pack("<I", num_read))
        return 0

    def fd_write(self, memory: Memory, fd: int, pieces: int, num_pieces: int, result: int) -> int:
        """Write to the output or to the channel of results."""
        if fd == STDIN_FD or fd not in self._open:
            return BAD_DESCRIPTOR
        parts, num_left = [], _MAX_BYTES
        for address, num_bytes in _pieces(memory, pieces, num_pieces):
            parts.append(memory.read(address, min(num_bytes, num_left)))
            num_left -= len(parts[-1])
        content = b"".join(parts)
        memory.write(result, struct.pack("<I", len(content)))
        self._write(fd, content)
        return 0

    def fd_close(self, memory: Memory, fd: int) -> int:
        """Forget a stream."""
        if fd not in self._open:
            return BAD_DESCRIPTOR
        self._open.remove(fd)
        return 0

    def fd_fdstat_get(self, memory: Memory, fd: int, result: int) -> int:
        """What kind of stream it is."""
        if fd not in self._open:
            return BAD_DESCRIPTOR
        rights = _MAY_POLL | (_MAY_READ if fd == STDIN_FD else _MAY_WRITE)
        memory.write(result, struct.pack("<BxHxxxxQQ", _SOCKET, 0, rights, 0))
        return 0

    def fd_filestat_get(self, memory: Memory, fd: int, result: int) -> int:
        """The same in more words."""
        if fd not in self._open:
            return BAD_DESCRIPTOR
        memory.write(result, struct.pack("<QQB7xQQQQQ", 0, fd, _SOCKET, 1, 0, 0, 0, 0))
        return 0

    def fd_seek(self, memory: Memory, fd: int, *_: int) -> int:
        """No stream has places to go to."""
        return NOT_SEEKABLE if fd in self._open else BAD_DESCRIPTOR

    def fd_tell(self, memory: Memory, fd: int, *_: int) -> int:
        """Nor a place."""
        return self.fd_seek(memory, fd)

    def fd_fdstat_set_flags(self, memory: Memory, fd: int, flags: int) -> int:
        """Flags change nothing here."""
        return 0 if fd in self._open else BAD_DESCRIPTOR

    def poll_oneoff(self, memory: Memory, wanted: int, events: int, count: int, result: int) -> int:
        """Sleep until the first of some times; there is nothing else to wait for."""
        if not 0 < count <= _MAX_SUBSCRIPTIONS:
            return INVALID
        alarms = [self._alarm(memory.read(wanted + 48 * number, 48)) for number in range(count)]
        times_s = [when_s for _, when_s in alarms if when_s is not None]
        if len(times_s) < count:
            return NOT_SUPPORTED
        self._sleep_until(min(times_s))
        now_s = time.monotonic()
        rung = [mark for mark, when_s in alarms if when_s is not None and when_s <= now_s]
        memory.write(events, b"".join(mark + struct.pack("<HB21x", 0, _CLOCK_EVENT) for mark in rung))
        memory.write(result, struct.pack("<I", len(rung)))
        return 0

    def random_get(self, memory: Memory, address: int, num_bytes: int) -> int:
        """Random bytes."""
        memory.read(address + num_bytes, 0)
        for start in range(0, num_bytes, _MAX_BYTES):
            self._check()
            memory.write(address + start, os.urandom(min(_MAX_BYTES, num_bytes - start)))
        return 0

    def sched_yield(self, memory: Memory) -> int:
        """There is nobody to yield to."""
        return 0

    def proc_exit(self, memory: Memory, code: int) -> int:
        """End the guest.

        Raises:
            GuestExitError: always.
        """
        raise GuestExitError(code)

    def _tell_sizes(self, memory: Memory, name: str, count: int, size: int) -> int:
        memory.write(count, struct.pack("<I", len(self._lists[name])))
        memory.write(size, struct.pack("<I", len(b"".join(self._lists[name]))))
        return 0

    def _tell_list(self, memory: Memory, name: str, pointers: int, room: int) -> int:
        for number, text in enumerate(self._lists[name]):
            memory.write(pointers + 4 * number, struct.pack("<I", room))
            memory.write(room, text)
            room += len(text)
        return 0

    def _now_ns(self, clock: int) -> int | None:
        if clock == _REALTIME:
            return time.time_ns()
        if clock == _MONOTONIC:
            return time.monotonic_ns() - self._start_ns
        return time.process_time_ns() - self._start_cpu_ns if clock in (_PROCESS_TIME, _THREAD_TIME) else None

    def _alarm(self, subscription: bytes) -> tuple[bytes, float | None]:
        """The mark of a subscription, and the time in our monotonic seconds; no time when it waits for a stream."""
        mark, kind, clock, timeout_ns, is_absolute = struct.unpack("<8sB7xIxxxxQ8xH6x", subscription)
        if kind != _CLOCK_EVENT or clock not in (_REALTIME, _MONOTONIC):
            return mark, None
        now_ns = self._now_ns(clock)
        assert now_ns is not None
        wait_ns = timeout_ns - now_ns if is_absolute & 1 else timeout_ns
        # One tick more, so that the guest's coarse clock has seen all of it.
        return mark, time.monotonic() + (wait_ns + _RESOLUTION_NS) / 1e9

    def _sleep_until(self, when_s: float) -> None:
        self._check()
        while (left_s := when_s - time.monotonic()) > 0:
            time.sleep(min(left_s, _NAP_S))
            self._check()


def _pieces(memory: Memory, address: int, count: int) -> list[tuple[int, int]]:
    """Addresses and lengths of the parts that one read or write is made of; too many are cut off."""
    count = min(count, _MAX_PIECES)
    return list(struct.iter_unpack("<II", memory.read(address, 8 * count)))


_FUNCTIONS: Final[dict[str, Callable[..., int]]] = {
    function.__name__: function
    for function in (
        GuestWorld.args_get,
        GuestWorld.args_sizes_get,
        GuestWorld.clock_res_get,
        GuestWorld.clock_time_get,
        GuestWorld.environ_get,
        GuestWorld.environ_sizes_get,
        GuestWorld.fd_close,
        GuestWorld.fd_fdstat_get,
        GuestWorld.fd_fdstat_set_flags,
        GuestWorld.fd_filestat_get,
        GuestWorld.fd_read,
        GuestWorld.fd_seek,
        GuestWorld.fd_tell,
        GuestWorld.fd_write,
        GuestWorld.poll_oneoff,
        GuestWorld.proc_exit,
        GuestWorld.random_get,
        GuestWorld.sched_yield,
    )
}
