"""A small process, started before any secret exists, that forks one locked-in child per job and reaps it.

Single-threaded, standard library only, with nothing in memory or environment that a child must not see. It serves one
job at a time and ends when its channel closes or its parent dies.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from typing import Any, Final, NoReturn, TextIO

from armillary.verify.sandbox import child, jail, landlock, limits, namespaces, packages, seccomp
from armillary.verify.sandbox.kernel import adopt_orphans
from armillary.verify.sandbox.wire import KILL, MAX_MESSAGE_BYTES, READY, Job, job_from_bytes, layers_line

_NUM_DESCRIPTORS: Final = 4
_FIRST_PROCESS: Final = 1
_HARNESS_FAILED: Final = 70
# Bound before any program runs in this process.
_leave: Final = os._exit
NO_PACKAGES: Final = packages.Outfit()

_PRELOADED: Final = (
    "_strptime abc array ast asyncio base64 bisect calendar cmath collections contextlib copy ctypes dataclasses "
    "datetime decimal enum fractions functools graphlib hashlib heapq inspect io itertools json math numbers operator "
    "pprint queue random re socket statistics string struct tempfile textwrap threading time traceback types typing "
    "unicodedata uuid zlib"
)


class Zygote:
    """Forks children for the jobs that arrive on a channel.

    Args:
        channel: seqpacket socket to the parent.
        parent: pidfd of the parent, or -1 where the kernel gives none.
        outfit: installed packages that children may import; they go on the path of this process.
    """

    def __init__(self, channel: socket.socket, parent: int, outfit: packages.Outfit) -> None:
        self._channel = channel
        self._parent = parent
        grants = landlock.interpreter_grants() + landlock.package_grants(outfit.places)
        self._rules = landlock.open_grants(grants, limits.HIGH_FD)
        packages.open_to_imports(outfit.places)
        self._private_folder = namespaces.choose_private_folder()
        seccomp.jail_program(_FIRST_PROCESS, True)  # what every child in a namespace of its own will ask for

    def announce(self) -> None:
        """Tell the parent that jobs may come."""
        self._channel.send(READY)

    def serve(self) -> None:
        """Answer jobs until the channel closes or the parent dies."""
        while self._wait(self._channel.fileno()):
            message, descriptors, _, _ = socket.recv_fds(self._channel, MAX_MESSAGE_BYTES, _NUM_DESCRIPTORS)
            if not message:
                return
            if message == KILL:
                continue  # the job had just ended when the parent lost patience
            reply = self._run(json.loads(message), descriptors)
            if reply is None:
                return
            self._channel.send(json.dumps(reply).encode())

    def _wait(self, *descriptors: int) -> list[int]:
        """The descriptors that have something to say; none when the parent is dead."""
        poller = select.poll()
        for descriptor in (*descriptors, self._parent):
            if descriptor >= 0:
                poller.register(descriptor, select.POLLIN)
        ready = [descriptor for descriptor, _ in poller.poll()]
        return [] if self._parent in ready else ready

    def _run(self, header: dict[str, Any], descriptors: list[int]) -> dict[str, Any] | None:
        order = jail.Order(**header, private_folder=self._private_folder, rules=self._rules)
        keeper_pid = os.getpid()
        try:
            pid = os.fork()
            if pid == 0:
                _become_child(order, keeper_pid, *descriptors)
        except OSError as error:
            return {"error": f"fork: {error.strerror}"}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return self._attend(pid)

    def _attend(self, pid: int) -> dict[str, Any] | None:
        """Wait for a child, or kill it on demand; None when nobody is left to tell."""
        handle = os.pidfd_open(pid)
        try:
            ready = self._wait(handle, self._channel.fileno())
        finally:
            os.close(handle)
        is_orphaned = False
        if handle not in ready:
            os.kill(pid, signal.SIGKILL)
            is_orphaned = not ready or self._has_closed()
        _, status, usage = os.wait4(pid, 0)
        _reap_all()
        reply = {"code": os.waitstatus_to_exitcode(status), "cpu_s": usage.ru_utime + usage.ru_stime}
        return None if is_orphaned else reply

    def _has_closed(self) -> bool:
        try:
            return self._channel.recv(MAX_MESSAGE_BYTES) == b""
        except ConnectionError:
            return True


def _reap_all() -> None:
    """Wait for what a killed child left: process 1 of its namespace, which dies with its parent and comes to us."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _become_child(
    order: jail.Order, keeper_pid: int, job_fd: int, start_fd: int, output_fd: int, result_fd: int
) -> NoReturn:
    try:
        limits.keep_descriptors(output_fd, result_fd, start_fd, job_fd)
        channel = child.ResultChannel(limits.RESULT_FD)
        try:
            layers = jail.lock_in(order, keeper_pid)
        except jail.LayerError as error:
            channel.send(layers_line(error.layers))
            _leave(1)
        channel.send(layers_line(layers))
        output = _open_streams()
        _forget_ourselves()
        child.serve(_await_job(), channel, output)
        _leave(0)
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as a second zygote
        # Even where the program has patched what printing needs.
        try:
            traceback.print_exc()
        finally:
            _leave(_HARNESS_FAILED)


def _await_job() -> Job:
    """The job, which may come long after this process was locked in; ends the process when nobody will send one."""
    if not os.read(limits.START_FD, 1):
        os._exit(0)
    os.close(limits.START_FD)
    with open(limits.JOB_FD, "rb") as file:
        file.seek(0)
        return job_from_bytes(file.read())


def _open_streams() -> TextIO:
    """Fresh standard streams over the descriptors that the jail left; returns the standard output."""
    opened = [os.fdopen(0, encoding="utf-8", closefd=False)]
    for fd, buffering in ((1, -1), (2, 1)):
        opened.append(os.fdopen(fd, "w", buffering, encoding="utf-8", errors="backslashreplace", closefd=False))
    sys.stdin, sys.stdout, sys.stderr = opened
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = opened  # type: ignore[misc]  # as the interpreter does at its start
    return opened[1]


def _forget_ourselves() -> None:
    """Take our modules out of the program's sight: they are no part of the standard library."""
    package = __name__.partition(".")[0]
    for name in list(sys.modules):
        if name.partition(".")[0] == package:
            del sys.modules[name]


def main(channel_fd: int, parent_pid: int, outfit: packages.Outfit = NO_PACKAGES) -> None:
    """Run a zygote on an inherited channel until its parent is done with it."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    adopt_orphans()
    limits.forbid_core_dumps()
    limits.allow_many_files()
    try:
        parent = os.pidfd_open(parent_pid)
    except OSError:
        parent = -1
    zygote = Zygote(socket.socket(fileno=channel_fd), parent, outfit)
    packages.preload(_PRELOADED.split())
    packages.preload(outfit.preload)
    gc.collect()
    gc.freeze()
    zygote.announce()
    try:
        zygote.serve()
    except ConnectionError:
        return  # the parent closed its end while we spoke: there is nobody left to serve
