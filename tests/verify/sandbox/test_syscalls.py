from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

import pytest

from armillary.core.errors import SandboxError
from armillary.verify.sandbox import kernel
from armillary.verify.sandbox.syscalls import LAST_KNOWN, MACHINES, find_machine

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("name", MACHINES)
def test_every_number_is_the_one_in_the_kernels_headers(name: str) -> None:
    if not HEADERS[name].is_file():
        pytest.skip("the kernel's headers are not installed")
    lines = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[name].read_text())
    known = {call: int(number) for call, number in reversed(lines)}
    known.setdefault("newfstatat", known.get("fstatat", -1))  # the generic header gives it its name by another way
    ours = MACHINES[name].numbers
    assert {call: known[call] for call in ours if call in known} == {call: ours[call] for call in ours if call in known}
    assert all(number > 450 for call, number in ours.items() if call not in known)


@pytest.mark.parametrize("name", MACHINES)
def test_no_number_is_above_the_ceiling_or_used_twice(name: str) -> None:
    numbers = MACHINES[name].numbers.values()
    assert max(numbers) == LAST_KNOWN
    assert len(set(numbers)) == len(numbers)


def test_an_unknown_machine_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(SandboxError, match=r"no table for machine 'riscv64' \(known: x86_64, aarch64\)"):
        find_machine("riscv64")


def test_another_operating_system_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="needs Linux, this is darwin"):
        find_machine()


def test_a_32_bit_interpreter_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    with pytest.raises(SandboxError, match="64-bit"):
        find_machine()


def test_a_call_that_the_kernel_refuses_is_an_error_that_names_it() -> None:
    with pytest.raises(OSError, match="close_range: Invalid argument"):
        kernel.syscall("close_range", 10, 5, 0)


def test_a_call_that_is_looked_up_beforehand_is_refused_in_the_same_words() -> None:
    close_range = kernel.system_call("close_range", ctypes.c_long, ctypes.c_long, ctypes.c_long)
    with pytest.raises(OSError, match="close_range: Invalid argument"):
        close_range(10, 5, 0)
