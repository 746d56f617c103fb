"""Find out what this machine has and what of it is free at this moment. Decides nothing and changes nothing.

On Linux everything is read from ``/proc`` and ``/sys``; elsewhere only core count, load and memory size are known.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from armillary.hardware.cgroup import CgroupLimits, read_limits
from armillary.hardware.files import parse_cpu_list, read_rows, read_text

SAMPLE_S = 0.2
BUSY_TOLERANCE_CORES = 0.25
X86_FLAGS = frozenset(
    {"f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16"}
)
ARM_FLAGS = frozenset({"neon", "asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2"})
ARM_CORES = {
    "0xd03": "Cortex-A53",
    "0xd05": "Cortex-A55",
    "0xd08": "Cortex-A72",
    "0xd0b": "Cortex-A76",
    "0xd0c": "Neoverse-N1",
    "0xd40": "Neoverse-V1",
    "0xd49": "Neoverse-N2",
    "0xd4f": "Neoverse-V2",
}


@dataclass(frozen=True, slots=True)
class Cache:
    """One processor cache as the first allowed core sees it.

    Attributes:
        level: 1 is nearest to the core.
        kind: ``Data``, ``Instruction`` or ``Unified``.
        num_sharing_cores: cores that share it.
    """

    level: int
    kind: str
    size_bytes: int
    num_sharing_cores: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine has, and what was free when it was probed.

    Attributes:
        cpu_model: name of the processor.
        kernel: name and release of the operating system's kernel.
        num_logical_cores: cores that are online.
        num_allowed_cores: cores that this process may run on.
        cpu_quota_cores: processor time that the control group grants, in cores, or None without a quota.
        busy_cores: allowed cores' worth of time that others used while we looked.
        num_free_cores: whole allowed cores within the quota that nobody else needs; may be 0.
        steal_ratio: share of the allowed cores' time that the hypervisor gave to other guests.
        cpu_flags: instruction sets from ``X86_FLAGS`` or ``ARM_FLAGS`` that the processor has.
        caches: caches of the first allowed core.
        total_memory_bytes: memory of the machine or of the control group, whichever is less.
        available_memory_bytes: memory that can be had without swapping.
    """

    cpu_model: str
    kernel: str
    num_logical_cores: int
    num_allowed_cores: int
    cpu_quota_cores: float | None
    busy_cores: float
    num_free_cores: int
    steal_ratio: float
    cpu_flags: frozenset[str]
    caches: tuple[Cache, ...]
    total_memory_bytes: int
    available_memory_bytes: int


def probe_machine(root: Path = Path("/"), *, pause: Callable[[float], None] = time.sleep) -> Machine:
    """Look at the machine for ``SAMPLE_S`` seconds.

    Args:
        root: folder that holds ``proc`` and ``sys``.
        pause: waits between two looks at the processors' clocks.
    """
    before = _read_ticks(root)
    if not before:
        return _probe_portable()
    pause(SAMPLE_S)
    after = _read_ticks(root)
    status = read_rows(root / "proc/self/status", ":")
    allowed = parse_cpu_list(status.get("Cpus_allowed_list", "")) & after.keys() or frozenset(after)
    busy_ratio, steal_ratio = _usage(before, after, allowed)
    # The load average is not asked: it remembers our own last run, and would take a core away from the next one.
    busy_cores = busy_ratio * len(allowed)
    limits = read_limits(root)
    cpuinfo = read_rows(root / "proc/cpuinfo", ":")
    total_bytes, available_bytes = _memory(root, limits)
    return Machine(
        cpu_model=_cpu_model(cpuinfo),
        kernel=f"Linux {read_text(root / 'proc/sys/kernel/osrelease').strip()}".strip(),
        num_logical_cores=len(after),
        num_allowed_cores=len(allowed),
        cpu_quota_cores=limits.cpu_cores,
        busy_cores=round(busy_cores, 2),
        num_free_cores=_whole_free_cores(len(allowed), busy_cores, limits.cpu_cores),
        steal_ratio=round(steal_ratio, 4),
        cpu_flags=(X86_FLAGS | ARM_FLAGS) & set((cpuinfo.get("flags") or cpuinfo.get("Features", "")).split()),
        caches=_caches(root / f"sys/devices/system/cpu/cpu{min(allowed)}/cache"),
        total_memory_bytes=total_bytes,
        available_memory_bytes=available_bytes,
    )


@dataclass(frozen=True, slots=True)
class _Ticks:
    """A core's clock: ticks since it started."""

    total: int
    idle: int
    steal: int


def _read_ticks(root: Path) -> dict[int, _Ticks]:
    ticks: dict[int, _Ticks] = {}
    for line in read_text(root / "proc/stat").splitlines():
        name, *fields = line.split()
        if not name.startswith("cpu") or name == "cpu":
            continue
        # Fields: user nice system idle iowait irq softirq steal; guest time after them is part of user already, and
        # emulated kernels leave out the last ones.
        counts = [int(field) for field in fields[:8]] + [0] * 8
        ticks[int(name.removeprefix("cpu"))] = _Ticks(sum(counts), counts[3] + counts[4], counts[7])
    return ticks


def _usage(before: dict[int, _Ticks], after: dict[int, _Ticks], cores: frozenset[int]) -> tuple[float, float]:
    """Shares of the cores' time that somebody used and that the hypervisor took, between two looks."""
    seen = [core for core in cores if core in before]
    total = sum(after[core].total - before[core].total for core in seen)
    if total <= 0:
        return 0.0, 0.0
    idle = sum(after[core].idle - before[core].idle for core in seen)
    steal = sum(after[core].steal - before[core].steal for core in seen)
    return min(1.0, max(0.0, 1.0 - idle / total)), min(1.0, max(0.0, steal / total))


def _whole_free_cores(num_allowed: int, busy_cores: float, quota_cores: float | None) -> int:
    # A core of which others use more than the tolerance is not free: threads that wait for each other at a barrier
    # run at the pace of the slowest.
    free = num_allowed - max(0, math.ceil(busy_cores - BUSY_TOLERANCE_CORES))
    return free if quota_cores is None else min(free, math.floor(quota_cores))


def _cpu_model(cpuinfo: dict[str, str]) -> str:
    name = cpuinfo.get("model name") or ARM_CORES.get(cpuinfo.get("CPU part", ""))
    board = cpuinfo.get("Model") or cpuinfo.get("Hardware")
    return ", ".join(part for part in (name, board) if part) or platform.machine()


def _caches(folder: Path) -> tuple[Cache, ...]:
    caches = []
    for index in sorted(folder.glob("index*")):
        level, kind, size, sharing = (
            read_text(index / name).strip() for name in ("level", "type", "size", "shared_cpu_list")
        )
        if level and size.endswith(("K", "M")):
            size_bytes = int(size[:-1]) << (10 if size.endswith("K") else 20)
            caches.append(Cache(int(level), kind, size_bytes, max(1, len(parse_cpu_list(sharing)))))
    return tuple(caches)


def _memory(root: Path, limits: CgroupLimits) -> tuple[int, int]:
    rows = read_rows(root / "proc/meminfo", ":")
    total, available = (int(rows.get(name, "0").removesuffix(" kB")) * 1024 for name in ("MemTotal", "MemAvailable"))
    if limits.memory_bytes is not None and limits.memory_left_bytes is not None:
        total, available = min(total, limits.memory_bytes), min(available, limits.memory_left_bytes)
    return total, available


def _probe_portable() -> Machine:
    num_cores = os.cpu_count() or 1
    busy_cores = min(float(num_cores), *os.getloadavg())
    total_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu_model=platform.processor() or platform.machine(),
        kernel=f"{platform.system()} {platform.release()}",
        num_logical_cores=num_cores,
        num_allowed_cores=num_cores,
        cpu_quota_cores=None,
        busy_cores=round(busy_cores, 2),
        num_free_cores=_whole_free_cores(num_cores, busy_cores, None),
        steal_ratio=0.0,
        cpu_flags=frozenset(),
        caches=(),
        total_memory_bytes=total_bytes,
        available_memory_bytes=total_bytes // 2,  # no portable call tells what is free; half is a careful guess
    )
