"""What every command shares when it speaks: data to stdout, everything else to stderr, and a kind way to be stopped.

Draws nothing that moves; that is ``live.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from armillary.core.errors import ArmillaryError, ExitCode
from armillary.core.values import Json
from armillary.verify.rendering import visible


class Interrupted(ArmillaryError):
    """The user pressed Ctrl-C; the message says what was kept."""

    exit_code = ExitCode.INTERRUPTED


@contextmanager
def keeping(what: Callable[[], str]) -> Iterator[None]:
    """Turn Ctrl-C inside the block into :class:`Interrupted`, after the block has cleaned up.

    Args:
        what: says what was kept; asked only then.
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        raise Interrupted(f"interrupted; {what()}") from stop


def say(line: str) -> None:
    """Print progress, a verdict or an error where it cannot mix with data; what does not print is escaped."""
    print(visible(line), file=sys.stderr, flush=True)


def shown(text: str) -> str:
    """A model's text for stdout: on a terminal, what does not print is escaped, or it could rule the terminal."""
    if not sys.stdout.isatty():
        return text
    return "".join(char if char in "\n\t" else visible(char) for char in text)


def emit(body: dict[str, Json]) -> None:
    """Print one JSON object, the whole of stdout under ``--json``; what is not ASCII or does not print is escaped."""
    print(json.dumps(body).replace("\x7f", "\\u007f"))


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the cells of each column under each other; the last column may be of any width."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def human_bytes(num_bytes: float) -> str:
    """A size as people read it, in powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if num_bytes < 1000:
            return f"{num_bytes:.0f} {unit}" if unit == "B" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.1f} TB"
