"""Tier C has the face of the other tiers: the same outcomes, limits and errors, from an interpreter in WASM."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from attack_world import descendants

from armillary.core.errors import SandboxError
from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.core.verdicts import Status
from armillary.verify.sandbox import wasm
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits
from armillary.verify.sandbox.packages import Outfit
from armillary.verify.sandbox.wasm import WasmLink
from armillary.verify.sandbox.wasm_wire import END, READY, Ending, to_message
from armillary.verify.sandbox.wire import job_to_bytes, make_job
from armillary.verify.verifier import CodeVerifier

SMALL = Limits(wall_s=20.0, cpu_s=6, call_cpu_s=3.0)
ENDLESS = "def f(x):\n    while x: pass\n    return 'well'"


@pytest.fixture(scope="module")
def sandbox(wasm_home: Path) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARMILLARY_HOME", str(wasm_home))
        with Sandbox("C only", SMALL) as made:
            made.run("")
            yield made


def job(source: str) -> bytes:
    return job_to_bytes(make_job(source, (), seed=0, call_cpu_s=SMALL.call_cpu_s))


def kinds(result: JailResult) -> list[str]:
    return [outcome.kind for outcome in result.outcomes]


def test_the_tier_is_found_out_by_a_trial_and_named_in_results(sandbox: Sandbox) -> None:
    assert sandbox.tier == sandbox.run("").tier == "C"


def test_each_call_gets_one_outcome_in_order(sandbox: Sandbox) -> None:
    source = "import sys\nprint('out', flush=True)\nprint('\\ud800', file=sys.stderr)\ndef half(x):\n    return 1 / x"
    result = sandbox.run(source, [Call("half", (2,)), Call("half", (0,)), Call("half", ({1, (2, -0.0)},))])
    assert kinds(result) == ["returned", "raised", "raised"]
    assert result.outcomes[0].value == 0.5
    assert (result.outcomes[1].error_type, result.outcomes[1].error_message) == (
        "ZeroDivisionError",
        "division by zero",
    )
    assert "ArithmeticError" in result.outcomes[1].error_bases
    assert (result.stdout, result.stopped_by, result.load_error) == ("out\n\\ud800\n", "exit", "")


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax (candidate.py, line 1)"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("import os; os._exit(0)", "Stopped: the program ended its own process while it loaded"),
        ("block = bytearray(600 << 20)", "MemoryError:"),
    ],
)
def test_a_program_that_does_not_load_says_why(sandbox: Sandbox, source: str, error: str) -> None:
    result = sandbox.run(source, [Call("f", ())])
    assert (result.load_error, kinds(result)) == (error, ["missing"])


def test_an_endless_loop_while_loading_is_reported_as_elsewhere(sandbox: Sandbox) -> None:
    result = sandbox.run("while True: pass", [Call("f", ())], limits=Limits(call_cpu_s=0.2))
    assert (result.load_error, kinds(result)) == ("TimeLimit: loading took too long", ["missing"])


def test_random_numbers_and_sets_depend_on_the_seed_alone(sandbox: Sandbox) -> None:
    source = "import random\ndef f():\n    return [random.random(), list({'a', 'b', 'c', 'd', 'e'})]"
    calls = [Call("f", ()), Call("f", ())]
    once, again, other = (sandbox.run(source, calls, seed=seed).outcomes for seed in (1, 1, 2))
    assert once == again
    assert once[0] == once[1]
    assert once != other


def test_a_call_out_of_time_is_one_timeout_and_the_next_ones_are_answered(sandbox: Sandbox) -> None:
    calls = [Call("f", (number,)) for number in (0, 1, 0, 1)]
    result = sandbox.run(ENDLESS, calls, limits=Limits(wall_s=20.0, call_cpu_s=0.2))
    assert (kinds(result), result.stopped_by) == (["returned", "timeout", "returned", "timeout"], "exit")


def test_a_sleeping_call_is_a_timeout_too(sandbox: Sandbox) -> None:
    source = "import time\ndef f(x):\n    time.sleep(x)"
    result = sandbox.run(source, [Call("f", (60,)), Call("f", (0,))], limits=Limits(wall_s=20.0, call_cpu_s=0.2))
    assert kinds(result) == ["timeout", "returned"]


def test_after_a_timeout_the_program_is_loaded_anew(sandbox: Sandbox) -> None:
    source = "seen = []\ndef f(x):\n    seen.append(x)\n    while x == 2: pass\n    return seen"
    result = sandbox.run(source, [Call("f", (number,)) for number in (1, 2, 3)], limits=Limits(call_cpu_s=0.2))
    assert [outcome.value for outcome in result.outcomes] == [[1], None, [3]]


def test_timeouts_without_end_end_the_run(sandbox: Sandbox) -> None:
    result = sandbox.run(ENDLESS, [Call("f", (1,))] * 9, limits=Limits(wall_s=30.0, call_cpu_s=0.05))
    assert kinds(result) == ["timeout"] * 4 + ["missing"] * 5


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(wall_s=20.0, cpu_s=1, call_cpu_s=0.6), "cpu"),
        (Limits(wall_s=0.3, cpu_s=4, call_cpu_s=3.0), "wall"),
    ],
)
def test_the_whole_run_is_bounded_whatever_its_calls_take(sandbox: Sandbox, limits: Limits, reason: str) -> None:
    result = sandbox.run(ENDLESS, [Call("f", (1,))] * 9, limits=limits)
    assert result.stopped_by == reason
    assert kinds(result)[-1] == "missing"


def test_a_further_guest_gets_no_more_time_than_is_left(sandbox: Sandbox) -> None:
    source = "import time\ndef f():\n    time.sleep(60)"
    result = sandbox.run(source, [Call("f", ())] * 2, limits=Limits(wall_s=1.2, call_cpu_s=0.2))
    assert (kinds(result), result.stopped_by) == (["timeout", "missing"], "wall")


def test_a_program_that_does_not_load_a_second_time_leaves_answers_missing(sandbox: Sandbox) -> None:
    # What it prints while it loads is too much only together with what it has printed before.
    limits = Limits(wall_s=20.0, call_cpu_s=0.2, output_bytes=1000)
    result = sandbox.run("print('x' * 600)\n" + ENDLESS, [Call("f", (1,)), Call("f", (0,))], limits=limits)
    assert (kinds(result), result.stopped_by, len(result.stdout)) == (["timeout", "missing"], "output", 1000)


def test_a_crash_is_a_signal_and_no_answer(sandbox: Sandbox) -> None:
    result = sandbox.run("import os\ndef f():\n    os.abort()", [Call("f", ())] * 2)
    assert (kinds(result), result.stopped_by, result.signal) == (["missing", "missing"], "signal", 6)


def test_threads_share_one_host(sandbox: Sandbox) -> None:
    values: dict[int, object] = {}

    def ask(number: int) -> None:
        values[number] = sandbox.run("def f(x):\n    return x", [Call("f", (number,))]).outcomes[0].value

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == {number: number for number in range(3)}


def test_a_recursion_through_a_cache_is_as_deep_as_any(sandbox: Sandbox) -> None:
    source = "import functools\n@functools.cache\ndef f(n):\n    return n and 1 + f(n - 1)"
    assert sandbox.run(source, [Call("f", (480,))]).outcomes[0].value == 480


def test_verdicts_are_reached_as_elsewhere(sandbox: Sandbox) -> None:
    verifier = CodeVerifier(sandbox, num_inputs=5)
    task = TaskSpec("p", "f", parameters=(Parameter("x", "int"),), ensures=(Predicate("result == x * x"),))
    verdicts = [verifier.verify(task, f"def f(x):\n    return {text}") for text in ("x * x", "x * abs(x)")]
    assert [verdict.status for verdict in verdicts] == [Status.TESTED, Status.REFUTED]
    assert {verdict.sandbox_tier for verdict in verdicts} == {"C"}


@pytest.fixture
def others() -> set[int]:
    """Processes that are not the test's own business."""
    return descendants()


def kill(pid: int) -> None:
    """End a child of ours, and leave it to its owner to notice."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.usefixtures("in_wasm_home")
def test_a_refused_limit_is_an_error_and_a_dead_host_is_replaced(others: set[int]) -> None:
    # That a spare child is asked for changes nothing: this tier has none.
    with Sandbox("C only", SMALL, keeps_spare=True) as sandbox:
        with pytest.raises(SandboxError, match="could not be built: wasm: memory"):
            sandbox.run("", limits=Limits(memory_bytes=1 << 20))
        assert sandbox.run("print(1)").stdout == "1\n"
        (host,) = descendants() - others
        kill(host)
        assert sandbox.run("print(2)").stdout == "2\n"
    assert descendants() == others


@pytest.fixture
def link(compiled_folder: Path, others: set[int]) -> Iterator[WasmLink]:
    made = WasmLink(folder=compiled_folder)
    yield made
    made.close()


@pytest.fixture
def host(link: WasmLink, others: set[int]) -> int:
    """The link's process."""
    (pid,) = descendants() - others
    return pid


def test_a_host_that_dies_during_a_run_is_an_error(link: WasmLink, host: int) -> None:
    killer = threading.Timer(0.5, os.kill, (host, signal.SIGKILL))
    killer.start()
    with pytest.raises(SandboxError, match=r"host of tier C died: no reason given \(run it again\)"):
        link.execute("C", job("import time; time.sleep(60)"), SMALL)
    killer.join()
    assert not link.is_alive


def test_a_host_that_has_died_takes_no_job(link: WasmLink, host: int) -> None:
    kill(host)
    with pytest.raises(SandboxError, match="host of tier C died"):
        link.execute("C", job("#" * (1 << 20)), SMALL)


def test_a_host_that_hangs_is_killed_in_the_end(link: WasmLink, host: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wasm, "END_S", 0.2)
    os.kill(host, signal.SIGSTOP)
    time.sleep(0.2)
    link.close()
    assert host not in descendants()


def test_closing_ends_a_host_whose_guest_still_runs(link: WasmLink, host: int) -> None:
    def run() -> None:
        with pytest.raises(SandboxError):
            link.execute("C", job("while True: pass"), SMALL)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.5)
    start = time.monotonic()
    link.close()
    thread.join()
    assert time.monotonic() - start < wasm.END_S
    assert host not in descendants()


def test_another_interpreter_is_told(interpreter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "python.wasm"
    other.write_bytes(b"\0asm")
    monkeypatch.setattr(wasm, "find_interpreter", lambda: other)
    with pytest.raises(SandboxError, match=r"host of tier C died: .*not the one that was tried"):
        WasmLink(folder=tmp_path)


def test_a_host_that_is_silent_is_given_up(
    compiled_folder: Path, others: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wasm, "START_S", 0.0)
    with pytest.raises(SandboxError, match="does not answer in time"):
        WasmLink(folder=compiled_folder)
    assert descendants() == others


def test_a_guest_that_does_not_start_is_an_error(
    interpreter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = json.dumps(asdict(Ending("boot", 0, 0.0))).encode()
    (tmp_path / "words").write_bytes(to_message(READY) + to_message(END + ending))
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\ncat '{tmp_path}/words'\nexec cat > /dev/null\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    with closing(WasmLink(folder=tmp_path)) as link, pytest.raises(SandboxError, match="did not start within 60 s"):
        link.execute("C", job(""), SMALL)


def test_a_python_that_cannot_be_started_is_told(interpreter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SandboxError, match="did not start: No such file"):
        WasmLink()


def test_packages_are_refused() -> None:
    with pytest.raises(SandboxError, match="no room for installed packages"):
        WasmLink(Outfit(preload=("json",)))
