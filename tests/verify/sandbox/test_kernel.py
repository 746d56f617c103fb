"""Calls to the kernel do what their names say; what cannot be undone is done to a thread of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from own_thread import error_of, in_a_thread

from armillary.verify.sandbox import kernel, seccomp
from armillary.verify.sandbox.syscalls import find_machine

GET_DEATH_SIGNAL, SET_SUBREAPER = 2, 36


def new_privileges_are_forbidden() -> bool:
    return "NoNewPrivs:\t1" in Path("/proc/thread-self/status").read_text()


def test_new_privileges_stay_forbidden_once_they_are() -> None:
    def act() -> bool:
        kernel.forbid_new_privileges()
        return new_privileges_are_forbidden()

    assert in_a_thread(act)
    assert not new_privileges_are_forbidden()


def test_the_death_of_the_parent_is_asked_to_be_a_kill() -> None:
    def act() -> int:
        kernel.die_with_parent()
        asked = ctypes.c_int()
        kernel.prctl(GET_DEATH_SIGNAL, ctypes.addressof(asked))
        return asked.value

    assert in_a_thread(act) == signal.SIGKILL


def test_an_orphan_comes_to_the_process_that_adopts_orphans() -> None:
    kernel.adopt_orphans()
    try:
        command = ["/bin/sh", "-c", "sleep 0.1 >/dev/null & echo $!"]
        orphan = int(subprocess.run(command, capture_output=True, check=True).stdout)
        assert os.waitpid(orphan, 0) == (orphan, 0)
    finally:
        kernel.prctl(SET_SUBREAPER, 0)


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(OSError, match="prctl: Invalid argument"):
        kernel.prctl(0x7FFF_FFFF)


def test_a_filter_forbids_to_one_thread_and_not_to_the_others() -> None:
    def act() -> type[OSError] | None:
        kernel.forbid_new_privileges()
        seccomp.install(seccomp.assemble(seccomp.Policy(("memfd_create",), threads_only=False), find_machine()))
        return error_of(lambda: os.memfd_create("x"))

    assert in_a_thread(act) is PermissionError
    os.close(os.memfd_create("x"))


def test_a_filter_that_is_no_program_is_refused() -> None:
    def act() -> None:
        kernel.forbid_new_privileges()
        seccomp.install(bytes(8))

    with pytest.raises(OSError, match="prctl: Invalid argument"):
        in_a_thread(act)


@pytest.mark.parametrize("has_read_only_tree", [True, False])
def test_the_jails_filter_forbids_what_a_program_has_no_use_for(has_read_only_tree: bool, tmp_path: Path) -> None:
    def act() -> tuple[str, list[type[OSError] | None]]:
        kernel.forbid_new_privileges()
        report = seccomp.lock_calls(has_read_only_tree=has_read_only_tree)
        forbidden = [
            socket.socket,
            lambda: os.kill(os.getppid(), 0),
            lambda: os.memfd_create("x"),
            lambda: os.chmod(tmp_path, 0o700),
            lambda: os.kill(os.getpid(), 0),
        ]
        return report, [error_of(attempt) for attempt in forbidden]

    report, errors = in_a_thread(act)
    assert report.startswith(f"{find_machine().name}, ")
    metadata = None if has_read_only_tree else PermissionError
    assert errors == [PermissionError, PermissionError, PermissionError, metadata, None]
