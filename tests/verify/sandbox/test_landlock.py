"""What is granted, and what a thread that locks itself in can still do; no other layer helps."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from own_thread import error_of, in_a_thread

from armillary.core.errors import SandboxError
from armillary.verify.sandbox import landlock, seccomp
from armillary.verify.sandbox.kernel import forbid_new_privileges
from armillary.verify.sandbox.landlock import (
    Grant,
    abi_version,
    interpreter_grants,
    open_grants,
    package_grants,
    restrict,
)
from armillary.verify.sandbox.namespaces import choose_private_folder
from armillary.verify.sandbox.packages import Place
from armillary.verify.sandbox.syscalls import find_machine


def test_this_kernel_has_landlock() -> None:
    assert abi_version() >= 1


def test_everything_that_is_granted_exists() -> None:
    assert all(os.path.exists(grant.path) for grant in interpreter_grants())


def test_the_standard_library_is_granted() -> None:
    paths = {grant.path for grant in interpreter_grants()}
    assert os.path.realpath(os.__file__) in {os.path.realpath(path) for path in paths}


def test_no_folder_of_installed_packages_is_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    standard_library = os.path.dirname(os.path.realpath(os.__file__))
    monkeypatch.setattr(sys, "path", [standard_library, f"{standard_library}/nowhere.zip"])
    reading = 1 << 2
    readable = {grant.path for grant in interpreter_grants() if grant.rights & reading}
    assert not any(path.endswith(("site-packages", "dist-packages")) for path in readable)
    assert standard_library not in readable


def test_of_a_folder_of_packages_the_names_can_be_listed_and_the_chosen_entries_read() -> None:
    grants = {grant.path: grant.rights for grant in package_grants([Place("/site", ("one", "two.py"))])}
    assert {path: bool(rights & 1 << 2) for path, rights in grants.items()} == {
        "/site": False, "/site/one": True, "/site/two.py": True,
    }  # fmt: skip


def test_the_paths_of_grants_are_opened_where_the_caller_wants_them_and_missing_ones_left_out(granted: Path) -> None:
    rules = open_grants([Grant(str(granted), READ), Grant(str(granted.with_name("gone")), READ)], 200)
    try:
        assert [rule.descriptor >= 200 for rule in rules] == [True]
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.read(rules[0].descriptor, 1)  # it names the file and opens nothing
    finally:
        os.close(rules[0].descriptor)


def test_the_private_folder_never_hides_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    first = choose_private_folder()
    monkeypatch.setattr(sys, "path", [f"{first}/python/lib"])
    second = choose_private_folder()
    assert second != first
    monkeypatch.setattr(sys, "path", [f"{folder}/lib" for folder in ("/tmp", "/var/tmp", "/mnt", "/srv")])
    with pytest.raises(SandboxError, match="no folder for the private tmpfs"):
        choose_private_folder()


READ = 1 << 2


@pytest.fixture
def granted(tmp_path: Path) -> Path:
    """A file that is granted to read; its neighbour ``hidden`` is not."""
    (tmp_path / "hidden").write_text("secret")
    (tmp_path / "open").mkdir()
    file = tmp_path / "granted"
    file.write_text("public")
    return file


def locked_in(granted: Path, *attempts: Callable[[], object]) -> list[type[OSError] | None]:
    """How each attempt ends in a thread with one file to read and the folder ``open`` to write."""

    def act() -> list[type[OSError] | None]:
        forbid_new_privileges()
        grants = [Grant(str(granted), READ), Grant(str(granted.with_name("gone")), READ)]
        restrict(open_grants(grants), str(granted.with_name("open")))
        return [error_of(attempt) for attempt in attempts]

    return in_a_thread(act)


def test_a_locked_thread_reads_what_is_granted_and_nothing_else(granted: Path) -> None:
    hidden = granted.with_name("hidden")
    attempts = (granted.read_text, hidden.read_text, lambda: list(granted.parent.iterdir()))
    assert locked_in(granted, *attempts) == [None, PermissionError, PermissionError]
    assert hidden.read_text() == "secret"


def test_a_locked_thread_writes_in_its_folder_and_nowhere_else(granted: Path) -> None:
    attempts = (
        lambda: granted.with_name("open").joinpath("new").write_text("x"),
        lambda: granted.write_text("x"),
        lambda: granted.with_name("new").write_text("x"),
        granted.unlink,
        lambda: Path(os.devnull).write_text("x"),
    )
    assert locked_in(granted, *attempts) == [None, PermissionError, PermissionError, PermissionError, None]
    assert granted.read_text() == "public"


def test_a_thread_that_is_locked_in_without_a_folder_writes_nowhere(tmp_path: Path) -> None:
    def act() -> type[OSError] | None:
        forbid_new_privileges()
        restrict((), "")
        return error_of(lambda: (tmp_path / "new").write_text("x"))

    assert in_a_thread(act) is PermissionError


def test_a_locked_thread_runs_no_program_and_makes_no_socket_in_its_folder(granted: Path) -> None:
    folder = granted.with_name("open")
    shutil.copy("/bin/true", folder / "true")
    with socket.socket(socket.AF_UNIX) as local:
        attempts = (
            lambda: os.posix_spawn(folder / "true", ["true"], {}),
            lambda: local.bind(os.path.relpath(folder / "socket")),
            lambda: os.mknod(folder / "null", 0o20666, os.makedev(1, 3)),
        )
        assert locked_in(granted, *attempts) == [PermissionError] * 3


@pytest.mark.skipif(abi_version() < 4, reason="this kernel's Landlock does not know of TCP")
def test_a_locked_thread_connects_to_no_port(granted: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        attempts = (lambda: client.connect(server.getsockname()), lambda: client.bind(("127.0.0.1", 0)))
        assert locked_in(granted, *attempts) == [PermissionError, PermissionError]


@pytest.mark.skipif(abi_version() < 6, reason="this kernel's Landlock does not know of signals")
def test_a_locked_thread_reaches_no_other_process(granted: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind("")  # an abstract name of the kernel's choice
        server.listen()
        attempts = (lambda: client.connect(server.getsockname()), lambda: os.kill(os.getppid(), 0))
        assert locked_in(granted, *attempts) == [PermissionError, PermissionError]


def test_a_kernel_without_landlock_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSYS, "landlock_create_ruleset: Function not implemented")

    monkeypatch.setattr(landlock, "syscall", refuse)
    assert abi_version() == 0
    with pytest.raises(SandboxError, match="this kernel has no Landlock"):
        restrict((), "")


def test_a_landlock_that_may_not_be_asked_is_not_taken_for_a_kernel_without() -> None:
    def act() -> int:
        forbid_new_privileges()
        policy = seccomp.Policy(("landlock_create_ruleset",), threads_only=False)
        seccomp.install(seccomp.assemble(policy, find_machine()))
        return abi_version()

    with pytest.raises(PermissionError, match="landlock_create_ruleset"):
        in_a_thread(act)
