"""Programs that eat resources are stopped, the machine does not feel it, and nothing of them stays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from textwrap import dedent

import pytest
from attack_world import descendants

from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits

SMALL = Limits(wall_s=3.0, cpu_s=2, call_cpu_s=0.3)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("A", SMALL) as made:
        yield made


def run(sandbox: Sandbox, text: str, limits: Limits = SMALL) -> JailResult:
    """One call of ``f`` and, after it, one of an honest ``g``."""
    program = dedent(text) + "\ndef g():\n    return 'well'\n"
    return sandbox.run(program, [Call("f", ()), Call("g", ())], limits=limits)


def kinds(result: JailResult) -> list[str]:
    return [outcome.kind for outcome in result.outcomes]


def test_an_endless_loop_times_out_and_the_next_call_is_answered(sandbox: Sandbox) -> None:
    assert kinds(run(sandbox, "def f():\n    while True: pass")) == ["timeout", "returned"]


def test_a_sleeping_call_times_out_and_the_next_call_is_answered(sandbox: Sandbox) -> None:
    assert kinds(run(sandbox, "import time\ndef f():\n    time.sleep(60)")) == ["timeout", "returned"]


def test_a_call_that_swallows_its_interruption_still_counts_as_timed_out(sandbox: Sandbox) -> None:
    text = """
        def f():
            try:
                while True: pass
            except BaseException:
                return 1
        """
    assert kinds(run(sandbox, text)) == ["timeout", "returned"]


def test_an_endless_loop_that_swallows_every_interruption_is_killed_by_its_cpu_limit(sandbox: Sandbox) -> None:
    text = """
        def spin():
            while True: pass
        def f():
            while True:
                try: spin()
                except BaseException: pass
        """
    result = run(sandbox, text, Limits(wall_s=8.0, cpu_s=1, call_cpu_s=0.3))
    assert (kinds(result), result.stopped_by) == (["missing", "missing"], "cpu")


def test_a_long_computation_inside_one_c_function_is_killed(sandbox: Sandbox) -> None:
    result = run(sandbox, "def f():\n    return sum(range(10 ** 12))", Limits(wall_s=2.0, cpu_s=1, call_cpu_s=0.3))
    assert kinds(result) == ["missing", "missing"]
    assert result.stopped_by in ("cpu", "wall")


def test_an_endless_loop_while_loading_is_reported_as_such(sandbox: Sandbox) -> None:
    result = sandbox.run("while True: pass", [Call("f", ())])
    assert result.load_error == "TimeLimit: loading took too long"
    assert kinds(result) == ["missing"]


def test_the_wall_clock_stops_a_program_that_stops_the_timers(sandbox: Sandbox) -> None:
    text = """
        import signal, time
        def f():
            signal.setitimer(signal.ITIMER_REAL, 0)
            time.sleep(60)
        """
    start = time.monotonic()
    result = run(sandbox, text, Limits(wall_s=1.0))
    assert time.monotonic() - start < 3.0
    assert (kinds(result), result.stopped_by) == (["missing", "missing"], "wall")


def test_a_fork_bomb_gets_no_fork(sandbox: Sandbox) -> None:
    result = run(sandbox, "import os\ndef f():\n    while True: os.fork()")
    assert [outcome.error_type for outcome in result.outcomes] == ["PermissionError", ""]


def test_a_thread_bomb_ends_with_its_jail(sandbox: Sandbox) -> None:
    text = """
        import threading, time
        def f():
            threading.stack_size(32 << 10)
            while True:
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        """
    sandbox.run("")
    before = descendants()
    run(sandbox, text)
    assert descendants() == before


def test_a_memory_eater_gets_a_memory_error(sandbox: Sandbox) -> None:
    text = """
        def f():
            eaten = []
            while True: eaten.append(bytearray(16 << 20))
        """
    result = run(sandbox, text, Limits(wall_s=5.0, memory_bytes=200 << 20))
    assert [outcome.error_type for outcome in result.outcomes] == ["MemoryError", ""]


def test_memory_that_is_not_mapped_is_bounded_too(sandbox: Sandbox) -> None:
    text = """
        def f():
            for number in range(100):
                open(str(number), "wb").write(bytes(8 << 20))
        """
    assert run(sandbox, text).outcomes[0].error_type == "OSError"


def test_printing_a_gigabyte_is_cut_short(sandbox: Sandbox) -> None:
    text = """
        def f():
            for _ in range(1 << 10): print("x" * (1 << 20))
        """
    result = run(sandbox, text, Limits(wall_s=3.0, output_bytes=1 << 16))
    assert (result.stopped_by, len(result.stdout)) == ("output", 1 << 16)
    assert kinds(result) == ["missing", "missing"]


def test_too_much_output_counts_even_when_the_program_ends_at_once(sandbox: Sandbox) -> None:
    result = sandbox.run("print('x' * 100)", limits=Limits(output_bytes=10))
    assert (result.stopped_by, result.stdout) == ("output", "x" * 10)


def test_deleting_every_file_deletes_none(sandbox: Sandbox) -> None:
    text = """
        import os, shutil
        def f():
            shutil.rmtree("/", ignore_errors=True)
            return os.path.exists("/usr") and os.path.exists(os.__file__)
        """
    assert run(sandbox, text).outcomes[0].value is True


def test_importing_ctypes_is_allowed_and_gives_no_power(sandbox: Sandbox) -> None:
    text = """
        import ctypes
        libc = ctypes.CDLL(None)
        def f():
            return [libc.fork(), libc.unshare(0x20000), libc.socket(2, 1, 0), libc.mount(0, b"/", 0, 0, 0)]
        """
    assert run(sandbox, text).outcomes[0].value == [-1, -1, -1, -1]


def test_a_program_cannot_kill_its_keepers(sandbox: Sandbox) -> None:
    text = """
        import os
        def f():
            failed = 0
            for pid in (-1, 0, 2, os.getppid(), os.getpid() + 1):
                try: os.kill(pid, 9)
                except OSError: failed += 1
            return failed
        """
    assert run(sandbox, text).outcomes[0].value == 5


def test_a_crash_in_c_is_a_signal_and_no_answer(sandbox: Sandbox) -> None:
    result = run(sandbox, "import ctypes\ndef f():\n    ctypes.string_at(0)")
    assert (kinds(result), result.stopped_by, result.signal) == (["missing", "missing"], "signal", 11)
