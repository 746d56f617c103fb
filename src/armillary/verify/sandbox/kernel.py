"""Call the Linux kernel by number through the C library. Adds error handling and nothing else."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Final

from armillary.verify.sandbox.syscalls import find_machine

_SET_PDEATHSIG: Final = 1
_SET_CHILD_SUBREAPER: Final = 36
_SET_NO_NEW_PRIVS: Final = 38
_SIGKILL: Final = 9

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def syscall(name: str, *arguments: int | bytes | None) -> int:
    """Make one system call; ``bytes`` are passed by address, None as a null pointer.

    Raises:
        OSError: the kernel refused; the text names the call.
        SandboxError: this machine has no table of numbers.
    """
    number = find_machine().numbers[name]
    words = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    result: int = _libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def system_call(name: str, *kinds: type[ctypes.c_long | ctypes.c_char_p]) -> Callable[..., None]:
    """One system call with its number and the C types of its arguments looked up beforehand, for use in a loop.

    Calling it raises what :func:`syscall` raises.
    """
    call, number = _libc["syscall"], find_machine().numbers[name]  # an index, unlike an attribute, is a new object
    call.restype, call.argtypes = ctypes.c_long, (ctypes.c_long, *kinds)

    def checked(*arguments: int | bytes) -> None:
        if call(number, *arguments) < 0:
            error = ctypes.get_errno()
            raise OSError(error, f"{name}: {os.strerror(error)}")

    return checked


def prctl(option: int, *arguments: int) -> None:
    """Change an attribute of this process.

    Raises:
        OSError: the kernel refused.
    """
    syscall("prctl", option, *arguments, *[0] * (4 - len(arguments)))


def die_with_parent() -> None:
    """Ask for SIGKILL when the thread that forked us ends; lost if that has happened already."""
    prctl(_SET_PDEATHSIG, _SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, so that they can be reaped."""
    prctl(_SET_CHILD_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """Give up for good whatever set-user-id files could grant; Landlock and seccomp ask for it."""
    prctl(_SET_NO_NEW_PRIVS, 1)
