from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from attack_world import descendants

from armillary.core.errors import SandboxError, UsageError, ValueCodecError
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, Limits, Outcome

SMALL = Limits(wall_s=3.0, cpu_s=2, call_cpu_s=1.0)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("A", SMALL) as made:
        yield made


@pytest.fixture
def others() -> set[int]:
    """Processes that are not the test's own business."""
    return descendants()


def test_nothing_is_started_before_the_first_run(others: set[int]) -> None:
    with Sandbox("A", SMALL):
        assert descendants() == others


def test_the_tier_is_the_one_that_results_name(sandbox: Sandbox) -> None:
    assert sandbox.tier == sandbox.run("").tier == "A"


def test_an_unknown_minimum_tier_is_an_error() -> None:
    with pytest.raises(UsageError, match="no sandbox tier 'D'"):
        Sandbox("D")


def test_each_call_gets_one_outcome_in_order(sandbox: Sandbox) -> None:
    source = "def half(x):\n    return 1 / x"
    result = sandbox.run(source, [Call("half", (2,)), Call("half", (0,)), Call("half", ("a",))])
    assert [outcome.kind for outcome in result.outcomes] == ["returned", "raised", "raised"]
    assert result.outcomes[0].value == 0.5
    bases = ("BaseException", "Exception", "ArithmeticError", "ZeroDivisionError")
    assert set(result.outcomes[1].error_bases) == set(bases)
    assert (result.outcomes[1].error_type, result.outcomes[1].error_message) == (
        "ZeroDivisionError",
        "division by zero",
    )


def test_a_program_that_does_not_parse_is_a_load_error_of_one_line(sandbox: Sandbox) -> None:
    result = sandbox.run("def f(:\n", [Call("f", ())])
    assert result.load_error == "SyntaxError: invalid syntax (candidate.py, line 1)"
    assert result.outcomes == (Outcome("missing"),)


def test_a_program_that_raises_while_it_loads_is_a_load_error(sandbox: Sandbox) -> None:
    assert sandbox.run("raise ValueError('two\\nlines')").load_error == "ValueError: two lines"


@pytest.mark.parametrize("source", ["x = '\ud800'", "a = 1\0", "(" * 5000, "\ufeffx = 1\n\x0c"])
def test_an_odd_text_loads_or_is_a_load_error(sandbox: Sandbox, source: str) -> None:
    assert sandbox.run(source).stopped_by == "exit"


def test_a_function_that_is_not_there_raises_a_name_error(sandbox: Sandbox) -> None:
    assert sandbox.run("f = None", [Call("f", ())]).outcomes[0].error_message == "name 'f' is not defined"


def test_a_name_that_cannot_be_called_raises_a_type_error(sandbox: Sandbox) -> None:
    assert sandbox.run("f = 3", [Call("f", ())]).outcomes[0].error_type == "TypeError"


def test_a_program_is_not_run_as_main(sandbox: Sandbox) -> None:
    assert sandbox.run("if __name__ == '__main__': print('ran')").stdout == ""


def test_random_numbers_depend_on_the_seed_alone(sandbox: Sandbox) -> None:
    source = "import random\nfirst = random.random()\ndef f():\n    return [first, random.random()]"
    calls = [Call("f", ()), Call("f", ())]
    once, again, other = (sandbox.run(source, calls, seed=seed).outcomes for seed in (1, 1, 2))
    assert once == again
    assert once[0] == once[1]
    assert once != other


def test_sets_of_strings_have_the_same_order_in_every_run(sandbox: Sandbox) -> None:
    source = "def f():\n    return list({'a', 'b', 'c', 'd', 'e'})"
    assert len({str(sandbox.run(source, [Call("f", ())]).outcomes) for _ in range(3)}) == 1


def test_both_output_streams_are_captured(sandbox: Sandbox) -> None:
    result = sandbox.run("import sys\nprint('out', flush=True)\nprint('err', file=sys.stderr)")
    assert result.stdout == "out\nerr\n"


def test_half_a_character_is_printed_escaped(sandbox: Sandbox) -> None:
    assert sandbox.run("print('\\ud800')").stdout == "\\ud800\n"


def test_a_program_that_closes_its_output_is_still_answered(sandbox: Sandbox) -> None:
    source = "import sys\ndef f():\n    sys.stdout.close()\n    return 1"
    assert sandbox.run(source, [Call("f", ())]).outcomes[0].value == 1


def test_limits_of_one_run_do_not_change_the_next(sandbox: Sandbox) -> None:
    eater = "block = bytearray(128 << 20)"
    assert sandbox.run(eater, limits=Limits(memory_bytes=100 << 20)).load_error == "MemoryError:"
    # Touching so much memory may take a busy machine a while.
    assert sandbox.run(eater, limits=Limits(call_cpu_s=6.0)).load_error == ""


def test_a_jail_that_cannot_be_built_as_ordered_runs_nothing(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="could not be built: limits: "):
        sandbox.run("print('ran')", limits=Limits(cpu_s=1 << 70))


def test_a_wall_clock_too_short_to_build_the_jail_leaves_every_answer_missing(sandbox: Sandbox) -> None:
    # It sleeps, because on a busy machine all else may be over before we look at the clock.
    result = sandbox.run("import time\ntime.sleep(60)", [Call("f", ())], limits=Limits(wall_s=1e-6))
    assert (result.outcomes, result.stopped_by) == ((Outcome("missing"),), "wall")


def test_a_limit_that_is_not_above_zero_is_an_error() -> None:
    with pytest.raises(UsageError, match="limit cpu_s is -1, it must be above 0"):
        Limits(cpu_s=-1)


def test_an_argument_that_cannot_be_carried_raises_at_once(sandbox: Sandbox) -> None:
    with pytest.raises(ValueCodecError):
        sandbox.run("", [Call("f", (object(),))])


def test_threads_share_one_sandbox(sandbox: Sandbox) -> None:
    values: dict[int, object] = {}

    def ask(number: int) -> None:
        values[number] = sandbox.run("def f(x):\n    return x", [Call("f", (number,))]).outcomes[0].value

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == {number: number for number in range(6)}


def test_a_sandbox_that_a_finished_thread_started_lives_on(others: set[int]) -> None:
    with Sandbox("A", SMALL) as sandbox:
        thread = threading.Thread(target=sandbox.run, args=("",))
        thread.start()
        thread.join()
        zygote = descendants() - others
        sandbox.run("")
        assert descendants() - others == zygote


def test_a_limit_of_the_machine_that_is_stricter_already_stays(others: set[int]) -> None:
    source = "import resource\ndef f():\n    return list(resource.getrlimit(resource.RLIMIT_STACK))"
    with Sandbox("A", SMALL) as sandbox:
        sandbox.run("")
        (zygote,) = descendants() - others
        resource.prlimit(zygote, resource.RLIMIT_STACK, (16 << 20, 16 << 20))
        assert sandbox.run(source, [Call("f", ())]).outcomes[0].value == [16 << 20, 16 << 20]


def test_signals_that_we_have_blocked_still_interrupt_a_call() -> None:
    timers = {signal.SIGALRM, signal.SIGPROF}
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, timers)
    try:
        with Sandbox("A", SMALL) as sandbox:
            result = sandbox.run("def f():\n    while True: pass", [Call("f", ())], limits=Limits(call_cpu_s=0.2))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
    assert (result.outcomes[0].kind, result.stopped_by) == ("timeout", "exit")


def test_a_closed_sandbox_may_be_used_again(others: set[int]) -> None:
    with Sandbox("A", SMALL) as sandbox:
        sandbox.run("")
        sandbox.close()
        assert descendants() == others
        assert sandbox.run("print(1)").stdout == "1\n"


def test_a_zygote_that_died_between_runs_is_replaced(others: set[int]) -> None:
    with Sandbox("A", SMALL) as sandbox:
        sandbox.run("")
        (zygote,) = descendants() - others
        os.kill(zygote, signal.SIGKILL)
        time.sleep(0.1)
        assert sandbox.run("print(1)").stdout == "1\n"


def test_a_zygote_that_dies_during_a_run_is_an_error_and_the_next_run_works(others: set[int]) -> None:
    with Sandbox("A", SMALL) as sandbox:
        sandbox.run("")
        (zygote,) = descendants() - others
        killer = threading.Timer(0.3, os.kill, (zygote, signal.SIGKILL))
        killer.start()
        with pytest.raises(SandboxError, match="zygote died during a run"):
            sandbox.run("import time; time.sleep(60)")
        killer.join()
        assert sandbox.run("print(1)").stdout == "1\n"


def test_an_interrupt_in_the_middle_leaves_no_process_and_a_usable_sandbox(others: set[int]) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with Sandbox("A", SMALL) as sandbox:
            sandbox.run("")
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                sandbox.run("import time; time.sleep(60)")
            assert descendants() == others
            assert sandbox.run("print(1)").stdout == "1\n"
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_another_operating_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="needs Linux"), Sandbox() as sandbox:
        sandbox.run("")


@pytest.mark.parametrize("executable", ["", "/bin/true", "/nowhere/python"])
def test_an_interpreter_that_cannot_be_started_is_refused(monkeypatch: pytest.MonkeyPatch, executable: str) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(SandboxError), Sandbox() as sandbox:
        sandbox.run("")


def test_a_sandbox_without_a_core_is_an_error() -> None:
    with pytest.raises(UsageError, match="num_cores is 0"):
        Sandbox(num_cores=0)


def test_programs_of_two_threads_run_at_once_where_there_are_two_cores(others: set[int]) -> None:
    sleeper = "import time\ndef f():\n    time.sleep(0.6)"
    spans: list[tuple[float, float]] = []

    def ask() -> None:
        start = time.monotonic()
        sandbox.run(sleeper, [Call("f", ())])
        spans.append((start, time.monotonic()))

    with Sandbox("A", SMALL, num_cores=2) as sandbox:
        sandbox.run("")
        assert len(descendants() - others) == 1
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(descendants() - others) == 2
    ends = sorted(end for _, end in spans)
    assert ends[1] - ends[0] < 0.5 < ends[2] - ends[0]
    assert descendants() == others


def test_closing_waits_for_a_run_of_another_thread(others: set[int]) -> None:
    printed: list[str] = []
    sandbox = Sandbox("A", SMALL)
    sandbox.run("")
    program = "import time\ntime.sleep(0.5)\nprint('whole')"
    thread = threading.Thread(target=lambda: printed.append(sandbox.run(program).stdout))
    thread.start()
    time.sleep(0.2)
    sandbox.close()
    thread.join()
    assert (printed, descendants()) == (["whole\n"], others)


@pytest.fixture
def sparing(others: set[int]) -> Iterator[Sandbox]:
    with Sandbox("A", SMALL, keeps_spare=True) as made:
        made.run("")
        yield made


def test_a_spare_child_waits_locked_in_and_is_used_for_one_program_only(sparing: Sandbox, others: set[int]) -> None:
    source = "import os\nopen('left', 'x').close()\nseen = []\ndef f():\n    seen.append(1)\n    return seen"
    for _ in range(4):
        zygote, *waiting = sorted(descendants() - others)
        assert sparing.run(source, [Call("f", ())]).outcomes[0].value == [1]
        assert (descendants() - others) & {zygote, *waiting} == {zygote}


def test_a_spare_child_gets_no_program_with_other_limits(sparing: Sandbox) -> None:
    source = "import resource\ndef f():\n    return resource.getrlimit(resource.RLIMIT_CPU)[0]"
    found = [sparing.run(source, [Call("f", ())], limits=Limits(cpu_s=cpu_s)).outcomes[0].value for cpu_s in (2, 5, 2)]
    assert found == [2, 5, 2]


def test_a_spare_child_that_died_is_replaced(sparing: Sandbox, others: set[int]) -> None:
    for _ in range(2):
        time.sleep(0.2)
        os.kill(max(descendants() - others), signal.SIGKILL)
        time.sleep(0.2)
        assert sparing.run("print(1)").stdout == "1\n"


def test_a_spare_child_whose_zygote_died_is_replaced_with_it(sparing: Sandbox, others: set[int]) -> None:
    os.kill(min(descendants() - others), signal.SIGKILL)
    time.sleep(0.2)
    assert sparing.run("print(1)").stdout == "1\n"
