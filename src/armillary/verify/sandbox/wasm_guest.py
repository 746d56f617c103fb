"""Serve one job inside the interpreter of tier C. Knows no host: it is given a job, and writes lines."""

from __future__ import annotations

import os
import sys
from typing import Final, NoReturn, TextIO

from armillary.verify.sandbox.child import ResultChannel, serve
from armillary.verify.sandbox.outcomes import Layer
from armillary.verify.sandbox.wire import job_from_bytes, layers_line

OUTPUT_FD, RESULT_FD = 1, 2  # the interpreter hands no others to its host
_PACKAGE: Final = "armillary"
# Bound before any program runs in this process.
_leave: Final = os._exit


def main(first: int, text: bytes) -> NoReturn:
    """Serve a job from its call number ``first`` on, and end the guest."""
    job = job_from_bytes(text)
    channel, output = ResultChannel(RESULT_FD), _open_streams()
    _forget_surroundings()
    words = sys.version.split()[0]
    channel.send(layers_line([Layer("wasm", True, f"CPython {words}: no files, sockets, processes or threads")]))
    serve(job, channel, output, first)
    _leave(0)


def _open_streams() -> TextIO:
    """Both output streams over one descriptor, half a character printed escaped; returns the standard output."""
    opened = [
        os.fdopen(OUTPUT_FD, "w", buffering, encoding="utf-8", errors="backslashreplace", closefd=False)
        for buffering in (-1, 1)
    ]
    sys.stdout, sys.stderr = opened
    sys.__stdout__, sys.__stderr__ = opened  # type: ignore[misc]  # as the interpreter does at its start
    return opened[0]


def _forget_surroundings() -> None:
    """No variable, no command line, and no module of ours in the program's sight."""
    os.environ.clear()
    sys.argv[:] = ["candidate.py"]
    sys.orig_argv[:] = []
    for name in [*sys.modules]:
        if name.partition(".")[0] == _PACKAGE:
            del sys.modules[name]
