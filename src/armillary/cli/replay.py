"""``armillary replay TRACE``: derive every verdict and every decision again. Needs no model and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armillary.cli.output import emit, keeping, say
from armillary.core.errors import ExitCode, UsageError
from armillary.core.values import Json
from armillary.runtime import reports, stack

if TYPE_CHECKING:
    from armillary.runtime.stack import DecisionRow, TraceReport
    from armillary.verify.replay import ReplayRow


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="File that `armillary solve` wrote.")],
    report: Annotated[Path | None, typer.Option(help="File for an HTML report; must not exist yet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> int:
    """Derive every verdict and every decision of a trace again, without the model.

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
        found = stack.replay_trace(trace, on_verdict=_say_verdict, on_decision=_say_decision)
    for name in found.verdicts.unjudged:
        say(f"{name}: was never judged")
    for note in found.decisions.notes:
        say(f"note: {note}")
    for problem in found.verdicts.problems:
        say(f"problem: {problem}")
    verdicts, decisions = found.verdicts.rows, found.decisions.rows
    summary = f"{_share(verdicts)} verdicts and {_share(decisions)} decisions came out the same"
    if as_json:
        emit(_to_json(found))
        say(summary)
    else:
        print(summary)
    return ExitCode.OK if found.matches else ExitCode.FAILED


def _share(rows: Sequence[ReplayRow | DecisionRow]) -> str:
    return f"{sum(row.matches for row in rows)} of {len(rows)}"


def _say_decision(row: DecisionRow) -> None:
    if row.matches:
        say(f"{row.about}: the same again")
    else:
        say(f"{row.about}: MISMATCH at event {row.seq}, {'; '.join(row.differences)}")


def _say_verdict(row: ReplayRow) -> None:
    note = f" ({row.note})" if row.note else ""
    if row.matches:
        say(f"{row.attempt}: {row.recorded}, the same again{note}")
    else:
        differs = ", ".join(row.differences)
        say(f"{row.attempt}: MISMATCH, was {row.recorded}, is {row.replayed}; differs in {differs}{note}")


def _to_json(report: TraceReport) -> dict[str, Json]:
    return {
        "matches": report.matches,
        "rows": [
            {
                "attempt": row.attempt,
                "recorded": row.recorded,
                "replayed": row.replayed,
                "differences": [*row.differences],
                "note": row.note,
            }
            for row in report.verdicts.rows
        ],
        "decisions": [
            {"event": row.seq, "about": row.about, "differences": [*row.differences]} for row in report.decisions.rows
        ],
        "unjudged": [*report.verdicts.unjudged],
        "notes": [*report.decisions.notes],
        "problems": [*report.verdicts.problems],
    }
