"""``armillary solve TASK``: the whole main job, watched live. Holds no logic of the search itself."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armillary.cli.inputs import read_task
from armillary.cli.live import open_view
from armillary.cli.options import takes
from armillary.cli.output import emit, keeping, say, shown
from armillary.cli.report import exit_code, verdict_lines
from armillary.core.settings import Settings, load_settings
from armillary.core.tasks import Budget, TaskSpec
from armillary.core.values import Json
from armillary.core.verdicts import Verdict, verdict_to_json
from armillary.runtime import reports, stack

if TYPE_CHECKING:
    from armillary.runtime.stack import Solution


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOptions:
    """What ``armillary solve`` takes."""

    task: Annotated[str, typer.Argument(metavar="TASK", help="YAML or Python file, or - for stdin.")]
    model: Annotated[str | None, typer.Option(help="Registry name or path of a model.")] = None
    remote: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None
    candidates: Annotated[int | None, typer.Option(min=1, help="First proposals.")] = None
    rounds: Annotated[int | None, typer.Option(min=0, help="Revisions after the first proposals.")] = None
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens for the whole search.")] = None
    max_seconds: Annotated[float | None, typer.Option(min=0.001, help="Seconds for the whole search.")] = None
    seed: Annotated[int, typer.Option(min=0, help="Fixes every candidate and every generated input.")] = 0
    prove: Annotated[bool, typer.Option("--prove", help="Also look for proofs; some ten seconds for each program.")] = (
        False
    )
    trace: Annotated[Path | None, typer.Option(help="File for the trace; must not exist yet.")] = None
    report: Annotated[Path | None, typer.Option(help="File for an HTML report; must not exist yet.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the code.")] = False


@takes(SolveOptions)
def command(options: SolveOptions) -> int:
    """Propose code for a task, test it, repair it, and print the best with its verdict.

    The code goes to stdout, verdict and cost to stderr. Exit status: 0 accepted, 6 refuted, 7 undecided.
    """
    settings = load_settings({"models.default": options.model, "remote.url": options.remote})
    task = _with_budget(read_task(options.task), options)
    path = options.trace or stack.default_trace_path(settings, task)
    with reports.reporting(path, options.report):
        code = _solve(options, settings, task, path)
    if options.report is not None:
        say(f"report {options.report}")
    return code


def _solve(options: SolveOptions, settings: Settings, task: TaskSpec, path: Path) -> int:
    # Before the search: a calibration that cannot be read should not cost its answer.
    calibration = reports.load_calibration(settings)
    view = open_view()
    with keeping(lambda: _what_is_kept(path)), view:
        solution = stack.solve(
            task,
            seed=options.seed,
            prove=options.prove,
            trace_path=path,
            watcher=view,
            settings=settings,
        )
    verdict = reports.with_risk(solution, path, calibration)
    if options.as_json:
        emit(_to_json(solution, verdict, path))
    elif solution.code.strip():
        _print_code(solution.code)
    _report(solution, verdict, path)
    return exit_code(verdict)


def _with_budget(task: TaskSpec, options: SolveOptions) -> TaskSpec:
    asked: dict[str, Any] = {
        "num_candidates": options.candidates,
        "max_rounds": options.rounds,
        "max_tokens": options.max_tokens,
        "max_seconds": options.max_seconds,
    }
    budget: Budget = dataclasses.replace(
        task.budget, **{name: value for name, value in asked.items() if value is not None}
    )
    return dataclasses.replace(task, budget=budget)


def _what_is_kept(path: Path) -> str:
    return f"the trace so far is {path}" if path.exists() else "nothing was begun"


def _print_code(code: str) -> None:
    if not sys.stdout.isatty():
        print(code.rstrip("\n"))
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(shown(code).rstrip("\n"), "python", background_color="default"))


def _report(solution: Solution, verdict: Verdict, path: Path) -> None:
    for line in verdict_lines(verdict):
        say(line)
    usage = solution.usage
    say(
        f"{len(solution.attempts)} attempts, {usage.prompt_tokens} + {usage.completion_tokens} tokens, "
        f"{solution.elapsed_s:.1f} s (first verdict after {solution.first_verdict_s:.1f} s), "
        f"{solution.tokens_per_s:.1f} tokens/s; stopped by: {solution.stopped_by}"
    )
    say(f"trace {path}")


def _to_json(solution: Solution, verdict: Verdict, path: Path) -> dict[str, Json]:
    return {
        "code": solution.code,
        "verdict": verdict_to_json(verdict),
        "risk": asdict(verdict.risk) if verdict.risk else None,
        "attempt": solution.attempt_id,
        "num_attempts": len(solution.attempts),
        "prompt_tokens": solution.usage.prompt_tokens,
        "completion_tokens": solution.usage.completion_tokens,
        "first_verdict_s": solution.first_verdict_s,
        "elapsed_s": solution.elapsed_s,
        "tokens_per_s": solution.tokens_per_s,
        "stopped_by": str(solution.stopped_by),
        "trace": str(path),
    }
