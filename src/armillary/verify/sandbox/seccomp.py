"""Allow the system calls that honest programs make, with a filter in the kernel, and no other.

The list was measured on x86_64 over the honest programs of the tests and rounded off with what other versions of Python
and of the C library call for the same purpose; aarch64's follows from it by name. Calls of recent kernels that are not
on it do not exist for the program, so that libraries fall back to older ones; everything else is not permitted. Sees
numbers and integer arguments only, never what a pointer points to; files are the business of ``landlock``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from armillary.verify.sandbox.kernel import prctl
from armillary.verify.sandbox.syscalls import LAST_KNOWN, Machine, find_machine

_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_OFFSET, _ARCH_OFFSET, _ARGUMENT_OFFSET = 0, 4, 16
_ALLOW: Final = 0x7FFF_0000
_KILL_PROCESS: Final = 0x8000_0000
_FAIL: Final = 0x0005_0000
_X32_BIT: Final = 0x4000_0000

_CLONE_THREAD: Final = 0x0001_0000
_CLONE_NEW_ANY: Final = 0x7E02_0080
_AF_UNIX: Final = 1
_SET_NAME, _GET_NAME, _SET_VMA = 15, 16, 0x5356_4D41
_SET_STATUS_FLAGS: Final = 4
_SIGNAL_WHEN_READY: Final = 0x2000  # O_ASYNC

_NEVER_TEXT: Final = """
    accept accept4 acct add_key adjtimex bind bpf chroot clock_adjtime clock_settime connect delete_module execve
    execveat fanotify_init fanotify_mark finit_module flock fork fsconfig fsmount fsopen fspick get_robust_list
    init_module inotify_add_watch io_uring_enter io_uring_register io_uring_setup ioperm iopl ioprio_set kcmp
    kexec_file_load kexec_load keyctl listen listmount lookup_dcookie mbind memfd_create memfd_secret migrate_pages
    mknod mknodat modify_ldt mount mount_setattr move_mount move_pages mq_notify mq_open mq_unlink msgctl msgget
    msgrcv msgsnd name_to_handle_at open_by_handle_at open_tree open_tree_attr perf_event_open personality
    pidfd_getfd pidfd_open pidfd_send_signal pivot_root process_madvise process_mrelease process_vm_readv
    process_vm_writev ptrace quotactl quotactl_fd reboot request_key rt_sigqueueinfo rt_tgsigqueueinfo
    sched_setaffinity sched_setattr sched_setparam sched_setscheduler seccomp semctl semget semop semtimedop
    set_mempolicy set_mempolicy_home_node setdomainname sethostname setns setpriority settimeofday shmat shmctl
    shmget socket statmount swapoff swapon syslog timer_create tkill umount2 unshare uselib userfaultfd vfork
    vhangup vmsplice
"""

NEVER: Final = tuple(_NEVER_TEXT.split())
"""Calls that must fail whatever else is allowed: the ways out of a jail that are known."""

_ALLOWED_TEXT: Final = """
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek
    futex mmap munmap mprotect mremap madvise brk msync
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrandom
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack restart_syscall
    pause alarm getitimer setitimer timerfd_create timerfd_gettime timerfd_settime
    open openat openat2 creat close close_range dup dup2 dup3 pipe pipe2 eventfd2
    stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2
    getcwd chdir fchdir getdents getdents64 mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat
    unlink unlinkat readlink readlinkat umask
    ftruncate fallocate fadvise64 fsync fdatasync sendfile copy_file_range
    getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
    poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    sendto recvfrom sendmsg recvmsg shutdown getsockname getpeername getsockopt setsockopt
    getpid getppid gettid getpgid getpgrp getsid getuid geteuid getgid getegid getgroups getresuid getresgid
    getpriority getrlimit getrusage sysinfo uname getcpu
    sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval sched_yield set_robust_list set_tid_address rseq wait4 waitid exit exit_group
"""

ALLOWED: Final = tuple(_ALLOWED_TEXT.split())
"""Calls with any arguments: on own memory, files, clocks and signals, on threads, and what a process asks of itself.
The socket calls serve pairs of connected sockets: there is no other way to get a socket."""

_METADATA_TEXT: Final = """
    chmod chown fchmod fchmodat fchmodat2 fchown fchownat file_setattr fremovexattr fsetxattr futimesat lchown
    lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat truncate utime utimensat utimes
"""

METADATA: Final = tuple(_METADATA_TEXT.split())
"""Changes to files that Landlock does not see; harmless where every outer mount is read-only."""

_OWN_METADATA: Final = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2"),
    *("futimesat", "truncate", "utime", "utimensat", "utimes"),
)
_FIRST_RECENT: Final = 424  # since Linux 5.1 the numbers go on from here on every machine


@dataclass(frozen=True, slots=True)
class Policy:
    """What a filter forbids.

    Attributes:
        denied: calls that fail with EPERM.
        allowed: unless it is None, the only other calls that are allowed.
        only: (call, index of its argument) -> the values that the argument may have.
        without: (call, value of its argument 1) -> bits that its argument 2 may not have.
        threads_only: whether ``clone`` may only make threads.
    """

    denied: tuple[str, ...]
    only: Mapping[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    without: Mapping[tuple[str, int], int] = field(default_factory=dict)
    threads_only: bool = True
    allowed: tuple[str, ...] | None = None


def jail_policy(pid: int, *, has_read_only_tree: bool) -> Policy:
    """The policy of a jailed process that sees itself as ``pid``; it may signal only itself."""
    return Policy(
        denied=NEVER if has_read_only_tree else NEVER + METADATA,
        allowed=ALLOWED + _OWN_METADATA if has_read_only_tree else ALLOWED,
        only={
            ("kill", 0): (pid,),
            ("tgkill", 0): (pid,),
            ("prlimit64", 0): (0, pid),
            ("socketpair", 0): (_AF_UNIX,),
            # Not on the list: giving up the death signal, with which a program would outlive its keepers.
            ("prctl", 0): (_SET_NAME, _GET_NAME, _SET_VMA),
            # FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TCGETS, TIOCGWINSZ: what Python asks of its own files.
            # Not on the list: FIOSETOWN, SIOCSPGRP and FIOASYNC, which do what the owner of a file does below.
            ("ioctl", 1): (0x541B, 0x5421, 0x5451, 0x5450, 0x5401, 0x5413),
            # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC. Not on the list:
            # F_SETOWN and F_SETSIG, with which the kernel sends any signal to any process of the user.
            ("fcntl", 1): (0, 1, 2, 3, _SET_STATUS_FLAGS, 5, 6, 7, 1030),
            # What the C library asks of its own process; the other commands interrupt processors that others run on.
            ("membarrier", 0): (0, 8, 16),
        },
        without={("fcntl", _SET_STATUS_FLAGS): _SIGNAL_WHEN_READY},
    )


def assemble(policy: Policy, machine: Machine) -> bytes:
    """The policy as a program for the kernel's filter machine, eight bytes an instruction."""
    numbers = machine.numbers
    program = [_op(_LOAD, _ARCH_OFFSET), _op(_EQUAL, machine.audit_arch, 1, 0), _op(_RETURN, _KILL_PROCESS)]
    program.append(_op(_LOAD, _NUMBER_OFFSET))
    if machine.has_x32:
        program += [_op(_AT_LEAST, _X32_BIT, 0, 1), _op(_RETURN, _KILL_PROCESS)]
    program += [_op(_AT_LEAST, LAST_KNOWN + 1, 0, 1), _op(_RETURN, _FAIL | errno.ENOSYS)]
    if policy.threads_only:
        program += _threads_only(numbers)
    for (name, command), bits in policy.without.items():
        program += _without_bits(numbers[name], command, bits)
    for (name, index), values in policy.only.items():
        program += _only_values(numbers[name], index, values)
    program += _for_each(policy.denied, numbers, _FAIL | errno.EPERM)
    if policy.allowed is None:
        program.append(_op(_RETURN, _ALLOW))
    else:
        program += _for_each(policy.allowed, numbers, _ALLOW)
        program += [_op(_AT_LEAST, _FIRST_RECENT, 0, 1), _op(_RETURN, _FAIL | errno.ENOSYS)]
        program.append(_op(_RETURN, _FAIL | errno.EPERM))
    return b"".join(program)


def install(program: bytes) -> None:
    """Put the filter on this thread and all that it will start; needs no-new-privileges, cannot be undone.

    Raises:
        OSError: the kernel refused.
    """
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    pointer = ctypes.create_string_buffer(header, len(header))
    prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(pointer))


def lock_calls(*, has_read_only_tree: bool) -> str:
    """Install the jail's policy on this process.

    Raises:
        OSError: the kernel refused.
        SandboxError: this machine has no table of numbers.
    """
    program = jail_program(os.getpid(), has_read_only_tree)
    install(program)
    return f"{find_machine().name}, {len(program) // 8} instructions"


@cache
def jail_program(pid: int, has_read_only_tree: bool) -> bytes:
    """The assembled policy; a process that asked once has it in memory, and so have those that it forks.

    Raises:
        SandboxError: this machine has no table of numbers.
    """
    return assemble(jail_policy(pid, has_read_only_tree=has_read_only_tree), find_machine())


def _for_each(names: Iterable[str], numbers: Mapping[str, int], verdict: int) -> Iterator[bytes]:
    for name in names:
        if name in numbers:
            yield from (_op(_EQUAL, numbers[name], 0, 1), _op(_RETURN, verdict))


def _threads_only(numbers: Mapping[str, int]) -> Iterable[bytes]:
    # clone3 keeps its flags behind a pointer; without it the C library falls back to clone, whose flags we can see.
    return [
        _op(_EQUAL, numbers["clone3"], 0, 1),
        _op(_RETURN, _FAIL | errno.ENOSYS),
        _op(_EQUAL, numbers["clone"], 0, 5),
        _op(_LOAD, _ARGUMENT_OFFSET),
        _op(_ANY_BIT, _CLONE_NEW_ANY, 1, 0),
        _op(_ANY_BIT, _CLONE_THREAD, 1, 0),
        _op(_RETURN, _FAIL | errno.EPERM),
        _op(_RETURN, _ALLOW),
    ]


def _without_bits(number: int, command: int, bits: int) -> Iterable[bytes]:
    return [
        _op(_EQUAL, number, 0, 6),
        _op(_LOAD, _ARGUMENT_OFFSET + 8),
        _op(_EQUAL, command, 0, 3),
        _op(_LOAD, _ARGUMENT_OFFSET + 16),
        _op(_ANY_BIT, bits, 0, 1),
        _op(_RETURN, _FAIL | errno.EPERM),
        # What stands further down compares the number again.
        _op(_LOAD, _NUMBER_OFFSET),
    ]


def _only_values(number: int, index: int, values: tuple[int, ...]) -> Iterable[bytes]:
    # The low half decides: every argument that is listed is an int for the kernel, which drops the high half too.
    checks = [_op(_EQUAL, value, len(values) - position, 0) for position, value in enumerate(values)]
    return [
        _op(_EQUAL, number, 0, len(values) + 3),
        _op(_LOAD, _ARGUMENT_OFFSET + 8 * index),
        *checks,
        _op(_RETURN, _FAIL | errno.EPERM),
        _op(_RETURN, _ALLOW),
    ]


def _op(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand & 0xFFFF_FFFF)
