"""Offer commands what ``reason`` makes of traces: reports, and the risks that labels foretell. Decides nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.core.errors import ArmillaryError
from armillary.core.messages import ModelIdentity
from armillary.core.settings import Settings
from armillary.core.trace import read_trace
from armillary.core.values import Json
from armillary.core.verdicts import Verdict

if TYPE_CHECKING:
    from armillary.reason.calibrate import Calibration
    from armillary.reason.curves import Point
    from armillary.runtime.stack import Solution

CALIBRATION_FILE = "calibration.json"


def write_report(trace: Path, report: Path) -> None:
    """Write the HTML report of a trace, of an interrupted run too.

    Raises:
        NotFoundError: there is no such trace.
        TraceError: the trace is damaged.
        UsageError: the report's file is there already.
        ArmillaryError: it cannot be written.
    """
    from armillary.reason.report import write_report as write

    write(trace, report)


@contextmanager
def reporting(trace: Path, report: Path | None) -> Iterator[None]:
    """Write the report when the block is over, also when it was interrupted or failed.

    Args:
        trace: file that the block writes.
        report: file to make, or None for no report.

    Raises:
        UsageError: the report's file is there already; told before the block begins.
        ArmillaryError: the block succeeded, but its report cannot be written.
    """
    if report is None:
        yield
        return
    from armillary.reason.report import require_free

    require_free(report)
    is_foreign = trace.exists()
    try:
        yield
    except BaseException:  # whatever ended the block, its trace is worth a report, and its own error is the one to tell
        if not is_foreign:
            with suppress(ArmillaryError):
                write_report(trace, report)
        raise
    write_report(trace, report)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What labels came to.

    Attributes:
        points: the risk-coverage curve.
        area: mean risk over all coverages.
        path: where the calibration was kept.
    """

    calibration: Calibration
    points: tuple[Point, ...]
    area: float
    path: Path

    @property
    def num_wrong(self) -> int:
        """Wrong answers among the labelled ones."""
        return self.points[-1].num_wrong

    def to_json(self) -> dict[str, Json]:
        """Everything, the curve included."""
        from armillary.reason.calibration_file import calibration_to_json

        curve: list[Json] = [
            {
                "strength": point.strength,
                "num_covered": point.num_covered,
                "num_wrong": point.num_wrong,
                "coverage": point.coverage,
                "risk": point.risk,
                "interval": [point.low, point.high],
            }
            for point in self.points
        ]
        return {**calibration_to_json(self.calibration), "area": self.area, "curve": curve, "file": str(self.path)}


def calibrate(labels: Path, *, settings: Settings, min_group: int | None = None) -> Calibrated:
    """Turn labelled tasks into risks and keep them in the home folder, in place of those before.

    Args:
        labels: JSON lines.
        settings: say where the home folder is.
        min_group: labels that a group must have at least; by default as ``reason`` says.

    Raises:
        NotFoundError: the labels or a trace that they name are not there.
        UsageError: a line is no label, or the labels are too few or all alike.
        TraceError: a trace is damaged.
        ArmillaryError: the calibration cannot be kept.
    """
    from armillary.reason.calibrate import MIN_GROUP
    from armillary.reason.calibrate import calibrate as fit
    from armillary.reason.calibration_file import save_calibration
    from armillary.reason.curves import area, risk_coverage
    from armillary.reason.labels import read_labels

    found, model = read_labels(labels)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    calibration = fit(found, model=model, source=labels.name, created=created, min_group=min_group or MIN_GROUP)
    path = settings.home / CALIBRATION_FILE
    save_calibration(calibration, path)
    points = risk_coverage(found)
    return Calibrated(calibration, points, area(points), path)


def write_plot(points: tuple[Point, ...], path: Path) -> None:
    """Draw the risk-coverage curve as an SVG, in place of what was there.

    Raises:
        ArmillaryError: it cannot be written.
    """
    from armillary.reason.curve_plot import plot
    from armillary.reason.whole_file import write_whole

    write_whole(path, plot(points))


def write_data(points: tuple[Point, ...], path: Path) -> None:
    """Write the risk-coverage curve as CSV, in place of what was there.

    Raises:
        ArmillaryError: it cannot be written.
    """
    from armillary.reason.curves import as_csv
    from armillary.reason.whole_file import write_whole

    write_whole(path, as_csv(points))


def load_calibration(settings: Settings) -> Calibration | None:
    """The calibration in the home folder, or None.

    Raises:
        UsageError: the file is damaged.
    """
    from armillary.reason.calibration_file import load_calibration as load

    return load(settings.home / CALIBRATION_FILE)


def with_risk(solution: Solution, trace: Path, calibration: Calibration | None) -> Verdict:
    """A solution's verdict, with its risk where the same model's answers were labelled."""
    if calibration is None or solution.evidence is None:
        return solution.verdict
    from armillary.reason.calibrate import attach_risk

    model = next(read_trace(trace)).body["model"]
    assert isinstance(model, dict), "a solve writes the model into its header"
    if not calibration.fits(ModelIdentity(str(model["name"]), str(model["sha256"]))):
        return solution.verdict
    return attach_risk(solution.verdict, solution.evidence, calibration)
