"""The measuring itself; what it finds on idle cores is for the bench to tell."""

from __future__ import annotations

import os
import subprocess

import pytest

from armillary.bench import jail_load
from armillary.bench.jail_load import SoakReport, measure_start, measure_throughput, soak
from armillary.core.errors import SandboxError
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits


def test_starts_are_measured_run_by_run() -> None:
    with Sandbox("B") as jail:
        times_ms = measure_start(jail, 5)
    assert len(times_ms) == 5
    assert all(0.5 < time_ms < 10_000 for time_ms in times_ms)


def test_throughput_is_the_sum_over_jails() -> None:
    assert measure_throughput(lambda: Sandbox("B"), 0.3, num_cores=2) > 1.0
    assert measure_throughput(lambda: Sandbox("B"), 0.1) > 1.0


def test_a_jail_that_does_not_work_has_no_throughput(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/true")
    with pytest.raises(SandboxError, match="did not start"):
        measure_throughput(lambda: Sandbox("B"), 0.1, num_cores=2)


def test_sixty_runs_with_kills_leave_nothing_behind() -> None:
    report = soak(60, 0.5, seed=1)
    assert report.is_clean, report
    assert (report.num_runs, report.num_kills > 0) == (60, True)


def test_runs_that_nobody_kills_do_not_break() -> None:
    report = soak(6, 0.0, seed=2)
    assert report == SoakReport(0, 0, 0, 0, num_runs=6, num_kills=0, num_broken_runs=0)


@pytest.mark.parametrize("leaked", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)])
def test_a_report_with_any_leak_is_not_clean(leaked: tuple[int, int, int, int]) -> None:
    assert not SoakReport(*leaked, num_runs=1, num_kills=0, num_broken_runs=0).is_clean


def test_a_run_that_broke_though_nobody_was_killed_is_not_clean() -> None:
    assert not SoakReport(0, 0, 0, 0, num_runs=1, num_kills=0, num_broken_runs=1).is_clean


def test_what_a_jail_leaves_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[subprocess.Popen[bytes]] = []
    descriptors: list[int] = []

    class Careless(Sandbox):
        def run(self, source: str, calls: object = (), *, limits: Limits | None = None, seed: int = 0) -> JailResult:
            if not left:
                left.append(subprocess.Popen(["sleep", "60"], start_new_session=True))
            descriptors.append(os.open(os.devnull, os.O_RDONLY))
            return super().run(source, [Call("f", ())], limits=limits, seed=seed)

    monkeypatch.setattr(jail_load, "Sandbox", Careless)
    monkeypatch.setattr(jail_load, "_SETTLE_S", 0.05)
    try:
        report = soak(1, 0.0, seed=3)
    finally:
        left[0].kill()
        left[0].wait()
        for descriptor in descriptors:
            os.close(descriptor)
    assert (report.leaked_processes, report.leaked_descriptors) == (1, len(descriptors))
