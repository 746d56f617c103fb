from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from armillary.hardware.probe import SAMPLE_S, Cache, Machine, probe_machine

ProbeRecorded = Callable[..., Machine]
GIB = 1 << 30


def test_the_recorded_xeon_reads_as_it_is(probe_recorded: ProbeRecorded) -> None:
    assert probe_recorded("xeon_two_cores") == Machine(
        cpu_model="Intel(R) Xeon(R) Processor",
        kernel="Linux 6.18.44",
        num_logical_cores=2,
        num_allowed_cores=2,
        cpu_quota_cores=None,
        busy_cores=0.6,
        num_free_cores=1,
        steal_ratio=0.05,
        cpu_flags=frozenset({"f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16"}),
        caches=(
            Cache(1, "Data", 48 << 10, 1),
            Cache(1, "Instruction", 32 << 10, 1),
            Cache(2, "Unified", 2 << 20, 1),
            Cache(3, "Unified", 260 << 20, 2),
        ),
        total_memory_bytes=24684092 * 1024,
        available_memory_bytes=24041428 * 1024,
    )


def test_a_version_2_container_is_held_to_its_own_cores_quota_and_memory(probe_recorded: ProbeRecorded) -> None:
    machine = probe_recorded("container_v2")
    assert (machine.num_logical_cores, machine.num_allowed_cores, machine.cpu_quota_cores) == (8, 4, 2.5)
    assert machine.num_free_cores == 2
    assert machine.total_memory_bytes == 2 * GIB
    assert machine.available_memory_bytes == 2 * GIB - (734003200 - 419430400)


def test_neighbours_on_cores_that_we_may_not_use_cost_nothing(probe_recorded: ProbeRecorded) -> None:
    assert probe_recorded("container_v2").busy_cores == 0.0


def test_a_version_1_container_without_a_view_of_its_own_group_is_limited_too(probe_recorded: ProbeRecorded) -> None:
    machine = probe_recorded("container_v1")
    assert (machine.cpu_quota_cores, machine.num_free_cores) == (0.5, 0)
    assert machine.total_memory_bytes == GIB
    assert machine.available_memory_bytes == GIB - 200_000_000
    assert machine.caches == ()


def test_an_arm_board_names_its_core_and_board(probe_recorded: ProbeRecorded) -> None:
    machine = probe_recorded("arm_board")
    assert machine.cpu_model == "Cortex-A76, Raspberry Pi 5 Model B Rev 1.0"
    assert machine.cpu_flags == {"asimd", "asimdhp", "asimddp"}
    assert machine.total_memory_bytes == 8245236 * 1024


def test_an_emulated_kernel_that_leaves_out_steal_time_has_none(probe_recorded: ProbeRecorded) -> None:
    machine = probe_recorded("arm_board")
    assert machine.steal_ratio == 0.0
    assert machine.num_free_cores == 3


@pytest.mark.parametrize(("busy_ticks", "num_free"), [(0, 2), (2, 2), (3, 1), (12, 1), (13, 0), (20, 0)])
def test_others_may_use_a_quarter_of_a_core_before_it_stops_being_free(
    probe_recorded: ProbeRecorded, busy_ticks: int, num_free: int
) -> None:
    first = min(10, busy_ticks)
    second = busy_ticks - first
    machine = probe_recorded(
        "xeon_two_cores",
        {
            "proc/stat": "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n",
            "later/proc/stat": f"cpu0 {first} 0 0 {10 - first} 0 0 0 0\ncpu1 {second} 0 0 {10 - second} 0 0 0 0\n",
            "proc/loadavg": "0 0 0",
        },
    )
    assert machine.num_free_cores == num_free


def test_a_load_that_is_over_takes_no_core(probe_recorded: ProbeRecorded) -> None:
    idle = {
        "proc/stat": "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n",
        "later/proc/stat": "cpu0 0 0 0 10 0 0 0 0\ncpu1 0 0 0 10 0 0 0 0\n",
    }
    machine = probe_recorded("xeon_two_cores", {**idle, "proc/loadavg": "1.00 0.97 0.90 1/99 7"})
    assert machine.num_free_cores == 2


def test_clocks_that_stand_still_read_as_idle(probe_recorded: ProbeRecorded) -> None:
    machine = probe_recorded("xeon_two_cores", {"later/proc/stat": None, "proc/loadavg": None})
    assert (machine.busy_cores, machine.steal_ratio, machine.num_free_cores) == (0.0, 0.0, 2)


def test_a_core_that_comes_online_while_we_look_is_counted_but_not_measured(probe_recorded: ProbeRecorded) -> None:
    machine = probe_recorded(
        "xeon_two_cores",
        {
            "proc/stat": "cpu0 0 0 0 0 0 0 0 0\n",
            "later/proc/stat": "cpu0 0 0 0 10 0 0 0 0\ncpu1 50 0 0 0 0 0 0 0\n",
            "proc/loadavg": None,
        },
    )
    assert (machine.num_logical_cores, machine.busy_cores) == (2, 0.0)


def test_without_an_affinity_every_core_is_allowed(probe_recorded: ProbeRecorded) -> None:
    assert probe_recorded("xeon_two_cores", {"proc/self/status": None}).num_allowed_cores == 2


def test_an_affinity_to_cores_that_are_offline_is_cut_to_those_online(probe_recorded: ProbeRecorded) -> None:
    machine = probe_recorded("xeon_two_cores", {"proc/self/status": "Cpus_allowed_list:\t1,5-127\n"})
    assert machine.num_allowed_cores == 1


def test_an_unknown_processor_is_called_by_its_architecture(probe_recorded: ProbeRecorded) -> None:
    machine = probe_recorded("xeon_two_cores", {"proc/cpuinfo": None})
    assert machine.cpu_model == os.uname().machine
    assert machine.cpu_flags == frozenset()


def test_cache_sizes_are_read_in_kib_and_mib_and_odd_ones_left_out(probe_recorded: ProbeRecorded) -> None:
    folder = "sys/devices/system/cpu/cpu0/cache/index3/"
    assert probe_recorded("xeon_two_cores", {folder + "size": "32M\n"}).caches[-1].size_bytes == 32 << 20
    assert len(probe_recorded("xeon_two_cores", {folder + "size": "\n"}).caches) == 3


def test_a_system_without_proc_is_probed_by_portable_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 1.2, 2.0))
    machine = probe_machine(tmp_path)
    assert (machine.num_logical_cores, machine.num_allowed_cores, machine.num_free_cores) == (8, 8, 7)
    assert machine.kernel == f"{os.uname().sysname} {os.uname().release}"
    assert 0 < machine.available_memory_bytes < machine.total_memory_bytes


def test_the_machine_that_runs_this_test_makes_sense() -> None:
    waits: list[float] = []
    machine = probe_machine(pause=waits.append)
    assert 1 <= machine.num_allowed_cores <= machine.num_logical_cores
    assert 0 <= machine.num_free_cores <= machine.num_allowed_cores
    assert 0.0 <= machine.steal_ratio <= 1.0
    assert 0 < machine.available_memory_bytes <= machine.total_memory_bytes
    assert waits == [SAMPLE_S]
