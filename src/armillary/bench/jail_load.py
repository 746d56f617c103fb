"""Measure how fast the jail starts and how many runs it does, and whether it leaves anything behind. Judges nothing.

What else the machine is doing is in the numbers: run it on idle cores, or say what ran beside it.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from armillary.bench.attack_world import open_descriptors
from armillary.core.errors import SandboxError
from armillary.verify.execution import Jail
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, Limits

_SMALLEST: Final = "def f(): return 1"
_CALLS: Final = (Call("f", ()),)
_SETTLE_S: Final = 10.0
_LATEST_KILL_S: Final = 0.06
_TARGETS: Final = ("program", "keeper", "zygote")
_FOLDERS: Final = ("/tmp", "/var/tmp", "/mnt", "/srv", "/")  # noqa: S108 - where a leaked file would be, only looked at
_LIMITS: Final = Limits(wall_s=5.0, cpu_s=2, call_cpu_s=1.0)
_SHORT: Final = Limits(wall_s=0.05)
_PROGRAMS: Final = (
    (_SMALLEST, _LIMITS),
    ("import time\ndef f(): time.sleep(60)", _SHORT),
    ("import os\ndef f(): os._exit(3)", _LIMITS),
    ("open('{mark}', 'w').write('x')\ndef f(): print('x' * 100_000)", _LIMITS),
    ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\ndef f(): return 1", _LIMITS),
    ("import time\ndef f(): time.sleep(0.03)", _LIMITS),
)


@dataclass(frozen=True, slots=True)
class SoakReport:
    """What many runs left behind, all of which should be 0, and what was done to them.

    Attributes:
        leaked_processes: of any zygote's session, that still ran when all was closed.
        leaked_mounts: in our own namespace.
        leaked_files: on the real disk, of those that programs wrote.
        leaked_descriptors: of this process when all was closed, and of the last zygote since its first run.
        num_kills: processes that were killed under way.
        num_broken_runs: runs that ended with an error of the sandbox; each needs a kill to excuse it.
    """

    leaked_processes: int
    leaked_mounts: int
    leaked_files: int
    leaked_descriptors: int
    num_runs: int
    num_kills: int
    num_broken_runs: int

    @property
    def is_clean(self) -> bool:
        """Whether nothing was left and no run broke that nobody broke."""
        leaked = (self.leaked_processes, self.leaked_mounts, self.leaked_files, self.leaked_descriptors)
        return not any(leaked) and self.num_broken_runs <= self.num_kills


def measure_start(jail: Jail, num_runs: int) -> list[float]:
    """How long the smallest program takes from the request to its answer, in ms, run by run.

    Raises:
        SandboxError: the jail does not work here.
    """
    jail.run(_SMALLEST, _CALLS)  # starts the zygote and tries the tier
    return [_timed_ms(jail) for _ in range(num_runs)]


def measure_throughput(make_jail: Callable[[], Sandbox], seconds: float, *, num_cores: int = 0) -> float:
    """How many of the smallest programs are done per second by one jail for each core.

    Args:
        make_jail: gives a jail of its own to each thread.
        seconds: how long to measure.
        num_cores: how many threads, by default as many as there are cores for this process.

    Raises:
        SandboxError: the jail does not work here.
    """
    num_cores = num_cores or len(os.sched_getaffinity(0))
    ready = threading.Barrier(num_cores)

    def work() -> tuple[int, float]:
        with make_jail() as jail:
            try:
                jail.run(_SMALLEST, _CALLS)
            except BaseException:
                ready.abort()
                raise
            ready.wait()
            start, num_runs = time.monotonic(), 0
            while (elapsed_s := time.monotonic() - start) < seconds:
                jail.run(_SMALLEST, _CALLS)
                num_runs += 1
        return num_runs, elapsed_s

    with ThreadPoolExecutor(num_cores) as pool:
        futures = [pool.submit(work) for _ in range(num_cores)]
        errors = [error for future in futures if isinstance(error := future.exception(), SandboxError)]
        if errors:
            raise errors[0]
        return sum(num_runs / elapsed_s for num_runs, elapsed_s in (future.result() for future in futures))


def soak(num_runs: int, kill_share: float, seed: int, *, minimum_tier: str = "A") -> SoakReport:
    """Run many programs of several kinds, kill parts of the jail at random times, and look for what is left.

    Args:
        num_runs: how many programs.
        kill_share: of the runs, in which the program, its keeper or the zygote is killed; 0 to 1.
        seed: of the choice of runs, targets and times.
        minimum_tier: of the jail.

    Raises:
        SandboxError: the jail does not work here.
    """
    choice = random.Random(seed)  # noqa: S311 - a schedule, not a secret
    mark = f"armillary-soak-{os.getpid()}-{seed}"
    before = (_mounts(), open_descriptors())
    others = set(_children(os.getpid()))
    watch = _Watch(others)
    num_broken_runs = 0
    with Sandbox(minimum_tier, _LIMITS) as jail:
        jail.run(_SMALLEST, _CALLS)
        for number in range(num_runs):
            program, limits = _PROGRAMS[number % len(_PROGRAMS)]
            watch.look()
            with watch.killing(choice, kill_share):
                num_broken_runs += not _runs(jail, program.format(mark=mark), limits)
        _runs(jail, _SMALLEST, _LIMITS)
        watch.look()
        leaked_in_zygote = watch.num_new_descriptors()
    leaked_processes = watch.num_alive_after(_SETTLE_S)
    return SoakReport(
        leaked_processes=leaked_processes,
        leaked_mounts=len(_mounts() - before[0]),
        leaked_files=sum(Path(folder, mark).exists() for folder in {*_FOLDERS, os.getcwd()}),
        leaked_descriptors=max(0, open_descriptors() - before[1]) + leaked_in_zygote,
        num_runs=num_runs,
        num_kills=watch.num_kills,
        num_broken_runs=num_broken_runs,
    )


@dataclass(slots=True)
class _Watch:
    """Knows the zygotes that there were, and kills below the last one.

    Attributes:
        others: children of ours that are no zygotes.
        descriptors: zygote -> how many it held when it was first seen between two runs.
    """

    others: set[int]
    descriptors: dict[int, int] = field(default_factory=dict)
    sessions: set[int] = field(default_factory=set)
    num_kills: int = 0

    def look(self) -> None:
        """Take note of the living zygote, which runs nothing now."""
        for zygote in set(_children(os.getpid())) - self.others:
            self.sessions.add(zygote)
            self.descriptors.setdefault(zygote, _open_descriptors_or_none(zygote) or 0)

    def num_new_descriptors(self) -> int:
        """How many more the living zygote holds than at first."""
        living = set(_children(os.getpid())) - self.others
        return sum(max(0, (_open_descriptors_or_none(pid) or 0) - self.descriptors[pid]) for pid in living)

    def killing(self, choice: random.Random, kill_share: float) -> _Killing:
        """In the block, perhaps, kill one process at a time and of a kind that ``choice`` makes."""
        is_chosen = choice.random() < kill_share
        return _Killing(self, choice.choice(_TARGETS) if is_chosen else "", choice.uniform(0.0, _LATEST_KILL_S))

    def kill(self, target: str) -> None:
        """Kill the zygote, its child or its child's child, whichever exist now."""
        line = [pid for pid in _children(os.getpid()) if pid not in self.others]
        self.sessions |= set(line)
        for _ in range({"zygote": 0, "keeper": 1, "program": 2}[target]):
            line = [below for pid in line for below in _children(pid)]
        for pid in line:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.num_kills += 1

    def num_alive_after(self, patience_s: float) -> int:
        """Processes of any zygote's session that do not end within the time."""
        deadline = time.monotonic() + patience_s
        while (alive := sum(1 for _ in _of_sessions(self.sessions))) and time.monotonic() < deadline:
            time.sleep(0.01)
        return alive


class _Killing:
    """A block during which a kill may happen; it has happened when the block ends."""

    def __init__(self, watch: _Watch, target: str, delay_s: float) -> None:
        self._timer = threading.Timer(delay_s, watch.kill, (target,)) if target else None

    def __enter__(self) -> None:
        if self._timer:
            self._timer.start()

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.join()


def _timed_ms(jail: Jail) -> float:
    start = time.perf_counter()
    jail.run(_SMALLEST, _CALLS)
    return (time.perf_counter() - start) * 1000


def _runs(jail: Sandbox, program: str, limits: Limits) -> bool:
    try:
        jail.run(program, _CALLS, limits=limits)
    except SandboxError:
        return False
    return True


def _mounts() -> set[str]:
    return set(Path("/proc/self/mountinfo").read_text().splitlines())


def _children(pid: int) -> Iterator[int]:
    """Living children; each thread of a process has its own."""
    for process, (parent, _) in _processes():
        if parent == pid:
            yield process


def _of_sessions(sessions: set[int]) -> Iterator[int]:
    return (process for process, (_, session) in _processes() if session in sessions)


def _processes() -> Iterator[tuple[int, tuple[int, int]]]:
    """Every process that is no zombie, with its parent and its session."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            yield int(entry), (int(fields[1]), int(fields[3]))


def _open_descriptors_or_none(pid: int) -> int | None:
    try:
        return open_descriptors(pid)
    except OSError:
        return None
