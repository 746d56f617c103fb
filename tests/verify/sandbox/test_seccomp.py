"""The filter is run here by a small interpreter of our own, for both machines, call by call."""

from __future__ import annotations

import errno
import struct

import pytest
from forbidden_calls import FORBIDDEN, FORBIDDEN_WHERE_OUTER_FILES_ARE_WRITABLE

from armillary.verify.sandbox.seccomp import ALLOWED, METADATA, NEVER, Policy, assemble, jail_policy
from armillary.verify.sandbox.syscalls import LAST_KNOWN, MACHINES, Machine

ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
PID = 7


def decide(program: bytes, machine: Machine, number: int, *arguments: int, arch: int | None = None) -> int:
    words = struct.pack(
        "=iIQ6Q", number, machine.audit_arch if arch is None else arch, 0, *arguments, *[0] * (6 - len(arguments))
    )
    code = list(struct.iter_unpack("=HBBI", program))
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", words, operand)
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return operand
            case _:
                raise AssertionError(f"unknown operation {operation:#x}")


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> Machine:
    return MACHINES[request.param]


@pytest.fixture
def program(machine: Machine) -> bytes:
    return assemble(jail_policy(PID, has_read_only_tree=True), machine)


def test_an_ordinary_call_is_allowed(machine: Machine, program: bytes) -> None:
    assert decide(program, machine, machine.numbers["read"]) == ALLOW


def test_a_call_that_nobody_listed_is_not_permitted_or_does_not_exist_if_it_is_recent(machine: Machine) -> None:
    program = assemble(jail_policy(PID, has_read_only_tree=True), machine)
    listed = {*machine.numbers.values()}
    unlisted = [number for number in range(LAST_KNOWN + 1) if number not in listed]
    assert len(unlisted) > 100
    for number in unlisted:
        assert decide(program, machine, number) == FAIL | (errno.EPERM if number < 424 else errno.ENOSYS)


def test_what_is_allowed_is_known_by_number_and_allowed_in_both_tiers(machine: Machine) -> None:
    assert not {*ALLOWED} & {*NEVER, *METADATA}
    for has_read_only_tree in (True, False):
        program = assemble(jail_policy(PID, has_read_only_tree=has_read_only_tree), machine)
        known = [machine.numbers[name] for name in ALLOWED if name in machine.numbers]
        assert len(known) > 100
        assert {decide(program, machine, number) for number in known} == {ALLOW}


def test_every_list_is_the_one_that_was_decided() -> None:
    assert sorted(NEVER) == FORBIDDEN
    assert sorted(METADATA) == FORBIDDEN_WHERE_OUTER_FILES_ARE_WRITABLE


@pytest.mark.parametrize("name", FORBIDDEN)
def test_every_call_on_the_list_fails(name: str) -> None:
    machines = [machine for machine in MACHINES.values() if name in machine.numbers]
    assert machines
    for machine in machines:
        program = assemble(jail_policy(PID, has_read_only_tree=True), machine)
        assert decide(program, machine, machine.numbers[name]) == FAIL | errno.EPERM


def test_changes_of_metadata_fail_where_the_outer_files_are_writable(machine: Machine) -> None:
    program = assemble(jail_policy(PID, has_read_only_tree=False), machine)
    listed = FORBIDDEN_WHERE_OUTER_FILES_ARE_WRITABLE
    numbers = [machine.numbers[name] for name in listed if name in machine.numbers]
    assert {decide(program, machine, number) for number in numbers} == {FAIL | errno.EPERM}


def test_changes_of_metadata_are_allowed_where_the_outer_files_are_read_only(machine: Machine, program: bytes) -> None:
    assert decide(program, machine, machine.numbers["fchmod"]) == ALLOW


def test_another_calling_convention_kills(machine: Machine, program: bytes) -> None:
    assert decide(program, machine, machine.numbers["read"], arch=0x40000003) == KILL


def test_the_second_convention_of_x86_kills() -> None:
    machine = MACHINES["x86_64"]
    assert decide(assemble(Policy(()), machine), machine, 0x40000000) == KILL


def test_calls_newer_than_the_table_do_not_exist(machine: Machine, program: bytes) -> None:
    assert decide(program, machine, LAST_KNOWN + 1) == FAIL | errno.ENOSYS


def test_clone3_does_not_exist_so_that_flags_can_be_seen(machine: Machine, program: bytes) -> None:
    assert decide(program, machine, machine.numbers["clone3"]) == FAIL | errno.ENOSYS


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        (0x003D0F00, ALLOW),  # what a thread asks for
        (17, FAIL | errno.EPERM),  # what fork asks for
        (0x4111, FAIL | errno.EPERM),  # what vfork asks for
        (0x003D0F00 | 0x10000000, FAIL | errno.EPERM),  # a thread in a new user namespace
        (0x003D0F00 | 0x02000000, FAIL | errno.EPERM),
    ],
)
def test_clone_makes_threads_and_nothing_else(machine: Machine, program: bytes, flags: int, verdict: int) -> None:
    assert decide(program, machine, machine.numbers["clone"], flags) == verdict


def test_a_policy_may_leave_processes_free(machine: Machine) -> None:
    program = assemble(Policy(("mount",), threads_only=False), machine)
    assert decide(program, machine, machine.numbers["clone"], 17) == ALLOW
    assert decide(program, machine, machine.numbers["mount"]) == FAIL | errno.EPERM


@pytest.mark.parametrize(
    ("name", "arguments", "is_allowed"),
    [
        ("kill", (PID, 9), True),
        ("kill", (PID + 1, 9), False),
        ("kill", (0xFFFFFFFF, 9), False),
        ("tgkill", (PID, 8, 9), True),
        ("tgkill", (1, 8, 9), False),
        ("prlimit64", (0, 7), True),
        ("prlimit64", (PID, 7), True),
        ("prlimit64", (3, 7), False),
        ("socketpair", (1,), True),
        ("socketpair", (2,), False),
        ("prctl", (15,), True),
        ("prctl", (1,), False),
        ("prctl", (22,), False),
        ("ioctl", (0, 0x5401), True),
        ("ioctl", (0, 0x5412), False),
        ("ioctl", (0, 0x8901), False),  # FIOSETOWN
        ("ioctl", (0, 0x8902), False),  # SIOCSPGRP
        ("ioctl", (0, 0x5452), False),  # FIOASYNC
        *[("fcntl", (0, command), True) for command in (0, 1, 2, 3, 4, 5, 6, 7, 1030)],
        # Owner and signal of a file, locks by file, leases, a folder's notices, pipe sizes, seals, hints.
        *[("fcntl", (0, command), False) for command in (*range(8, 17), *range(36, 39), *range(1024, 1030))],
        *[("fcntl", (0, command), False) for command in (1031, 1033, 1036, 1038)],
        ("fcntl", (0, 4, 0x800), True),  # F_SETFL, O_NONBLOCK
        ("fcntl", (0, 4, 0x2000), False),  # F_SETFL, O_ASYNC
        ("fcntl", (0, 4, 0x2800), False),
        ("fcntl", (0, 0, 0x2000), True),  # F_DUPFD to a number with that bit
        ("membarrier", (0,), True),
        ("membarrier", (8,), True),
        ("membarrier", (1,), False),
    ],
)
def test_calls_about_oneself_are_allowed_and_about_others_fail(
    machine: Machine, program: bytes, name: str, arguments: tuple[int, ...], is_allowed: bool
) -> None:
    expected = ALLOW if is_allowed else FAIL | errno.EPERM
    assert decide(program, machine, machine.numbers[name], *arguments) == expected
