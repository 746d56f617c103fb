"""Bound what one process may use and drop what it inherited: resources, capabilities, descriptors, environment."""

from __future__ import annotations

import fcntl
import os
import resource
import struct
import sys
from typing import Final

from armillary.verify.sandbox.kernel import forbid_new_privileges, syscall

RESULT_FD: Final = 3
START_FD: Final = 4
JOB_FD: Final = 5
"""The last two are closed before the program is loaded."""

_STACK_BYTES: Final = 64 << 20
_MAX_OPEN_FILES: Final = 64
_MAX_PROCESSES: Final = 64
_CAPABILITY_VERSION: Final = 0x2008_0522

HIGH_FD: Final = _MAX_OPEN_FILES
"""Above what a jailed process may open: descriptors from here on take no room from it while it locks itself in."""


def bound_resources(cpu_s: int, memory_bytes: int, disk_bytes: int, *, bound_processes: bool) -> str:
    """Set the kernel's limits; one that is stricter already stays.

    ``bound_processes`` also bounds processes and threads. The kernel counts all of a user's, so it fits only inside a
    user namespace, and does nothing for the real root: the filter on ``clone`` does not depend on it.

    Raises:
        OSError: the kernel refused.
    """
    wanted = {
        resource.RLIMIT_CPU: cpu_s,
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_FSIZE: disk_bytes // 4,
        resource.RLIMIT_NOFILE: _MAX_OPEN_FILES,
        resource.RLIMIT_STACK: _STACK_BYTES,
        resource.RLIMIT_MEMLOCK: 0,
    }
    if bound_processes:
        wanted[resource.RLIMIT_NPROC] = _MAX_PROCESSES
    for kind, value in wanted.items():
        _lower(kind, value)
    return f"{cpu_s} s CPU, {memory_bytes >> 20} MiB, {_MAX_OPEN_FILES} files"


def forbid_core_dumps() -> None:
    """Let no crash of this process or its children write a core file or wake the machine's crash handler."""
    # 0 would still wake a handler that reads from a pipe; 1 is the kernel's value for neither.
    _lower(resource.RLIMIT_CORE, 1)


def drop_privileges() -> str:
    """Give up every capability, and for good whatever a file could grant.

    Raises:
        OSError: the kernel refused.
    """
    forbid_new_privileges()
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    syscall("capset", header, bytes(24))
    return "no capabilities, no new privileges"


def keep_descriptors(output_fd: int, result_fd: int, start_fd: int, job_fd: int) -> None:
    """Make 0 an empty standard input, 1 and 2 ``output_fd``, and the others ``RESULT_FD``, ``START_FD``, ``JOB_FD``.

    The rest is closed by :func:`close_others`: the rules of ``landlock`` are needed until they are in force.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    sources = (null, output_fd, output_fd, result_fd, start_fd, job_fd)
    # Out of the way first, as a source may have a number that is wanted for another.
    high = [fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, HIGH_FD) for source in sources]
    for target, source in enumerate(high):
        os.dup2(source, target, inheritable=False)


def close_others() -> None:
    """Close every descriptor but those that :func:`keep_descriptors` made."""
    syscall("close_range", JOB_FD + 1, 0xFFFF_FFFF, 0)


def close_all_but(kept_fd: int) -> None:
    """Close every descriptor but one, which becomes 0."""
    os.dup2(kept_fd, 0)
    syscall("close_range", 1, 0xFFFF_FFFF, 0)


def allow_many_files() -> None:
    """Let this process open as many files as it may, for the rules of ``landlock``; children get a limit of theirs."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def clear_environment() -> None:
    """Forget every variable, and the command line that started the interpreter."""
    os.environ.clear()
    sys.argv[:] = ["candidate.py"]
    sys.orig_argv[:] = []


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    # No limit at all is -1 here, which is less than every number.
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (limit, limit))
