"""``armillary replay TRACE``: derive every verdict again. Needs no model and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armillary.cli.output import emit, keeping, say
from armillary.core.errors import ExitCode, UsageError
from armillary.core.values import Json
from armillary.runtime import reports, stack

if TYPE_CHECKING:
    from armillary.verify.replay import ReplayReport, ReplayRow


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="File that `armillary solve` wrote.")],
    report: Annotated[Path | None, typer.Option(help="File for an HTML report; must not exist yet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> int:
    """Derive every verdict of a trace again, without the model.

    With --report, the trace as it stands is first written as one HTML page, for people.
    Exit status 0 if all come out the same, 1 if one does not or the trace is damaged.
    """
    if trace.is_dir():
        raise UsageError(f"{trace} is a folder, not a trace")
    if report is not None:
        # Before the replay, which refuses a trace that was cut short; a report tells it as far as it goes.
        reports.write_report(trace, report)
        say(f"report {report}")
    with keeping(lambda: "nothing was changed"):
        found = stack.replay_trace(trace, on_row=_say_row)
    for name in found.unjudged:
        say(f"{name}: was never judged")
    for problem in found.problems:
        say(f"problem: {problem}")
    num_same = sum(row.matches for row in found.rows)
    summary = f"{num_same} of {len(found.rows)} verdicts came out the same"
    if as_json:
        emit(_to_json(found))
        say(summary)
    else:
        print(summary)
    return ExitCode.OK if found.matches else ExitCode.FAILED


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
