"""Turn a trace into a report for people: one HTML file, written whole or not at all. Judges nothing."""

from __future__ import annotations

from pathlib import Path

from armillary.core.errors import ArmillaryError, UsageError
from armillary.reason.report_html import page
from armillary.reason.report_story import read_story
from armillary.reason.whole_file import write_whole


def require_free(path: Path) -> None:
    """Hold a report to the rule of traces: what is there is never overwritten.

    Raises:
        UsageError: something is there already.
        ArmillaryError: no file can have that name.
    """
    try:
        is_taken = path.exists()
    except OSError as error:
        raise ArmillaryError(f"cannot write {path}: {error.strerror}") from error
    if is_taken:
        raise UsageError(f"{path} exists already", hint="a report never overwrites; name another file")


def write_report(trace: Path, path: Path) -> None:
    """Write the report of a trace, of an interrupted run too.

    Args:
        trace: file that a solve wrote.
        path: file to make.

    Raises:
        NotFoundError: there is no such trace.
        TraceError: the trace is damaged.
        UsageError: the report's file is there already.
        ArmillaryError: it cannot be written.
    """
    require_free(path)
    write_whole(path, page(read_story(trace)))
