"""What a guest of tier C is given: three streams, a coarse clock, and a refusal of all else."""

from __future__ import annotations

import struct
import time

import pytest

from armillary.verify.sandbox.wasm_calls import (
    BAD_ADDRESS,
    BAD_DESCRIPTOR,
    INVALID,
    NOT_SEEKABLE,
    NOT_SUPPORTED,
    GuestExitError,
    GuestWorld,
    OutOfBoundsError,
)

SIZE_BYTES = 4 << 20
ROOM = 4096
SECOND_NS = 10**9


class PlainMemory:
    """A guest's memory that is a row of bytes."""

    def __init__(self) -> None:
        self.content = bytearray(SIZE_BYTES)

    def read(self, address: int, num_bytes: int) -> bytes:
        self._check(address, num_bytes)
        return bytes(self.content[address : address + num_bytes])

    def write(self, address: int, content: bytes) -> None:
        self._check(address, len(content))
        self.content[address : address + len(content)] = content

    def number(self, address: int, form: str = "<I") -> int:
        return int(struct.unpack_from(form, self.content, address)[0])

    def _check(self, address: int, num_bytes: int) -> None:
        if address + num_bytes > SIZE_BYTES:
            raise OutOfBoundsError


class Guest:
    """Calls as a guest does, and keeps what it has written."""

    def __init__(self, text: bytes = b"", patience: int = 1000) -> None:
        self.memory = PlainMemory()
        self.written: list[tuple[int, bytes]] = []
        self.num_checks = 0
        self.patience = patience
        self.world = GuestWorld(
            ("python", "-c"), text, lambda fd, content: self.written.append((fd, content)), self.check
        )

    def check(self) -> None:
        self.num_checks += 1
        if self.num_checks > self.patience:
            raise TimeoutError

    def call(self, name: str, *arguments: int) -> int:
        return self.world.call(name, self.memory, arguments)

    def pieces(self, *pairs: tuple[int, int]) -> tuple[int, int]:
        self.memory.write(0, b"".join(struct.pack("<II", *pair) for pair in pairs))
        return 0, len(pairs)


@pytest.fixture
def guest() -> Guest:
    return Guest(b"a job")


@pytest.mark.parametrize(("name", "texts"), [("args", [b"python\0", b"-c\0"]), ("environ", [b"PYTHONHASHSEED=0\0"])])
def test_command_line_and_environment_are_ours_alone(guest: Guest, name: str, texts: list[bytes]) -> None:
    assert guest.call(f"{name}_sizes_get", 0, 4) == 0
    assert (guest.memory.number(0), guest.memory.number(4)) == (len(texts), len(b"".join(texts)))
    assert guest.call(f"{name}_get", 0, ROOM) == 0
    addresses = [guest.memory.number(4 * number) for number in range(len(texts))]
    assert [guest.memory.read(start, len(text)) for start, text in zip(addresses, texts, strict=True)] == texts


@pytest.mark.parametrize(
    "name",
    ["path_open", "path_unlink_file", "path_filestat_get", "fd_prestat_get", "fd_readdir", "sock_accept", "sock_send"],
)
def test_files_folders_and_sockets_are_refused(guest: Guest, name: str) -> None:
    assert guest.call(name, 3, 0, 0, 0, 0) == BAD_DESCRIPTOR


def test_the_input_is_read_in_parts_and_ends(guest: Guest) -> None:
    pieces = guest.pieces((ROOM, 2), (2 * ROOM, 1))
    found = []
    for _ in range(3):
        assert guest.call("fd_read", 0, *pieces, 64) == 0
        found.append((guest.memory.number(64), guest.memory.read(ROOM, 2), guest.memory.read(2 * ROOM, 1)))
    assert found == [(3, b"a ", b"j"), (2, b"ob", b"j"), (0, b"ob", b"j")]


@pytest.mark.parametrize("fd", [1, 2])
def test_both_outputs_are_passed_on_in_one_piece(guest: Guest, fd: int) -> None:
    guest.memory.write(ROOM, b"one two")
    assert guest.call("fd_write", fd, *guest.pieces((ROOM, 4), (ROOM + 4, 3)), 64) == 0
    assert (guest.memory.number(64), guest.written) == (7, [(fd, b"one two")])


def test_a_huge_output_is_taken_in_parts(guest: Guest) -> None:
    assert guest.call("fd_write", 1, *guest.pieces((0, 3 << 20), (0, 1 << 20)), 64) == 0
    assert (guest.memory.number(64), [len(content) for _, content in guest.written]) == (1 << 20, [1 << 20])


def test_thousands_of_pieces_are_not_all_looked_at(guest: Guest) -> None:
    for number in range(2000):
        guest.memory.write(ROOM + 8 * number, struct.pack("<II", 0, 1))
    assert guest.call("fd_write", 1, ROOM, 2000, 64) == 0
    assert guest.memory.number(64) == 1024


@pytest.mark.parametrize("fd", [3, 4, 1000, -1])
def test_there_are_no_other_descriptors(guest: Guest, fd: int) -> None:
    assert guest.call("fd_read", fd, *guest.pieces((ROOM, 1)), 64) == BAD_DESCRIPTOR
    assert guest.call("fd_write", fd, *guest.pieces((ROOM, 1)), 64) == BAD_DESCRIPTOR
    for name in ("fd_fdstat_get", "fd_filestat_get", "fd_seek", "fd_tell", "fd_fdstat_set_flags"):
        assert guest.call(name, fd, 0) == BAD_DESCRIPTOR
    assert guest.call("fd_close", fd) == BAD_DESCRIPTOR


def test_reading_an_output_and_writing_the_input_are_refused(guest: Guest) -> None:
    assert guest.call("fd_read", 1, *guest.pieces((ROOM, 1)), 64) == BAD_DESCRIPTOR
    assert guest.call("fd_write", 0, *guest.pieces((ROOM, 1)), 64) == BAD_DESCRIPTOR
    assert guest.written == []


@pytest.mark.parametrize("fd", [0, 1, 2])
def test_a_closed_stream_is_gone(guest: Guest, fd: int) -> None:
    assert [guest.call("fd_fdstat_set_flags", fd, 0), guest.call("fd_close", fd)] == [0, 0]
    assert guest.call("fd_read", fd, *guest.pieces((ROOM, 1)), 64) == BAD_DESCRIPTOR
    assert guest.call("fd_write", fd, *guest.pieces((ROOM, 1)), 64) == BAD_DESCRIPTOR
    assert guest.call("fd_close", fd) == BAD_DESCRIPTOR


def test_streams_are_no_terminals_and_have_no_places(guest: Guest) -> None:
    character_device = 2
    assert guest.call("fd_fdstat_get", 1, ROOM) == guest.call("fd_filestat_get", 1, 2 * ROOM) == 0
    assert guest.memory.number(ROOM, "<B") == guest.memory.number(2 * ROOM + 16, "<B") != character_device
    assert [guest.call("fd_seek", 1, 0, 0, 0), guest.call("fd_tell", 1, 0)] == [NOT_SEEKABLE] * 2


@pytest.mark.parametrize("clock", [0, 1, 2, 3])
def test_clocks_go_in_milliseconds(guest: Guest, clock: int) -> None:
    assert guest.call("clock_time_get", clock, 0, 0) == guest.call("clock_res_get", clock, 8) == 0
    assert guest.memory.number(0, "<Q") % 10**6 == 0
    assert guest.memory.number(8, "<Q") == 10**6


def test_the_clock_that_counts_begins_with_the_guest(guest: Guest) -> None:
    guest.call("clock_time_get", 1, 0, 0)
    assert guest.memory.number(0, "<Q") < 60 * SECOND_NS


def test_an_unknown_clock_is_an_error(guest: Guest) -> None:
    assert [guest.call("clock_time_get", 4, 0, 0), guest.call("clock_res_get", 4, 0)] == [INVALID] * 2


def alarm(
    guest: Guest, wait_s: float, *, clock: int = 1, is_absolute: bool = False, mark: bytes = b"the mark"
) -> bytes:
    start_ns = 0
    if is_absolute:
        guest.call("clock_time_get", clock, 0, ROOM)
        start_ns = guest.memory.number(ROOM, "<Q")
    when_ns = start_ns + int(wait_s * SECOND_NS)
    return struct.pack("<8sB7xI4xQQH6x", mark, 0, clock, when_ns, 0, is_absolute)


def sleep(guest: Guest, *subscriptions: bytes) -> int:
    guest.memory.write(2 * ROOM, b"".join(subscriptions))
    return guest.call("poll_oneoff", 2 * ROOM, 3 * ROOM, len(subscriptions), 0)


@pytest.mark.parametrize(("clock", "is_absolute"), [(0, False), (0, True), (1, False), (1, True)])
def test_a_sleep_is_never_shorter_than_wished(guest: Guest, clock: int, is_absolute: bool) -> None:
    start = time.monotonic()
    assert sleep(guest, alarm(guest, 0.03, clock=clock, is_absolute=is_absolute)) == 0
    assert time.monotonic() - start >= 0.03
    assert (guest.memory.number(0), guest.memory.read(3 * ROOM, 11)) == (1, b"the mark\0\0\0")


def test_the_first_of_several_alarms_rings_alone(guest: Guest) -> None:
    assert sleep(guest, alarm(guest, 60.0, mark=b"the late"), alarm(guest, 0.0, mark=b"the soon")) == 0
    assert (guest.memory.number(0), guest.memory.read(3 * ROOM, 8)) == (1, b"the soon")


def test_a_sleep_ends_when_the_time_of_the_guest_is_up() -> None:
    guest = Guest(patience=3)
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        sleep(guest, alarm(guest, 1e9))
    assert time.monotonic() - start < 5


def test_waiting_for_a_stream_is_not_supported(guest: Guest) -> None:
    assert sleep(guest, struct.pack("<8sB39x", b"the mark", 1)) == NOT_SUPPORTED
    assert sleep(guest, alarm(guest, 0.0, clock=2)) == NOT_SUPPORTED


@pytest.mark.parametrize("count", [0, 65, -1])
def test_waiting_for_nothing_or_for_too_much_is_an_error(guest: Guest, count: int) -> None:
    assert guest.call("poll_oneoff", 0, 0, count, 0) == INVALID


def test_random_bytes_are_given_in_any_number(guest: Guest) -> None:
    assert guest.call("random_get", 0, 3 << 20) == 0
    assert guest.memory.read(0, 64) != guest.memory.read(1 << 20, 64) != bytes(64)
    assert guest.memory.read(3 << 20, 64) == bytes(64)


def test_random_bytes_take_no_longer_than_the_guest_has() -> None:
    with pytest.raises(TimeoutError):
        Guest(patience=1).call("random_get", 0, 3 << 20)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("random_get", (SIZE_BYTES - 1, 2)),
        ("random_get", (-1, 1)),
        ("random_get", (0, -1)),
        ("args_get", (SIZE_BYTES, 0)),
        ("clock_time_get", (0, 0, SIZE_BYTES - 7)),
        ("fd_write", (1, SIZE_BYTES - 4, 1, 0)),
        ("fd_write", (1, 0, 1, SIZE_BYTES - 3)),
        ("fd_read", (0, SIZE_BYTES - 4, 1, 0)),
        ("fd_fdstat_get", (1, SIZE_BYTES - 1)),
        ("poll_oneoff", (SIZE_BYTES - 47, 0, 1, 0)),
    ],
)
def test_an_address_outside_of_its_memory_is_an_error(guest: Guest, name: str, arguments: tuple[int, ...]) -> None:
    assert guest.call(name, *arguments) == BAD_ADDRESS
    assert guest.written == []


def test_a_guest_ends_itself_with_its_code(guest: Guest) -> None:
    with pytest.raises(GuestExitError) as caught:
        guest.call("proc_exit", 3)
    assert caught.value.code == 3


def test_there_is_nobody_to_yield_to(guest: Guest) -> None:
    assert guest.call("sched_yield") == 0
