"""``armillary calibrate LABELS``: learn from the user's own labelled tasks how often such answers are wrong.

Computes nothing; what it learns is kept in the home folder, and ``solve`` shows it with each verdict.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.output import columns, emit, keeping, say
from armillary.cli.report import percent
from armillary.core.errors import ExitCode
from armillary.core.settings import load_settings
from armillary.runtime import reports
from armillary.runtime.reports import Calibrated


def command(
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="JSON lines, one labelled task each.")],
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw the risk-coverage curve there.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write the curve's points there.")] = None,
    min_group: Annotated[int | None, typer.Option(min=1, help="Labels that a group of answers needs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> int:
    """Turn labelled tasks into the risk of being wrong, given the evidence.

    Each line names a trace and says whether its answer was right: {"trace": "run.jsonl", "is_right": true}.
    """
    with keeping(lambda: "the calibration before is untouched, if there was one"):
        found = reports.calibrate(labels, settings=load_settings(), min_group=min_group)
    if plot is not None:
        reports.write_plot(found.points, plot)
        say(f"plot {plot}")
    if data is not None:
        reports.write_data(found.points, data)
        say(f"data {data}")
    if as_json:
        emit(found.to_json())
    else:
        _print_table(found)
    say(f"calibration {found.path}")
    return ExitCode.OK


def _print_table(found: Calibrated) -> None:
    rows = [("evidence from", "labels", "wrong", "risk", "95 % interval")]
    for group in reversed(found.calibration.groups):
        low, high = group.interval
        interval = f"{percent(low)} to {percent(high)} %"
        counts = (str(group.num_labels), str(group.num_wrong), f"{percent(group.risk)} %")
        rows.append((f"{group.lowest_strength:.2f}", *counts, interval))
    for line in columns(rows):
        print(line)
    calibration = found.calibration
    model = f", model {calibration.model.name}" if calibration.model.name else ""
    share = found.points[-1].risk
    print(f"{calibration.num_labels} labels, {found.num_wrong} wrong{model}")
    print(f"area under the risk-coverage curve: {found.area:.3f}, {share:.3f} if evidence told nothing")
    print(
        f"on labels that were left out, risks are off by {percent(calibration.expected_error)} % on average "
        f"(chance alone: {percent(calibration.chance_error)} %)"
    )
