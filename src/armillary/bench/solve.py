"""``armillary bench solve``: how many problems are answered right, how many wrong answers are shown as verified.

Runs the loop on HumanEval with the docstring's examples as its only evidence, then judges every stage by the hidden
tests: the greedy answer, each sample, the selected answer, the one after revision.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from armillary.bench.humaneval import HiddenTests, Jail, Problem, load_problems
from armillary.bench.intervals import bootstrap, wilson
from armillary.bench.machine import MachineState, observe_machine, require_quiet
from armillary.bench.rows import RESULTS_FOLDER, Row, append_record, append_row, is_partial_run, read_records
from armillary.core.errors import UsageError
from armillary.core.protocols import Generator, Verifier
from armillary.core.settings import load_settings
from armillary.core.tasks import Budget
from armillary.core.trace import Trace
from armillary.reason.loop import solve
from armillary.reason.search import Solution
from armillary.runtime import stack
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.spec_python import task_from_stub
from armillary.verify.verifier import CodeVerifier

QUICK_LIMIT = 5
DEFAULT_LIMIT = 40
BUDGET = Budget(num_candidates=8, max_rounds=2, max_tokens=24_000, max_seconds=900.0)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One problem, judged by tests that the loop never saw.

    Attributes:
        settings: what must be equal for two results to belong together.
        greedy: whether the likeliest answer is right.
        samples: the same for each sampled first proposal.
        selected: for the answer that was chosen among the first proposals.
        final: for the answer after revision.
        greedy_plus, final_plus: the same on the larger hidden test set, where there is one.
        is_accepted: whether the final answer was presented as verified.
    """

    task_id: str
    settings: dict[str, Any]
    greedy: bool
    samples: tuple[bool, ...]
    selected: bool
    final: bool
    greedy_plus: bool
    final_plus: bool
    is_accepted: bool
    status: str
    stopped_by: str
    num_tokens: int
    elapsed_s: float
    first_verdict_s: float

    @property
    def any_right(self) -> bool:
        """Whether a right answer was among the first proposals: nobody who only selects does better."""
        return self.greedy or any(self.samples)


def run(*, quick: bool, data: Path | None, limit: int | None, noisy: bool) -> list[Row]:
    """Measure the model and the jail that the settings name, and append the rows to ``benchmarks/results/solve.jsonl``.

    Raises:
        UsageError: no data folder was given, or the machine is not quiet.
    """
    if data is None:
        raise UsageError("this topic needs a data set", hint="pass --data DIR with HumanEval.jsonl.gz")
    machine = observe_machine()
    require_quiet(machine, is_noise_allowed=noisy)
    settings = load_settings()
    problems = load_problems(data, limit or (QUICK_LIMIT if quick else DEFAULT_LIMIT))
    is_partial = is_partial_run(quick=quick, limit=limit, noisy=noisy, full_size=DEFAULT_LIMIT)
    blank = _blank_row(machine, is_partial=is_partial)
    with Sandbox(settings["sandbox.minimum_tier"]) as jail:
        return measure(stack.generator_for(settings), CodeVerifier(jail), jail, problems, blank=blank)


def measure(
    generator: Generator,
    verifier: Verifier,
    jail: Jail,
    problems: Sequence[Problem],
    *,
    blank: Row,
    budget: Budget = BUDGET,
    folder: Path = RESULTS_FOLDER,
    say: Say = lambda line: print(line, file=sys.stderr),
) -> list[Row]:
    """Solve and judge every problem that has no result under these settings yet; return and append the rows.

    Args:
        generator: the model.
        verifier: judges by the docstring's examples, inside the loop.
        jail: where the hidden tests run.
        problems: what to solve.
        blank: a row with what all rows of the run share: the machine and the commit.
        budget: of each problem.
        folder: where results are kept; ``solve-tasks.jsonl`` lets a stopped run go on.
        say: gets one line per problem.
    """
    settings = {
        "model": asdict(generator.model),
        "sandbox_tier": verifier.sandbox_tier,
        "budget": asdict(budget),
        "commit": blank.commit,
    }
    path = folder / "solve-tasks.jsonl"
    done = {item.task_id: item for item in map(_result_from_json, read_records(path)) if item.settings == settings}
    hidden = HiddenTests(jail)
    results = []
    for number, problem in enumerate(problems, start=1):
        result = done.get(problem.task_id)
        if result is None:
            result = _solve_one(problem, generator, verifier, hidden, budget, settings)
            append_record(path, asdict(result))
        results.append(result)
        say(f"{number}/{len(problems)} {_line(result)}")
    rows = summarise(results, blank)
    for row in rows:
        append_row(folder / "solve.jsonl", row)
    return rows


def _solve_one(
    problem: Problem,
    generator: Generator,
    verifier: Verifier,
    hidden: HiddenTests,
    budget: Budget,
    settings: dict[str, Any],
) -> TaskResult:
    task = replace(task_from_stub(problem.prompt, entry_point=problem.entry_point), budget=budget)
    trace = Trace()
    solution = solve(task, generator, verifier, trace)
    # A docstring that contradicts itself is not answered at all: empty code, which passes no test.
    codes = {attempt.id: attempt.code for attempt in solution.attempts}
    selected = next((str(event.body["chosen"]) for event in trace.events if event.kind == "selection"), "")
    greedy = codes.get("a0", "")
    return TaskResult(
        task_id=problem.task_id,
        settings=settings,
        greedy=hidden.passes(problem, greedy),
        samples=tuple(hidden.passes(problem, code) for code in _sampled_codes(solution)),
        selected=hidden.passes(problem, codes.get(selected, "")),
        final=hidden.passes(problem, solution.code),
        greedy_plus=hidden.passes_plus(problem, greedy),
        final_plus=hidden.passes_plus(problem, solution.code),
        is_accepted=solution.verdict.is_accepted,
        status=solution.verdict.status.value,
        stopped_by=solution.stopped_by.value,
        num_tokens=solution.usage.total_tokens,
        elapsed_s=round(solution.elapsed_s, 3),
        first_verdict_s=round(solution.first_verdict_s, 3),
    )


def _sampled_codes(solution: Solution) -> list[str]:
    return [attempt.code for attempt in solution.attempts if attempt.round == 0 and attempt.id != "a0"]


def _result_from_json(record: dict[str, Any]) -> TaskResult:
    try:
        return TaskResult(**{**record, "samples": tuple(record["samples"])})
    except (KeyError, TypeError) as error:
        raise UsageError(f"solve-tasks.jsonl holds a record of another form: {error}", hint="move it away") from error


def _line(result: TaskResult) -> str:
    num_right = sum(result.samples)
    return (
        f"{result.task_id}: greedy {_mark(result.greedy)}, samples {num_right}/{len(result.samples)}, "
        f"final {_mark(result.final)} as {result.status}, {result.num_tokens} tokens, {result.elapsed_s:.1f} s"
    )


def _mark(is_right: bool) -> str:
    return "right" if is_right else "wrong"


def summarise(results: Sequence[TaskResult], blank: Row) -> list[Row]:
    """All metrics of a run, as rows; ``pass@8`` counts the greedy answer as the first of the eight.

    Args:
        results: at least one.
        blank: a row with the machine's fields filled in.
    """
    num_first = max(1 + len(item.samples) for item in results)
    accepted = [item for item in results if item.is_accepted]
    greedily_wrong = [item for item in results if not item.greedy]
    greedily_right = [item for item in results if item.greedy]
    ceiling = f"ceiling of selection: 1 greedy answer and {num_first - 1} samples"
    shares: list[tuple[str, list[bool], str, str]] = [
        ("greedy pass@1", [item.greedy for item in results], "higher", ""),
        (f"pass@{num_first}", [item.any_right for item in results], "higher", ceiling),
        ("selected pass@1", [item.selected for item in results], "higher", "greedy pass@1"),
        ("pass@1 after revision", [item.final for item in results], "higher", "greedy pass@1"),
        ("greedy pass@1, plus tests", [item.greedy_plus for item in results], "higher", ""),
        ("pass@1 after revision, plus tests", [item.final_plus for item in results], "higher", "greedy, plus tests"),
        ("answers presented as verified", [item.is_accepted for item in results], "higher", ""),
        ("false accepts", [not item.final for item in accepted], "lower", "answers presented as verified"),
        ("false accepts, plus tests", [not item.final_plus for item in accepted], "lower", "as above"),
        ("regressions", [not item.final for item in greedily_right], "lower", "greedily right answers"),
        ("errors reachable by selection", [item.any_right for item in greedily_wrong], "higher", "greedy errors"),
    ]
    rows = [_share_row(blank, *share) for share in shares]
    rows.append(_row(blank, results, "mean sample pass@1", "ratio", _mean_sample, "higher"))
    rows.append(_row(blank, results, "net errors removed", "ratio of greedy errors", net_errors_removed, "higher"))
    rows.append(_row(blank, results, "tokens per task", "tokens", lambda items: _mean(items, "num_tokens"), "lower"))
    rows.append(_row(blank, results, "seconds per task", "s", lambda items: _mean(items, "elapsed_s"), "lower"))
    rows.append(_row(blank, results, "time to first verdict", "s", _median_first_verdict, "lower"))
    return rows


def net_errors_removed(results: Sequence[TaskResult]) -> float:
    """Greedy errors mended minus greedily right answers broken, as a share of the greedy errors; 0 without errors."""
    num_errors = sum(not item.greedy for item in results)
    gained = sum(item.final - item.greedy for item in results)
    return gained / num_errors if num_errors else 0.0


def _mean_sample(results: Sequence[TaskResult]) -> float:
    shares = [statistics.fmean(item.samples) for item in results if item.samples]
    return statistics.fmean(shares) if shares else 0.0


def _mean(results: Sequence[TaskResult], name: str) -> float:
    return statistics.fmean(asdict(item)[name] for item in results)


def _median_first_verdict(results: Sequence[TaskResult]) -> float:
    return statistics.median(item.first_verdict_s for item in results)


def _share_row(blank: Row, metric: str, hits: list[bool], aim: str, baseline: str) -> Row:
    value = statistics.fmean(hits) if hits else 0.0
    interval = wilson(sum(hits), len(hits))
    return replace(
        blank, metric=metric, value=value, unit="ratio", aim=aim, baseline=baseline, n=len(hits), interval=interval
    )


def _row(
    blank: Row,
    results: Sequence[TaskResult],
    metric: str,
    unit: str,
    statistic: Callable[[Sequence[TaskResult]], float],
    aim: str,
) -> Row:
    interval = bootstrap(results, statistic)
    return replace(
        blank, metric=metric, value=statistic(results), unit=unit, aim=aim, n=len(results), interval=interval
    )


def _blank_row(machine: MachineState, *, is_partial: bool) -> Row:
    return Row(
        claim="",
        metric="",
        value=0.0,
        unit="",
        target=None,
        aim="",
        holds=None,
        baseline="",
        n=0,
        interval=None,
        threads=len(os.sched_getaffinity(0)),
        load=machine.load,
        hardware=machine.hardware,
        commit=machine.commit,
        is_partial=is_partial,
    )
