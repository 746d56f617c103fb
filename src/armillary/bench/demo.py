"""``armillary bench demo``: over ten seeds, how often the task of ``make demo`` shows what it is there to show.

A run shows it when the model wrote a program that was refuted by a counterexample and one that was accepted, both in
that run. A text that is no program, or that breaks a rule before it runs, refutes itself and does not count.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace
from pathlib import Path

from armillary.bench.machine import MachineState, observe_machine, require_quiet
from armillary.bench.rows import RESULTS_FOLDER, Row, append_row, holds, is_partial_run
from armillary.core.errors import NotFoundError
from armillary.core.protocols import Generator, Verifier
from armillary.core.settings import load_settings
from armillary.core.tasks import TaskSpec
from armillary.core.trace import Trace
from armillary.core.verdicts import Status
from armillary.reason.loop import solve
from armillary.reason.search import Solution
from armillary.runtime import stack
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.spec import load_task
from armillary.verify.verifier import CodeVerifier

DEFAULT_FOLDER = Path("examples")
NUM_SEEDS = 10
QUICK_SEEDS = 3
TARGET_RATIO = 0.8


def run(*, quick: bool, data: Path | None, limit: int | None, noisy: bool) -> list[Row]:
    """Solve the demo's task with the model and the jail that the settings name.

    Args:
        quick: three seeds instead of ten.
        data: folder with ``demo.yaml``; ``examples`` by default.
        limit: number of seeds.
        noisy: measure although others use the machine.

    Raises:
        NotFoundError: the folder has no ``demo.yaml``.
        UsageError: the machine is not quiet.
    """
    path = (data or DEFAULT_FOLDER) / "demo.yaml"
    if not path.is_file():
        raise NotFoundError(f"no {path}", hint="run in a checkout, or pass --data DIR with demo.yaml")
    machine = observe_machine()
    require_quiet(machine, is_noise_allowed=noisy)
    settings = load_settings()
    num_seeds = limit or (QUICK_SEEDS if quick else NUM_SEEDS)
    with Sandbox(settings["sandbox.minimum_tier"]) as jail:
        return measure(
            load_task(path),
            stack.generator_for(settings),
            CodeVerifier(jail),
            num_seeds,
            machine,
            is_partial=is_partial_run(quick=quick, limit=limit, noisy=noisy, full_size=NUM_SEEDS),
        )


def measure(
    task: TaskSpec,
    generator: Generator,
    verifier: Verifier,
    num_seeds: int,
    machine: MachineState,
    folder: Path = RESULTS_FOLDER,
    *,
    is_partial: bool = False,
) -> list[Row]:
    """Solve with seeds 0, 1, ... and append the rows to ``demo.jsonl`` in the results' folder."""
    solutions = []
    for seed in range(num_seeds):
        solution = solve(task, generator, verifier, Trace(), seed=seed)
        solutions.append(solution)
        print(f"seed {seed}: {_describe(solution)}", file=sys.stderr)
    num_shown = sum(shows_both(solution) for solution in solutions)
    seconds = [solution.elapsed_s for solution in solutions]
    rows = [
        _row("seeds_with_a_refuted_and_an_accepted_program", num_shown, machine, num_seeds, of=num_seeds),
        _row("seconds_per_solve", statistics.median(seconds), machine, num_seeds, spread=(min(seconds), max(seconds))),
    ]
    rows = [replace(row, is_partial=is_partial) for row in rows]
    for row in rows:
        append_row(folder / "demo.jsonl", row)
    return rows


def shows_both(solution: Solution) -> bool:
    """Whether the run has a program that was refuted by a counterexample, and ends with an accepted one."""
    return _num_refuted(solution) > 0 and solution.verdict.is_accepted


def _num_refuted(solution: Solution) -> int:
    verdicts = [attempt.verdict for attempt in solution.attempts]
    return sum(verdict.status == Status.REFUTED and verdict.counterexample is not None for verdict in verdicts)


def _describe(solution: Solution) -> str:
    num_accepted = sum(attempt.verdict.is_accepted for attempt in solution.attempts)
    num_refuted = _num_refuted(solution)
    return f"{num_refuted} refuted, {num_accepted} accepted, {solution.verdict.status}, {solution.elapsed_s:.1f} s"


def _row(
    metric: str,
    value: float,
    machine: MachineState,
    num_seeds: int,
    *,
    of: int | None = None,
    spread: tuple[float, float] | None = None,
) -> Row:
    target = None if of is None else TARGET_RATIO * of
    return Row(
        claim="demo",
        metric=metric,
        value=value,
        unit="s" if of is None else f"of {of}",
        target=target,
        aim="lower" if of is None else "higher",
        holds=holds(value, target, "higher"),
        baseline="",
        n=num_seeds,
        interval=spread,
        threads=machine.num_cores,
        load=machine.load,
        hardware=machine.hardware,
        commit=machine.commit,
    )
