"""What the kernel says of a jailed program, seen from outside: each layer is there, even where another hides its loss.

Skipped for a user who may not look at a process in another user namespace.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from attack_world import descendants

from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import JailResult, Limits

LONG = Limits(wall_s=60.0, cpu_s=7, call_cpu_s=7.0, memory_bytes=300 << 20, disk_bytes=8 << 20)
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


@dataclass(frozen=True)
class Process:
    """One process, by its folder in ``/proc``."""

    pid: int

    @property
    def folder(self) -> Path:
        return Path("/proc", str(self.pid))

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def status(self) -> dict[str, str]:
        pairs = (line.split(":", 1) for line in self.read("status").splitlines())
        return {key: value.strip() for key, value in pairs}

    def link(self, name: str) -> str:
        return os.readlink(self.folder / name)

    def descriptors(self) -> dict[str, str]:
        """What each open descriptor leads to."""
        return {number: self.link(f"fd/{number}") for number in os.listdir(self.folder / "fd")}


@dataclass(frozen=True)
class Run:
    """A program that sleeps in its jail, and the process that waits for it outside the new process namespace."""

    keeper: Process
    program: Process
    results: list[JailResult]


@contextmanager
def sleeping(sandbox: Sandbox, limits: Limits) -> Iterator[Run]:
    sandbox.run("")
    before, results = descendants(), list[JailResult]()
    thread = threading.Thread(target=lambda: results.append(sandbox.run("import time; time.sleep(60)", limits=limits)))
    thread.start()
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        below = descendants() - before
        innermost = [pid for pid in below if not descendants(pid)]
        if len(below) == 2 and Process(innermost[0]).status()["Seccomp"] == "2":
            break
        time.sleep(0.01)
    (program,) = innermost
    (keeper,) = below - {program}
    try:
        yield Run(Process(keeper), Process(program), results)
    finally:
        if thread.is_alive():
            os.kill(keeper, signal.SIGKILL)
        thread.join()


@pytest.fixture(scope="module")
def jailed() -> Iterator[Run]:
    with Sandbox("A") as sandbox, sleeping(sandbox, LONG) as run:
        try:
            run.program.link("cwd")
        except PermissionError:
            pytest.skip("this user may not look at a process in another user namespace")
        yield run


@pytest.mark.parametrize("kind", NAMESPACES)
def test_a_program_shares_no_namespace_with_us(jailed: Run, kind: str) -> None:
    assert jailed.program.link(f"ns/{kind}") != Process(os.getpid()).link(f"ns/{kind}")


def test_a_program_is_the_first_process_of_its_namespace(jailed: Run) -> None:
    assert jailed.program.status()["NSpid"].split() == [str(jailed.program.pid), "1"]


def test_a_program_is_nobody_and_nobody_else_is_there(jailed: Run) -> None:
    for name, ours in (("uid_map", os.geteuid()), ("gid_map", os.getegid())):
        assert jailed.program.read(name).split() == ["65534", str(ours), "1"]
    assert jailed.program.read("setgroups") == "deny\n"


def test_a_program_has_no_capability_and_can_get_none(jailed: Run) -> None:
    status = jailed.program.status()
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"


def test_a_program_is_filtered_once_and_its_keeper_not_at_all(jailed: Run) -> None:
    assert jailed.program.status()["Seccomp_filters"] == str(int(Process(os.getpid()).status()["Seccomp_filters"]) + 1)


def test_every_limit_is_set_and_none_can_be_raised(jailed: Run) -> None:
    lines = jailed.program.read("limits").splitlines()[1:]
    found = {line[:25].strip(): tuple(line[25:].split()[:2]) for line in lines}
    wanted = {
        "Max cpu time": 7,
        "Max file size": 2 << 20,
        "Max stack size": 64 << 20,
        "Max processes": 64,
        "Max open files": 64,
        "Max locked memory": 0,
        "Max address space": 300 << 20,
    }
    assert {name: found[name] for name in wanted} == {name: (str(value),) * 2 for name, value in wanted.items()}
    assert found["Max core file size"] in (("0", "0"), ("1", "1"))


def test_a_program_may_write_to_one_mount_only_and_sees_no_other_process(jailed: Run) -> None:
    mounts = [line.split() for line in jailed.program.read("mountinfo").splitlines()]
    private = jailed.program.link("cwd")
    assert [mount[4] for mount in mounts if "ro" not in mount[5].split(",")] == [private]
    top = {mount[4]: mount for mount in mounts}  # a later mount hides an earlier one
    for folder in (private, "/proc"):
        assert top[folder][-3:-1] == ["tmpfs", "tmpfs"]
    assert {"size=8192k", "nr_inodes=1024"} <= set(top[private][-1].split(","))
    assert not any(field.startswith(("shared:", "master:")) for mount in mounts for field in mount)


def test_a_program_holds_four_descriptors_and_its_keeper_none_of_them(jailed: Run) -> None:
    held = jailed.program.descriptors()
    assert sorted(held) == ["0", "1", "2", "3"]
    assert not set(held.values()) & set(jailed.keeper.descriptors().values())


def test_a_run_that_was_stopped_returns_after_its_last_process_has_ended() -> None:
    with Sandbox("A") as sandbox, sleeping(sandbox, Limits(wall_s=1.0, call_cpu_s=7.0)) as run:
        while not run.results:
            time.sleep(0.001)
        assert not run.program.folder.exists()
        assert not run.keeper.folder.exists()
        assert run.results[0].stopped_by == "wall"
