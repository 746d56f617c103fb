"""Limits that a control group puts on this process, versions 1 and 2. Reads them, never sets them.

Inside a container the own path is often not visible and the limits stand at the mount's root, so every folder from
the own group up to the root is read and the tightest limit counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from armillary.hardware.files import read_number, read_rows, read_text


@dataclass(frozen=True, slots=True)
class CgroupLimits:
    """The tightest limits that hold for this process.

    Attributes:
        cpu_cores: processor time per time, in cores, or None without a quota.
        memory_bytes: memory the group may hold, or None without a limit.
        memory_left_bytes: memory the group may still take, or None without a limit.
    """

    cpu_cores: float | None = None
    memory_bytes: int | None = None
    memory_left_bytes: int | None = None


def read_limits(root: Path) -> CgroupLimits:
    """Read the limits of this process below ``root``, the folder that holds ``proc`` and ``sys``."""
    groups = _groups(root)
    quotas = [quota for name in ("", "cpu") for folder in groups.get(name, ()) if (quota := _cpu_quota(folder))]
    memory = [pair for name in ("", "memory") for folder in groups.get(name, ()) if (pair := _memory(folder))]
    return CgroupLimits(
        cpu_cores=min(quotas, default=None),
        memory_bytes=min((limit for limit, _ in memory), default=None),
        memory_left_bytes=min((left for _, left in memory), default=None),
    )


def _groups(root: Path) -> dict[str, list[Path]]:
    """Controller (empty for version 2) -> folders from the own group up to the mount's root."""
    mount = root / "sys/fs/cgroup"
    groups: dict[str, list[Path]] = {}
    for line in read_text(root / "proc/self/cgroup").splitlines():
        _, controllers, own = line.split(":", 2)
        for name in controllers.split(","):
            tops = (mount / "unified",) if not name else (mount / controllers, mount / name)
            top = next((folder for folder in tops if folder.is_dir()), mount)
            path = PurePosixPath(own.lstrip("/"))
            groups[name] = [top / part for part in (path, *path.parents)]
    return groups


def _cpu_quota(folder: Path) -> float | None:
    quota, _, period = read_text(folder / "cpu.max").strip().partition(" ")
    if quota.isdecimal() and period.isdecimal():
        return int(quota) / int(period)
    old_quota, old_period = read_number(folder / "cpu.cfs_quota_us"), read_number(folder / "cpu.cfs_period_us")
    return old_quota / old_period if old_quota and old_period and old_quota > 0 else None


def _memory(folder: Path) -> tuple[int, int] | None:
    """Limit and what is left of it; cached file pages that nobody uses count as left."""
    names = ("memory.max", "memory.high", "memory.limit_in_bytes")
    limits = [limit for name in names if (limit := read_number(folder / name)) is not None]
    if not limits:
        return None
    used = read_number(folder / "memory.current") or read_number(folder / "memory.usage_in_bytes") or 0
    counters = read_rows(folder / "memory.stat")
    idle_cache = int(counters.get("total_inactive_file", counters.get("inactive_file", "0")))
    return min(limits), max(0, min(limits) - max(0, used - idle_cache))
