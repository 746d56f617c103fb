"""Many runs, some of them killed, leave no process, mount, file or descriptor behind; nor does a parent that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attack_world import descendants, open_descriptors

from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, Limits

SMALL = Limits(wall_s=3.0, cpu_s=2, call_cpu_s=1.0)
SHORT = Limits(wall_s=0.05)
PROGRAMS = (
    "def f(): return 1",
    "import time\ndef f(): time.sleep(60)",
    "import os\ndef f(): os._exit(3)",
    "open('file', 'w').write('x')\ndef f(): print('x' * 100_000)",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\ndef f(): return 1",
)
SLEEPER = """
import sys, time
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Limits
with Sandbox() as sandbox:
    sandbox.run("")
    print("ready", flush=True)
    sandbox.run("import time; time.sleep(60)", limits=Limits(wall_s=60, call_cpu_s=30))
"""

# A copy of the parent, as a careless library may leave one behind, holds the sandbox's channel open.
COPIER = SLEEPER.replace("    print(", "    import os; os.fork() or time.sleep(60)\n    print(", 1)


def mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def outer_files() -> set[str]:
    return set(os.listdir(tempfile.gettempdir()))


def start_sleeper(program: str = SLEEPER, num_processes: int = 3) -> tuple[subprocess.Popen[str], set[int]]:
    """A process in the middle of a long run, and all processes below it."""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    deadline = time.monotonic() + 10
    while len(below := descendants(process.pid)) < num_processes and time.monotonic() < deadline:
        time.sleep(0.01)
    return process, below


def wait_until_gone(pids: set[int]) -> set[int]:
    """What is still there after a while; the zombies of a parent that was killed are for others to reap."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (alive := {pid for pid in pids if is_running(pid)}):
        time.sleep(0.01)
    return alive


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_fifty_runs_leave_nothing_behind() -> None:
    with Sandbox("A", SMALL) as sandbox:
        sandbox.run("")
        (zygote,) = descendants()
        before = (descendants(), mounts(), outer_files(), open_descriptors(), open_descriptors(zygote))
        for number in range(50):
            program = PROGRAMS[number % len(PROGRAMS)]
            sandbox.run(program, [Call("f", ())], limits=SHORT if number % 5 == 1 else SMALL)
        after = (descendants(), mounts(), outer_files(), open_descriptors(), open_descriptors(zygote))
    # The folder for temporary files is shared with the whole machine: ours would bear the sandbox's names.
    assert [before[index] for index in (0, 1, 3, 4)] == [after[index] for index in (0, 1, 3, 4)]
    assert not {name for name in after[2] - before[2] if name in ("file", "main.py", "candidate.py")}
    assert descendants() == set()


def test_closing_frees_every_descriptor() -> None:
    before = open_descriptors()
    with Sandbox("A", SMALL) as sandbox:
        sandbox.run("")
    assert open_descriptors() == before


def test_a_sandbox_that_is_forgotten_ends_its_zygote() -> None:
    sandbox = Sandbox("A", SMALL)
    sandbox.run("")
    assert len(descendants()) == 1
    del sandbox
    assert descendants() == set()


def test_an_interrupt_during_a_run_kills_the_program_and_all_keepers() -> None:
    process, below = start_sleeper()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == -signal.SIGINT
    assert wait_until_gone(below) == set()
    process.stdout.close()


def test_a_parent_that_is_killed_takes_everything_with_it() -> None:
    process, below = start_sleeper()
    process.kill()
    process.wait(10)
    assert wait_until_gone(below) == set()
    process.stdout.close()


def test_a_parent_that_is_killed_takes_its_zygote_with_it_though_a_copy_of_it_lives_on() -> None:
    process, below = start_sleeper(COPIER, num_processes=4)
    (copy,) = (pid for pid in below if Path(f"/proc/{pid}/cmdline").read_bytes().find(b"Sandbox() as") >= 0)
    process.kill()
    process.wait(10)
    try:
        assert wait_until_gone(below - {copy}) == set()
        assert is_running(copy)
    finally:
        os.kill(copy, signal.SIGKILL)
    process.stdout.close()


def test_a_zygote_that_is_killed_takes_its_program_with_it() -> None:
    process, below = start_sleeper()
    os.kill(min(below), signal.SIGKILL)
    assert wait_until_gone(below) == set()
    process.wait(10)
    process.stdout.close()
