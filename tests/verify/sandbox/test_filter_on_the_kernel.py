"""The filter as the kernel runs it: a jailed program makes every forbidden call by its number and says what came."""

from __future__ import annotations

import errno
import json

import pytest
from forbidden_calls import FORBIDDEN, FORBIDDEN_WHERE_OUTER_FILES_ARE_WRITABLE
from other_machine import on_a_machine_without

from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.syscalls import find_machine

NUMBERS = find_machine().numbers


def program(names: list[str]) -> str:
    """Makes each call with no arguments and prints the errors by name; 0 where a call succeeded."""
    numbers = {name: NUMBERS[name] for name in names if name in NUMBERS}
    return f"""
import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
found = {{}}
for name, number in {numbers!r}.items():
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(0)] * 6)
    found[name] = ctypes.get_errno() if result < 0 else 0
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def errors() -> dict[str, int]:
    with Sandbox("A") as sandbox:
        found: dict[str, int] = json.loads(sandbox.run(program(FORBIDDEN)).stdout)
    return found


@pytest.fixture(scope="module")
def errors_in_tier_b() -> dict[str, int]:
    text = program(FORBIDDEN + FORBIDDEN_WHERE_OUTER_FILES_ARE_WRITABLE)
    found: dict[str, int] = json.loads(on_a_machine_without("unshare", "B", text)["stdout"])
    return found


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_call_is_not_permitted(errors: dict[str, int], name: str) -> None:
    if name not in NUMBERS:
        pytest.skip("this machine has no such call")
    assert errors[name] == errno.EPERM


@pytest.mark.parametrize("name", FORBIDDEN + FORBIDDEN_WHERE_OUTER_FILES_ARE_WRITABLE)
def test_a_forbidden_call_is_not_permitted_in_tier_b(errors_in_tier_b: dict[str, int], name: str) -> None:
    if name not in NUMBERS:
        pytest.skip("this machine has no such call")
    assert errors_in_tier_b[name] == errno.EPERM
