"""Offer commands what ``reason`` makes of traces: reports of them. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from armillary.core.errors import ArmillaryError


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
