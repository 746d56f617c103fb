"""Give a process its own users, processes, mounts, network, IPC and host name. Says nothing about files' rights.

Nothing is ever created on the real disk: the private folder is a tmpfs over an existing folder, seen from inside only.
"""

from __future__ import annotations

import os
import struct
import sys
from typing import Final

from armillary.core.errors import SandboxError
from armillary.verify.sandbox.kernel import syscall

_FLAGS: Final = {
    "mount": 0x0002_0000,
    "cgroup": 0x0200_0000,
    "uts": 0x0400_0000,
    "ipc": 0x0800_0000,
    "user": 0x1000_0000,
    "pid": 0x2000_0000,
    "net": 0x4000_0000,
}
_NOBODY: Final = 65534

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_PRIVATE: Final = 1 << 18
_ATTR_RDONLY, _ATTR_NOSUID = 1, 2
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000

_PRIVATE_FOLDERS: Final = ("/tmp", "/var/tmp", "/mnt", "/srv")  # noqa: S108 - only mount points, nothing is put there
_MAX_FILES: Final = 1024


def enter() -> str:
    """Move this process into namespaces of its own; its next child is process 1 there.

    Raises:
        OSError: the kernel or an administrator forbids one of them.
    """
    user, group = os.geteuid(), os.getegid()
    flags = 0
    for flag in _FLAGS.values():
        flags |= flag
    syscall("unshare", flags)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{_NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{_NOBODY} {group} 1")
    return " ".join(_FLAGS)


def mount_private_tree(folder: str, size_bytes: int) -> str:
    """Make every mount read-only, then lay an empty writable tmpfs over ``folder`` and an empty one over ``/proc``.

    The working directory becomes ``folder``.

    Raises:
        OSError: a mount was refused.
    """
    attributes = struct.pack("=QQQQ", _ATTR_RDONLY | _ATTR_NOSUID, 0, _MS_PRIVATE, 0)
    syscall("mount_setattr", _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes))
    _mount_tmpfs(folder, _MS_NOSUID | _MS_NODEV, f"size={size_bytes},nr_inodes={_MAX_FILES},mode=700")
    _mount_tmpfs("/proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_RDONLY, "size=4096,nr_inodes=2,mode=555")
    os.chdir(folder)
    return f"read-only, {size_bytes >> 20} MiB at {folder}, no /proc"


def choose_private_folder() -> str:
    """An existing folder that may be hidden by the tmpfs because the interpreter does not live in it.

    Raises:
        SandboxError: none of the usual ones will do.
    """
    needed = [os.path.realpath(path) for path in (*sys.path, sys.base_prefix) if path]
    for folder in _PRIVATE_FOLDERS:
        real = os.path.realpath(folder)
        if os.path.isdir(folder) and not any(path == real or path.startswith(real + "/") for path in needed):
            return folder
    raise SandboxError(f"no folder for the private tmpfs: tried {', '.join(_PRIVATE_FOLDERS)}")


def _mount_tmpfs(folder: str, flags: int, options: str) -> None:
    syscall("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options.encode())


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
