"""What a measurement ran on, and whether it was quiet."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from armillary.bench import machine
from armillary.bench.machine import MachineState, commit_of, describe_hardware, observe_machine, require_quiet
from armillary.core.errors import UsageError

QUIET = MachineState("a machine", 2, 0.1, 0.0, "abc")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "STEAL_WINDOW_S", 0.0)


def test_hardware_names_processor_cores_and_vector_extensions() -> None:
    text = "processor : 0\nmodel name : Xeon 1\nflags : fpu avx2 avx512_vnni\n\nnot a field\n"
    assert describe_hardware(text, 2) == "Xeon 1, 2 cores, avx2, avx512_vnni"


def test_an_arm_machine_lists_its_features() -> None:
    assert describe_hardware("Features : asimddp i8mm\n", 1).endswith("processor, 1 core, asimddp, i8mm")


def test_an_unknown_machine_still_has_a_name() -> None:
    assert "4 cores" in describe_hardware("", 4)


def test_this_machine_can_be_observed() -> None:
    state = observe_machine()
    assert state.num_cores >= 1
    assert state.load >= 0
    assert 0 <= state.steal_ratio <= 1


def test_steal_is_a_share_of_the_time_that_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu 0 0 0 0 0 0 0 0 9 9\ncpu0 1 1\n")
    monkeypatch.setattr(machine.time, "sleep", lambda _: stat.write_text("cpu 5 0 0 85 0 0 0 10 9 9\n"))
    assert observe_machine(proc=tmp_path).steal_ratio == 0.1


@pytest.mark.parametrize("text", ["", "cpu 1 2 3\n"])
def test_without_steal_in_the_statistics_there_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "stat").write_text(text)
    assert observe_machine(proc=tmp_path).steal_ratio == 0.0


def test_without_the_kernels_files_the_machine_is_described_all_the_same(tmp_path: Path) -> None:
    assert observe_machine(proc=tmp_path / "none").hardware


def test_a_quiet_machine_is_accepted() -> None:
    assert QUIET.noise == ""
    require_quiet(QUIET, is_noise_allowed=False)


@pytest.mark.parametrize(
    ("load", "steal_ratio", "reason"), [(1.0, 0.0, "load 1.00"), (0.0, 0.5, "steal 50.0%"), (1.0, 0.5, "; steal")]
)
def test_a_noisy_machine_is_refused_with_the_reason(load: float, steal_ratio: float, reason: str) -> None:
    state = MachineState("a machine", 2, load, steal_ratio, "abc")
    with pytest.raises(UsageError, match=f"{reason}.*--noisy"):
        require_quiet(state, is_noise_allowed=False)


def test_noise_can_be_allowed() -> None:
    require_quiet(MachineState("a machine", 1, 99.0, 0.9, "abc"), is_noise_allowed=True)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_commit_is_marked_when_files_differ_from_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    clean = commit_of(tmp_path)
    assert len(clean) == 12
    (tmp_path / "new").write_text("not tracked")
    assert commit_of(tmp_path) == clean
    (tmp_path / "file").write_text("two")
    assert commit_of(tmp_path) == f"{clean}+"


def test_outside_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == ""
    assert commit_of(tmp_path / "none") == ""
