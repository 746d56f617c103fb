from __future__ import annotations

from pathlib import Path

import pytest

from armillary.hardware.cgroup import CgroupLimits, read_limits


def _lay_out(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def test_a_machine_without_groups_has_no_limits(tmp_path: Path) -> None:
    assert read_limits(tmp_path) == CgroupLimits(None, None, None)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"a/b/cpu.max": "150000 100000", "a/cpu.max": "max 100000"}, 1.5),
        ({"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
        ({"a/b/cpu.max": "300000 100000", "a/cpu.max": "200000 100000"}, 2.0),
        ({"a/b/cpu.max": "max 100000"}, None),
        ({"a/b/cpu.max": "nonsense"}, None),
    ],
    ids=["own", "parent's", "tighter of two", "none", "unreadable"],
)
def test_the_tightest_quota_on_the_way_to_the_root_counts(
    tmp_path: Path, files: dict[str, str], cores: float | None
) -> None:
    _lay_out(tmp_path, {"proc/self/cgroup": "0::/a/b\n"} | {f"sys/fs/cgroup/{path}": files[path] for path in files})
    assert read_limits(tmp_path).cpu_cores == cores


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_a_version_1_quota_is_found_under_either_mount_name(tmp_path: Path, folder: str) -> None:
    _lay_out(
        tmp_path,
        {
            "proc/self/cgroup": "3:cpu,cpuacct:/job\n",
            f"sys/fs/cgroup/{folder}/job/cpu.cfs_quota_us": "400000",
            f"sys/fs/cgroup/{folder}/job/cpu.cfs_period_us": "200000",
        },
    )
    assert read_limits(tmp_path).cpu_cores == 2.0


def test_the_soft_memory_limit_counts_when_it_is_lower(tmp_path: Path) -> None:
    _lay_out(
        tmp_path,
        {
            "proc/self/cgroup": "0::/job\n",
            "sys/fs/cgroup/job/memory.max": "1000",
            "sys/fs/cgroup/job/memory.high": "800",
            "sys/fs/cgroup/job/memory.current": "300",
        },
    )
    assert read_limits(tmp_path) == CgroupLimits(None, 800, 500)


def test_a_group_over_its_limit_has_nothing_left(tmp_path: Path) -> None:
    _lay_out(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "1000",
            "sys/fs/cgroup/memory.current": "1500",
            "sys/fs/cgroup/memory.stat": "inactive_file 100\n",
        },
    )
    assert read_limits(tmp_path).memory_left_bytes == 0


def test_a_hybrid_layout_reads_both_versions(tmp_path: Path) -> None:
    _lay_out(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/job\n0::/job\n",
            "sys/fs/cgroup/unified/job/cpu.max": "100000 100000",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "5000",
        },
    )
    assert read_limits(tmp_path) == CgroupLimits(1.0, 5000, 5000)
