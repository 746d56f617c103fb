"""Turn a trace into a report for people: one HTML file, written whole or not at all. Judges nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from armillary.core.errors import ArmillaryError, UsageError
from armillary.reason.report_html import page
from armillary.reason.report_story import read_story


def require_free(path: Path) -> None:
    """Hold a report to the rule of traces: what is there is never overwritten.

    Raises:
        UsageError: something is there already.
        ArmillaryError: no file can have that name.
    """
    try:
        is_taken = path.exists()
    except OSError as error:
        raise _unwritable(path, error) from error
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
    content = page(read_story(trace)).encode("utf-8")
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> ArmillaryError:
    return ArmillaryError(f"cannot write the report {path}: {error.strerror}")
