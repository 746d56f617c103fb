"""Read the files that go along with a question, and what was piped in. Only text, and not without end."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Sequence

from armillary.cli.inputs import MAX_TEXT_BYTES, STDIN, read_text
from armillary.cli.output import say
from armillary.core.errors import UsageError
from armillary.runtime.conversation import Attachment

PIPE_NAME = "stdin"
PATIENCE_S = 1.0


def read_attachments(names: Sequence[str]) -> tuple[Attachment, ...]:
    """The texts of files; ``-`` is stdin.

    Raises:
        NotFoundError: one of them does not exist.
        UsageError: one is no text, one is too long, or all are together; or stdin is named twice.
    """
    if names.count(STDIN) > 1:
        raise UsageError("stdin can be read only once")
    files = tuple(Attachment(PIPE_NAME if name == STDIN else name, read_text(name)) for name in names)
    require_size(files)
    return files


def require_size(files: Sequence[Attachment]) -> None:
    """Refuse texts that are too long together.

    Raises:
        UsageError: they have more than ``MAX_TEXT_BYTES``.
    """
    num_bytes = sum(len(file.text.encode("utf-8", "replace")) for file in files)
    if num_bytes > MAX_TEXT_BYTES:
        raise UsageError(f"the files have {num_bytes} bytes together, at most {MAX_TEXT_BYTES} may go along")


def is_piped() -> bool:
    """Whether stdin is a pipe, a socket or a file: neither a terminal nor a device such as ``/dev/null``."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)


def read_pipe() -> str:
    """All that is piped in; says that it waits if nothing comes.

    Raises:
        UsageError: it is no text or too long.
    """
    if not select.select([sys.stdin], [], [], PATIENCE_S)[0]:
        say("waiting for the end of stdin (add < /dev/null if there is nothing to read)")
    return read_text(STDIN)
