"""A zygote may do anything wrong: the parent says what, waits no longer than it must and leaves no process behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attack_world import descendants, open_descriptors

from armillary.core.errors import SandboxError
from armillary.verify.sandbox import link as link_module
from armillary.verify.sandbox import tiers
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.link import RawRun, ZygoteLink
from armillary.verify.sandbox.outcomes import Limits
from armillary.verify.sandbox.packages import Outfit
from armillary.verify.sandbox.pool import LinkPool

SHORT = Limits(wall_s=0.2)
PATIENT = Limits(wall_s=10.0, output_bytes=2 << 20)


@pytest.fixture
def use_zygote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Puts a zygote that goes wrong in the given way in the place of the real one."""
    python, script = sys.executable, Path(__file__).with_name("false_zygote.py")

    def use(way: str) -> None:
        stand_in = tmp_path / "python"
        stand_in.write_text(f'#!/bin/sh\nexec "{python}" "{script}" "{way}" "$@"\n')
        stand_in.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(stand_in))

    return use


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test of this file leaves a process or a descriptor."""
    before = (descendants(), open_descriptors())
    yield
    assert (descendants(), open_descriptors()) == before


def run_once(limits: Limits = PATIENT) -> RawRun:
    with closing(ZygoteLink()) as link:
        return link.execute("A", b"{}", limits)


def test_a_zygote_that_does_not_get_ready_is_given_up(
    use_zygote: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_zygote("is never ready")
    monkeypatch.setattr(link_module, "START_S", 0.3)
    monkeypatch.setattr(link_module, "KILL_S", 0.1)
    with pytest.raises(SandboxError, match="did not start within"):
        ZygoteLink()


def test_a_zygote_that_hangs_up_without_ending_is_killed_and_its_last_words_are_told(
    use_zygote: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_zygote("hangs up at once")
    monkeypatch.setattr(link_module, "KILL_S", 0.1)
    with pytest.raises(SandboxError, match="did not start: no room for a zygote"):
        ZygoteLink()


def test_a_zygote_that_outlives_its_channel_is_killed(
    use_zygote: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_zygote("outlives its channel")
    monkeypatch.setattr(link_module, "KILL_S", 0.1)
    link = ZygoteLink()
    assert link.is_alive
    link.close()
    assert not link.is_alive


def test_a_zygote_that_ended_before_a_job_is_an_error(use_zygote: Callable[[str], None]) -> None:
    use_zygote("ends between jobs")
    with closing(ZygoteLink()) as link:
        while link.is_alive:
            time.sleep(0.01)
        with pytest.raises(SandboxError, match="zygote died during a run"):
            link.execute("A", b"{}", PATIENT)


def test_a_zygote_that_ends_in_the_middle_of_a_job_is_an_error(use_zygote: Callable[[str], None]) -> None:
    use_zygote("ends during a job")
    with pytest.raises(SandboxError, match="zygote died during a run"):
        run_once()


def test_a_zygote_that_cannot_fork_says_why(use_zygote: Callable[[str], None]) -> None:
    use_zygote("cannot fork")
    with pytest.raises(SandboxError, match="cannot start a child: fork: Resource temporarily unavailable"):
        run_once()


def test_a_child_that_cannot_be_killed_is_an_error_after_a_while(
    use_zygote: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_zygote("cannot kill")
    monkeypatch.setattr(link_module, "KILL_S", 0.3)
    start = time.monotonic()
    with pytest.raises(SandboxError, match="could not be killed"):
        run_once(SHORT)
    assert 0.5 <= time.monotonic() - start < 5.0


def test_pipes_that_somebody_holds_open_do_not_hold_up_a_finished_run(use_zygote: Callable[[str], None]) -> None:
    use_zygote("leaves the pipes open")
    run = run_once()
    assert (run.output, run.stopped_by) == (b"said\n", "exit")
    assert run.elapsed_ms < 5000


def test_a_signal_that_nobody_here_sent_is_told(use_zygote: Callable[[str], None]) -> None:
    use_zygote("loses a child to a signal")
    run = run_once()
    assert (run.code, run.stopped_by) == (-9, "signal")


def test_whatever_was_written_before_the_end_arrives(use_zygote: Callable[[str], None]) -> None:
    use_zygote("prints a megabyte at once")
    with closing(ZygoteLink()) as link:
        for _ in range(5):
            run = link.execute("A", b"{}", PATIENT)
            assert (len(run.output), run.stopped_by) == (1 << 20, "exit")


def test_too_much_output_is_told_whether_or_not_the_end_came_first(use_zygote: Callable[[str], None]) -> None:
    use_zygote("prints a megabyte at once")
    with closing(ZygoteLink()) as link:
        for output_bytes in (10, (1 << 20) - 1):  # read over the limit at the first piece, and only at the last
            for _ in range(5):
                run = link.execute("A", b"{}", Limits(output_bytes=output_bytes))
                assert (len(run.output), run.stopped_by) == (output_bytes, "output")


def test_a_child_that_reports_no_layers_is_an_error_with_its_last_words(use_zygote: Callable[[str], None]) -> None:
    use_zygote("reports once")  # for the trial of the tier
    with Sandbox("A") as sandbox, pytest.raises(SandboxError, match="ended with 70 before it was locked in: MemoryErr"):
        sandbox.run("print('ran')")


def test_a_machine_whose_children_never_report_has_no_tier(use_zygote: Callable[[str], None]) -> None:
    use_zygote("has no children that report")
    with Sandbox("B") as sandbox, pytest.raises(SandboxError, match="needs tier B, this machine allows none: trial: "):
        sandbox.run("print('ran')")


@pytest.mark.parametrize(
    ("way", "reason"),
    [("ends during a job", "zygote died"), ("cannot fork", "cannot start a child"), ("hangs up at once", "no room")],
)
def test_probing_tells_what_goes_wrong_and_never_raises(
    use_zygote: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, way: str, reason: str
) -> None:
    monkeypatch.setattr(link_module, "KILL_S", 0.3)
    use_zygote(way)
    report = tiers.probe()
    assert (report.tier, [layer.name for layer in report.layers]) == ("none", ["zygote"])
    assert reason in report.reason


def test_a_zygote_that_dies_while_the_tier_is_tried_is_replaced(use_zygote: Callable[[str], None]) -> None:
    real = sys.executable
    with Sandbox("A") as sandbox:
        use_zygote("ends during a job")
        with pytest.raises(SandboxError, match="zygote died"):
            sandbox.run("")
        sys.executable = real
        assert sandbox.run("print(1)").stdout == "1\n"


def test_an_interrupt_while_the_tier_is_tried_leaves_no_process_and_a_usable_sandbox(
    use_zygote: Callable[[str], None],
) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    real, others = sys.executable, descendants()
    previous = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with Sandbox("A") as sandbox:
            use_zygote("cannot kill")  # so that the trial is still going on
            timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                sandbox.run("")
            timer.join()
            assert descendants() == others
            sys.executable = real
            assert sandbox.run("print(1)").stdout == "1\n"
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_a_waiting_child_that_cannot_be_dismissed_is_an_error_after_a_while(
    use_zygote: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_zygote("cannot kill")
    monkeypatch.setattr(link_module, "KILL_S", 0.1)
    with closing(ZygoteLink()) as link:
        link.prepare("A", SHORT)
        with pytest.raises(SandboxError, match="could not be killed"):
            link.execute("A", b"{}", Limits(cpu_s=99))


def test_a_zygote_that_died_is_no_error_before_the_next_run() -> None:
    with closing(ZygoteLink()) as link:
        os.kill(min(descendants()), signal.SIGKILL)
        while link.is_alive:
            time.sleep(0.01)
        link.prepare("A", SHORT)
        with pytest.raises(SandboxError, match="zygote died"):
            link.execute("A", b"{}", SHORT)


def test_a_pool_that_must_end_at_once_ends_the_zygotes_that_are_lent_too() -> None:
    pool = LinkPool(2, Outfit())
    with pool.lend() as link:
        pool.close_now()
        assert not link.is_alive
