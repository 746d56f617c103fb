"""Ctrl-C in each command, as a terminal sends it: to the command and all its children at once."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from armillary.core.tasks import TaskSpec, task_to_json
from armillary.core.trace import Trace, read_trace
from armillary.core.verdicts import Status, Verdict, verdict_to_json

SCRIPT = str(Path(sys.executable).parent / "armillary")
WAIT_S = 60
ENDLESS = "def f(n):\n    while True:\n        pass\n"
TASK = 'prompt: Double it.\nsignature: "def f(n: int) -> int"\nexamples:\n  - f(1) == 2\n'

Process = subprocess.Popen[str]


@contextmanager
def started(*arguments: str) -> Iterator[Process]:
    process = subprocess.Popen(
        [SCRIPT, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(is_true: Callable[[], bool], process: Process) -> None:
    end = time.monotonic() + WAIT_S
    while not is_true():
        assert process.poll() is None, "it ended before it could be interrupted"
        assert time.monotonic() < end, "it never came to the point where it should be interrupted"
        time.sleep(0.01)


def descendants(pid: int) -> list[int]:
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return children + [item for child in children for item in descendants(child)]


def has_opened(process: Process, path: Path) -> bool:
    try:
        return any(os.path.samefile(entry, path) for entry in Path(f"/proc/{process.pid}/fd").iterdir())
    except OSError:
        return False


def interrupt(process: Process) -> tuple[int, list[str]]:
    """Exit status and last lines on stderr; checks that nobody of the family is left."""
    family = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=WAIT_S)
    end = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in family) and time.monotonic() < end:
        time.sleep(0.01)
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []
    return process.returncode, err.splitlines()


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.yaml"
    path.write_text(TASK)
    return path


def test_verify_stops_with_its_jail(tmp_path: Path, task: Path) -> None:
    (tmp_path / "code.py").write_text(ENDLESS)
    with started("verify", str(task), str(tmp_path / "code.py")) as process:
        wait_until(lambda: len(descendants(process.pid)) > 1, process)
        assert interrupt(process) == (130, ["interrupted; nothing was changed"])


def test_replay_stops_with_its_jail(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with Trace(path) as trace:
        trace.append("header", {"seed": 0})
        trace.append("task", task_to_json(TaskSpec("Double it.", "f")))
        trace.append("attempt", {"id": "a0", "code": "while True:\n    pass\n"})
        trace.append("verdict", {"attempt": "a0", "verdict": verdict_to_json(Verdict(Status.UNKNOWN))})
    with started("replay", str(path)) as process:
        wait_until(lambda: len(descendants(process.pid)) > 1, process)
        assert interrupt(process) == (130, ["interrupted; nothing was changed"])


def test_doctor_stops_with_the_jail_that_it_tries() -> None:
    with started("doctor") as process:
        wait_until(lambda: bool(descendants(process.pid)), process)
        assert interrupt(process) == (130, ["interrupted; nothing was changed"])


def test_models_stops_in_the_middle_of_a_hash(home: Path) -> None:
    (home / "models").mkdir(parents=True)
    big = home / "models" / "big.gguf"
    with big.open("wb") as file:
        file.truncate(40_000_000_000)
    with started("models") as process:
        wait_until(lambda: has_opened(process, big), process)
        assert interrupt(process) == (130, ["interrupted; nothing was changed"])


def test_pull_stops_and_says_that_nothing_is_kept_yet(home: Path) -> None:
    partial = home / "models" / ".partial"
    partial.mkdir(parents=True)
    with (partial / "smollm2-135m.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with started("pull", "smollm2-135m") as process:
            assert process.stderr is not None
            assert process.stderr.readline() == "another process is pulling smollm2-135m\n"
            code, lines = interrupt(process)
    assert code == 130
    assert lines == ["interrupted; no piece was finished, so nothing is kept; the same command begins anew"]


@pytest.mark.model
def test_ask_stops_in_the_middle_of_its_answer(real_model: str) -> None:
    with started("ask", "--model", real_model, "--max-tokens", "4000", "Tell a very long story.") as process:
        assert process.stdout is not None
        assert process.stdout.read(1)
        code, lines = interrupt(process)
    assert code == 130
    assert len(lines) == 1
    assert lines[0].startswith("interrupted; ")


@pytest.mark.model
def test_solve_stops_and_keeps_its_trace(real_model: str, task: Path, home: Path) -> None:
    with started("solve", str(task), "--model", real_model) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"model {real_model}\n"
        code, lines = interrupt(process)
    (trace,) = (home / "traces").iterdir()
    assert code == 130
    assert lines[-1] == f"interrupted; the trace so far is {trace}"
    assert next(read_trace(trace)).kind == "header"
