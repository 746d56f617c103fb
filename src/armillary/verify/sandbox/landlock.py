"""Leave a process only the files that are granted by path: the interpreter to read, one folder to write.

Covers content, names and device control, not metadata such as modes and times (see ``seccomp``). Every ABI since 1
works; a newer one also closes TCP, abstract sockets and signals.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from stat import S_ISDIR
from typing import Final

from armillary.core.errors import SandboxError
from armillary.verify.sandbox.kernel import syscall, system_call
from armillary.verify.sandbox.packages import Place

_CREATE_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NEVER_GRANTED: Final = _EXECUTE | _MAKE_CHAR | _MAKE_SOCK | _MAKE_BLOCK | _IOCTL_DEV

# ABI -> number of file rights it knows; an ABI past the last one knows at least as many.
_NUM_RIGHTS: Final = (0, 13, 14, 15, 15, 16)
_NET_TCP: Final = 0b11  # bind, connect; since ABI 4
_SCOPES: Final = 0b11  # abstract sockets, signals; since ABI 6

_FOREIGN_PACKAGES: Final = ("site-packages", "dist-packages")
_PLAIN_FILES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/etc/ld.so.cache")


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights on one path and, for a folder, on everything beneath it."""

    path: str
    rights: int


def abi_version() -> int:
    """The kernel's Landlock ABI; 0 where there is none."""
    try:
        return syscall("landlock_create_ruleset", None, 0, _CREATE_VERSION)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP):
            return 0
        raise


@dataclass(frozen=True, slots=True)
class Rule:
    """A grant in the kernel's form, with its path open, so that a child spends microseconds on it."""

    descriptor: int
    attributes: bytes


def open_grants(grants: Sequence[Grant], lowest_fd: int = 0) -> tuple[Rule, ...]:
    """Open every path that is there; the descriptors, which give no access, stay open in this process.

    They get the number ``lowest_fd`` and above, to leave the lower ones to others.
    """
    opened = ((_open_path(grant.path, lowest_fd), grant.rights) for grant in grants)
    return tuple(_rule(descriptor, rights) for descriptor, rights in opened if descriptor >= 0)


def restrict(rules: Sequence[Rule], writable_folder: str) -> str:
    """Lock this process to ``rules`` and, unless it is empty, ``writable_folder``; needs no-new-privileges.

    Raises:
        OSError: the kernel refused.
        SandboxError: the kernel has no Landlock.
    """
    abi = abi_version()
    if abi < 1:
        raise SandboxError("this kernel has no Landlock", hint="it is in Linux 5.13 and later, when enabled at boot")
    handled = (1 << _NUM_RIGHTS[min(abi, len(_NUM_RIGHTS) - 1)]) - 1
    attributes = struct.pack("=QQQ", handled, _NET_TCP if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = syscall("landlock_create_ruleset", attributes, size, 0)
    add_rule = system_call("landlock_add_rule", ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_long)
    for rule in rules:
        add_rule(ruleset, _RULE_PATH_BENEATH, rule.attributes, 0)
    own = [Grant(writable_folder, handled & ~_NEVER_GRANTED)] if writable_folder else []
    for rule in open_grants([*own, Grant("/dev/null", _READ_FILE | _WRITE_FILE)]):
        add_rule(ruleset, _RULE_PATH_BENEATH, rule.attributes, 0)
        os.close(rule.descriptor)
    syscall("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)
    return f"ABI {abi}, {len(rules)} grants"


def interpreter_grants() -> tuple[Grant, ...]:
    """What a program needs to read to import the standard library, packages installed beside it left out."""
    grants = [Grant(path, _READ_FILE) for path in _PLAIN_FILES]
    grants.append(Grant("/usr/share/zoneinfo", _READ_FILE | _READ_DIR))
    for folder in dict.fromkeys(os.path.realpath(path) for path in sys.path if path):
        grants += _entry_by_entry(folder)
    grants += _shared_libraries()
    return tuple(grant for grant in grants if os.path.exists(grant.path))


def package_grants(places: Sequence[Place]) -> tuple[Grant, ...]:
    """What a program needs to read to import the packages in ``places``; names of their neighbours show."""
    folders = [Grant(place.folder, _READ_DIR) for place in places]
    entries = [f"{place.folder}/{entry}" for place in places for entry in place.entries]
    return (*folders, *(Grant(path, _READ_FILE | _READ_DIR) for path in entries))


def _shared_libraries() -> Iterator[Grant]:
    own = os.path.realpath(sysconfig.get_config_var("LIBDIR") or "/usr/lib64")
    triplet = sysconfig.get_config_var("MULTIARCH")
    whole = [os.path.realpath(path) for path in (f"/usr/lib/{triplet}", f"/lib/{triplet}")]
    whole = [path for path in dict.fromkeys(whole) if triplet and os.path.isdir(path)]
    yield from (Grant(path, _READ_FILE | _READ_DIR) for path in whole)
    # Other folders of libraries may also hold Python's packages: name the libraries one by one.
    for folder in {own, *([] if whole else ["/usr/lib64", "/lib64", "/usr/lib", "/lib"])} - {*whole}:
        yield from (Grant(path, _READ_FILE) for path in glob(f"{folder}/lib*.so*") + glob(f"{folder}/ld-*.so*"))


def _entry_by_entry(folder: str) -> Iterator[Grant]:
    if not os.path.isdir(folder):
        yield Grant(folder, _READ_FILE)
        return
    # The right to list goes down the whole tree, so names of foreign packages show; their content does not.
    yield Grant(folder, _READ_DIR)
    for entry in os.scandir(folder):
        if entry.name not in _FOREIGN_PACKAGES:
            yield Grant(entry.path, _READ_FILE | _READ_DIR)


def _open_path(path: str, lowest_fd: int) -> int:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        # Gone since the list was made: then there is nothing to grant.
        return -1
    if descriptor >= lowest_fd:
        return descriptor
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest_fd)
    os.close(descriptor)
    return high


def _rule(descriptor: int, rights: int) -> Rule:
    if not S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= _FILE_RIGHTS
    return Rule(descriptor, struct.pack("=Qi", rights, descriptor))
