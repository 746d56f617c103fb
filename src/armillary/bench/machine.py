"""What a measurement ran on and how quiet it was there. Linux only; elsewhere fields read ``unknown``."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from armillary.core.errors import UsageError

FLAGS_OF_INTEREST = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm", "sve")
MAX_LOAD_PER_CORE = 0.3
MAX_STEAL_RATIO = 0.02
STEAL_WINDOW_S = 1.0
STEAL_FIELD = 7


@dataclass(frozen=True, slots=True)
class MachineState:
    """The machine before a run.

    Attributes:
        hardware: processor, usable cores, vector extensions.
        num_cores: cores that this process may use.
        load: runnable tasks, averaged over the last minute.
        steal_ratio: share of time that the hypervisor gave to others.
        commit: what was measured; ends in ``+`` when files differ from it; empty outside a repository.
    """

    hardware: str
    num_cores: int
    load: float
    steal_ratio: float
    commit: str

    @property
    def noise(self) -> str:
        """Why measurements would not be worth much now, or empty."""
        reasons = []
        limit = MAX_LOAD_PER_CORE * self.num_cores
        if self.load > limit:
            reasons.append(f"load {self.load:.2f}, at most {limit:.2f}")
        if self.steal_ratio > MAX_STEAL_RATIO:
            reasons.append(f"steal {self.steal_ratio:.1%}, at most {MAX_STEAL_RATIO:.1%}")
        return "; ".join(reasons)


def observe_machine(*, proc: Path = Path("/proc"), folder: Path | None = None) -> MachineState:
    """Look at the machine for one second.

    Args:
        proc: where the kernel's files are.
        folder: inside the repository that is measured; the working directory by default.
    """
    before = _processor_times(proc)
    time.sleep(STEAL_WINDOW_S if before else 0.0)
    after = _processor_times(proc)
    passed = [late - early for early, late in zip(before, after, strict=True)]
    num_cores = len(os.sched_getaffinity(0))
    return MachineState(
        hardware=describe_hardware(_read(proc / "cpuinfo"), num_cores),
        num_cores=num_cores,
        load=os.getloadavg()[0],
        steal_ratio=_steal_ratio(passed),
        commit=commit_of(folder or Path.cwd()),
    )


def require_quiet(state: MachineState, *, is_noise_allowed: bool) -> None:
    """Refuse a machine that others are using.

    Raises:
        UsageError: load or steal is too high and nobody said that this is fine.
    """
    if state.noise and not is_noise_allowed:
        raise UsageError(f"the machine is not quiet: {state.noise}", hint="wait, or pass --noisy to measure anyway")


def describe_hardware(cpuinfo: str, num_cores: int) -> str:
    """One line from the text of ``/proc/cpuinfo``."""
    fields = dict(_field(line) for line in cpuinfo.splitlines() if ":" in line)
    name = fields.get("model name") or f"{platform.machine() or 'unknown'} processor"
    present = set((fields.get("flags") or fields.get("Features") or "").split())
    flags = [flag for flag in FLAGS_OF_INTEREST if flag in present]
    return ", ".join((name, f"{num_cores} core{'' if num_cores == 1 else 's'}", *flags))


def commit_of(folder: Path) -> str:
    """Short hash of the commit that is checked out in a folder, ``+`` when tracked files were changed since."""
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return ""
    return f"{commit}+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else commit


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments, no shell
            ["git", *arguments],  # noqa: S607 - whichever git the user has
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


def _processor_times(proc: Path) -> list[int]:
    """Ticks by kind since boot, from the first line of ``/proc/stat``: user, nice, system, idle, ..., steal."""
    first, *_ = _read(proc / "stat").splitlines() or [""]
    return [int(number) for number in first.split()[1:9]]


def _steal_ratio(ticks: list[int]) -> float:
    total = sum(ticks)
    return ticks[STEAL_FIELD] / total if total > 0 and len(ticks) > STEAL_FIELD else 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
