"""The ``armillary`` script: sound standard streams, Ctrl-C at any moment, and an exit status.

Imports nothing but the standard library before Ctrl-C is looked after; the commands are in ``application.py``.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

FAILED = 1
INTERRUPTED = 130


def main() -> None:
    """Entry point of the ``armillary`` script."""
    try:
        _mend_streams()
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; expected errors never leave as exceptions."""
    try:
        from armillary.cli.application import dispatch

        code = dispatch(list(arguments) or ["--help"])
        sys.stdout.flush()
    except KeyboardInterrupt:
        _complain("interrupted; nothing was changed")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # Typer makes the second out of the first
        return _silence()
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        _complain(f"error: {error.strerror or error}{place}")
        return FAILED
    return code


def _complain(line: str) -> None:
    """What ``say`` of ``output.py`` does, which may not have been imported yet."""
    print("".join(char if char.isprintable() else ascii(char)[1:-1] for char in line), file=sys.stderr, flush=True)


def _mend_streams() -> None:
    """Put the null device where a standard stream was closed, and let no character be one that cannot be written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # A new file takes the lowest free number, which is the one that was closed.
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - lives as long as the process
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")


def _silence() -> int:
    """Whoever read our output has gone: end without a word, and without one from the interpreter either."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    return FAILED
