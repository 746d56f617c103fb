"""``armillary bench verify``: what the verifier refutes, proves and gets wrong, and what its jail holds and costs."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from armillary.bench.attack_table import run_attacks, run_cheats, run_honest
from armillary.bench.contracts import count, judge_contracts, load_contracts
from armillary.bench.humaneval import HiddenTests, load_problems
from armillary.bench.intervals import wilson
from armillary.bench.jail_load import measure_start, measure_throughput, soak
from armillary.bench.machine import MachineState, observe_machine, require_quiet
from armillary.bench.refutation import Refutation, judge_recorded, load_recorded
from armillary.bench.rows import RESULTS_FOLDER, Row, append_row, holds, is_partial_run
from armillary.core.errors import UsageError
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.symbolic.adapter import Jails
from armillary.verify.symbolic.request import open_explorer
from armillary.verify.verifier import CodeVerifier

QUICK_PROBLEMS, NUM_PROBLEMS = 10, 164
QUICK_CONTRACTS = 8
NUM_STARTS, THROUGHPUT_S = 200, 10.0
QUICK_SOAK_RUNS, NUM_SOAK_RUNS = 60, 1000
KILL_SHARE = 0.2
MIN_REFUTED, MAX_WRONGLY_REFUTED, MAX_FIRST_S = 0.95, 0.02, 0.3
MIN_PROVED, MAX_START_MS, MIN_RUNS_PER_S = 10, 15.0, 100.0

Say = Callable[[str], None]


def run(*, quick: bool, data: Path | None, limit: int | None, noisy: bool) -> list[Row]:
    """Measure the verifier on this machine; each row is in ``benchmarks/results/verify.jsonl`` as soon as it is known.

    Raises:
        UsageError: no data folder was given, the machine is not quiet, or CrossHair is not installed.
        NotFoundError: the folder lacks ``humaneval`` or ``model_outputs``.
        SandboxError: this machine has no jail of tier A.
    """
    if data is None:
        raise UsageError("this topic needs data", hint="pass --data DIR with the folders humaneval and model_outputs")
    machine = observe_machine()
    require_quiet(machine, is_noise_allowed=noisy)
    is_partial = is_partial_run(quick=quick, limit=limit, noisy=noisy, full_size=NUM_PROBLEMS)
    report = Reporter(machine, is_partial=is_partial)
    rows = []
    for row in chain(
        measure_jail(report, num_soak_runs=QUICK_SOAK_RUNS if quick else NUM_SOAK_RUNS),
        measure_attacks(report),
        measure_contracts(report, QUICK_CONTRACTS if quick else None),
        measure_refutations(report, data, limit or (QUICK_PROBLEMS if quick else None)),
    ):
        append_row(RESULTS_FOLDER / "verify.jsonl", row)
        rows.append(row)
    return rows


class Reporter:
    """Makes rows that share a machine and a commit."""

    def __init__(self, machine: MachineState, *, is_partial: bool) -> None:
        self._machine = machine
        self._is_partial = is_partial

    def row(
        self,
        metric: str,
        value: float,
        unit: str,
        *,
        aim: str,
        n: int,
        target: float | None = None,
        baseline: str = "",
    ) -> Row:
        """One number with its target, if it has one."""
        return Row(
            claim="",
            metric=metric,
            value=value,
            unit=unit,
            target=target,
            aim=aim,
            holds=holds(value, target, aim),
            baseline=baseline,
            n=n,
            interval=None,
            threads=len(os.sched_getaffinity(0)),
            load=self._machine.load,
            hardware=self._machine.hardware,
            commit=self._machine.commit,
            is_partial=self._is_partial,
        )

    def share(
        self, metric: str, hits: Sequence[bool], *, aim: str, target: float | None = None, baseline: str = ""
    ) -> Row:
        """A share with its interval; 0 of nothing is 0."""
        value = statistics.fmean(hits) if hits else 0.0
        interval = wilson(sum(hits), len(hits))
        row = self.row(metric, value, "ratio", aim=aim, n=len(hits), target=target, baseline=baseline)
        return replace(row, interval=interval)


def measure_jail(report: Reporter, *, num_soak_runs: int) -> Iterator[Row]:
    """Start, throughput, and what many runs with kills leave behind."""
    with Sandbox("A") as jail:
        times_ms = measure_start(jail, NUM_STARTS)
    spread = (min(times_ms), max(times_ms))
    middle_ms = statistics.median(times_ms)
    row = report.row("jail start", middle_ms, "ms", aim="lower", n=len(times_ms), target=MAX_START_MS)
    yield replace(row, interval=spread)
    rate = measure_throughput(lambda: Sandbox("A"), THROUGHPUT_S)
    yield report.row("jail throughput", rate, "runs/s", aim="higher", n=1, target=MIN_RUNS_PER_S)
    left = soak(num_soak_runs, KILL_SHARE, seed=0)
    leaked = left.leaked_processes + left.leaked_mounts + left.leaked_files + left.leaked_descriptors
    baseline = f"{num_soak_runs} runs, {left.num_kills} kills"
    yield report.row("soak: leaked things", leaked, "things", aim="lower", n=num_soak_runs, target=0, baseline=baseline)


def measure_attacks(report: Reporter) -> Iterator[Row]:
    """Attacks, honest programs and cheats."""
    attacks = run_attacks("A")
    escapes = sum(not item.is_stopped or item.num_left > 0 for item in attacks)
    yield report.row("attacks that succeed, tier A", escapes, "attacks", aim="lower", n=len(attacks), target=0)
    honest = run_honest("A")
    broken = sum(not item.is_unharmed for item in honest)
    yield report.row("honest programs broken, tier A", broken, "programs", aim="lower", n=len(honest), target=0)
    cheats = run_cheats()
    beaten = sum(item.beats_in_process for item in cheats)
    yield report.row(
        "cheats accepted",
        sum(bool(item.accepted_by) for item in cheats),
        "cheats",
        aim="lower",
        n=len(cheats),
        target=0,
        baseline=f"{beaten} of {len(cheats)} beat a grader in their own process",
    )


def measure_contracts(report: Reporter, limit: int | None) -> Iterator[Row]:
    """Contracts whose truth is known, explored by CrossHair."""
    with Sandbox("A") as runner, open_explorer("A") as explorer:
        found = count(judge_contracts(Jails(runner, explorer), load_contracts()[:limit]))
    n = found.proved + found.refuted + found.unknown
    yield report.row("contracts proved", found.proved, "contracts", aim="higher", n=n, target=MIN_PROVED)
    yield report.row("contracts judged wrongly", found.wrong, "contracts", aim="lower", n=n, target=0)
    yield report.row("contracts refuted", found.refuted, "contracts", aim="higher", n=n)


def measure_refutations(
    report: Reporter, data: Path, limit: int | None, say: Say = lambda line: print(line, file=sys.stderr)
) -> Iterator[Row]:
    """Recorded programs, wrong and right, held against a reference."""
    problems = load_problems(data / "humaneval", limit)
    recorded = load_recorded(data / "model_outputs", problems)
    results: list[Refutation] = []
    with Sandbox("A") as jail:
        for item in judge_recorded(recorded, CodeVerifier(jail), HiddenTests(jail)):
            results.append(item)
            say(f"{len(results)}/{len(recorded)} {item.source} {item.task_id}: {item.status}, {item.elapsed_s:.2f} s")
    wrong = [item for item in results if item.is_wrong]
    right = [item for item in results if item.source == "reference"]
    first_s = [item.elapsed_s for item in wrong if item.has_counterexample]
    yield report.share(
        "wrong programs refuted within 8 s",
        [item.is_refuted_in_time for item in wrong],
        aim="higher",
        target=MIN_REFUTED,
    )
    yield report.share(
        "references refuted",
        [item.status == "REFUTED" for item in right],
        aim="lower",
        target=MAX_WRONGLY_REFUTED,
    )
    yield report.row(
        "time to the first counterexample",
        statistics.median(first_s) if first_s else 0.0,
        "s",
        aim="lower",
        n=len(first_s),
        target=MAX_FIRST_S,
    )
