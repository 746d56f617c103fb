"""``armillary replay TRACE``: derive every verdict again. Needs no model and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armillary.cli.output import emit, keeping, say
from armillary.core.errors import ExitCode, UsageError
from armillary.core.values import Json
from armillary.runtime import stack

if TYPE_CHECKING:
    from armillary.verify.replay import ReplayReport, ReplayRow


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="File that `armillary solve` wrote.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> int:
    """Derive every verdict of a trace again, without the model.

    Exit status 0 if all come out the same, 1 if one does not or the trace is damaged.
    """
    if trace.is_dir():
        raise UsageError(f"{trace} is a folder, not a trace")
    with keeping(lambda: "nothing was changed"):
        report = stack.replay_trace(trace, on_row=_say_row)
    for name in report.unjudged:
        say(f"{name}: was never judged")
    for problem in report.problems:
        say(f"problem: {problem}")
    num_same = sum(row.matches for row in report.rows)
    summary = f"{num_same} of {len(report.rows)} verdicts came out the same"
    if as_json:
        emit(_to_json(report))
        say(summary)
    else:
        print(summary)
    return ExitCode.OK if report.matches else ExitCode.FAILED


def _say_row(row: ReplayRow) -> None:
    if row.matches:
        say(f"{row.attempt}: {row.recorded}, the same again")
    else:
        say(f"{row.attempt}: MISMATCH, was {row.recorded}, is {row.replayed}; differs in {', '.join(row.differences)}")


def _to_json(report: ReplayReport) -> dict[str, Json]:
    return {
        "matches": report.matches,
        "rows": [
            {
                "attempt": row.attempt,
                "recorded": row.recorded,
                "replayed": row.replayed,
                "differences": [*row.differences],
            }
            for row in report.rows
        ],
        "unjudged": [*report.unjudged],
        "problems": [*report.problems],
    }
