"""Numbers of the system calls that the jail uses or forbids, per machine. A table and one look-up; calls nothing."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from armillary.core.errors import SandboxError

LAST_KNOWN: Final = 469
"""Highest number in this table's kernel (6.17); the filter answers later ones with ENOSYS."""

# name: x86_64, aarch64; -1 where the machine never had the call.
_NUMBERS: Final[dict[str, tuple[int, int]]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bind": (49, 200),
    "bpf": (321, 280),
    "capset": (126, 91),
    "chmod": (90, -1),
    "chown": (92, -1),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close_range": (436, 436),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fcntl": (72, 25),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "flock": (73, 32),
    "fork": (57, -1),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, -1),
    "get_robust_list": (274, 100),
    "init_module": (175, 105),
    "inotify_add_watch": (254, 27),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "lchown": (94, -1),
    "listen": (50, 201),
    "listmount": (458, 458),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "mbind": (237, 235),
    "membarrier": (324, 283),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "mknod": (133, -1),
    "mknodat": (259, 33),
    "modify_ldt": (154, -1),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_notify": (244, 184),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "seccomp": (317, 277),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "statmount": (457, 457),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "tgkill": (234, 131),
    "timer_create": (222, 107),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, -1),
    "userfaultfd": (323, 282),
    "utime": (132, -1),
    "utimensat": (280, 88),
    "utimes": (235, -1),
    "vfork": (58, -1),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor family as the kernel's filters see it.

    Attributes:
        audit_arch: the kernel's name for the calling convention.
        has_x32: whether a second convention hides behind the same name.
        numbers: name of a call -> number; a call that the machine lacks is absent.
    """

    name: str
    audit_arch: int
    has_x32: bool
    numbers: MappingProxyType[str, int]


def _machine(name: str, audit_arch: int, column: int, *, has_x32: bool = False) -> Machine:
    numbers = {call: pair[column] for call, pair in _NUMBERS.items() if pair[column] >= 0}
    return Machine(name, audit_arch, has_x32, MappingProxyType(numbers))


MACHINES: Final = MappingProxyType(
    {
        "x86_64": _machine("x86_64", 0xC000_003E, 0, has_x32=True),
        "aarch64": _machine("aarch64", 0xC000_00B7, 1),
    }
)


def find_machine(name: str | None = None) -> Machine:
    """Table of the machine with this name, by default the one we run on.

    Raises:
        SandboxError: not Linux, a 32-bit interpreter, or a machine without a table.
    """
    if name is None:
        if sys.platform != "linux":
            raise SandboxError(f"the sandbox needs Linux, this is {sys.platform}")
        if sys.maxsize < 2**32:
            raise SandboxError("the sandbox needs a 64-bit Python, this one has 32 bits")
        name = os.uname().machine
    if name not in MACHINES:
        raise SandboxError(f"the sandbox has no table for machine {name!r}", hint=f"known: {', '.join(MACHINES)}")
    return MACHINES[name]
