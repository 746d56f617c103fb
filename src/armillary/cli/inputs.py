"""Read the text that a command is given, from a file or from stdin; whatever is no text is one clear error."""

from __future__ import annotations

import sys
from pathlib import Path

from armillary.core.errors import NotFoundError, UsageError
from armillary.core.tasks import TaskSpec

STDIN = "-"
MAX_TEXT_BYTES = 1_000_000


def read_text(source: str) -> str:
    """Text of a file, or of stdin for ``-``.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is a folder, unreadable, longer than ``MAX_TEXT_BYTES`` or not UTF-8 text.
    """
    if source == STDIN:
        return _decode(sys.stdin.buffer.read(MAX_TEXT_BYTES + 1), "stdin")
    path = Path(source)
    try:
        with path.open("rb") as file:
            return _decode(file.read(MAX_TEXT_BYTES + 1), source)
    except FileNotFoundError as error:
        raise NotFoundError(f"no file {source}") from error
    except IsADirectoryError as error:
        raise UsageError(f"{source} is a folder, not a file") from error
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error


def read_task(source: str) -> TaskSpec:
    """The task in a YAML or Python file, or on stdin for ``-``.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is no text, or the text is no task.
    """
    from armillary.verify.spec import parse_task

    return parse_task(read_text(source), "stdin" if source == STDIN else source)


def _decode(content: bytes, source: str) -> str:
    if len(content) > MAX_TEXT_BYTES:
        raise UsageError(f"{source} is longer than {MAX_TEXT_BYTES} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not UTF-8 text (byte {error.start})") from error
    if "\0" in text:
        raise UsageError(f"{source} is a binary file, not text")
    return text
