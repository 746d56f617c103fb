"""The command line on a terminal of its own: type, wait for what appears, and see how it ends."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

SCRIPT = str(Path(sys.executable).parent / "armillary")
WAIT_S = 60
REACTION_S = 0.2


class Terminal:
    """One run of the script; Ctrl-C and Ctrl-D are characters, as on any terminal."""

    def __init__(self, *arguments: str) -> None:
        self.text = ""
        self._arguments = arguments
        self._num_seen = 0

    def __enter__(self) -> Terminal:
        self._master, slave = pty.openpty()
        # The child must own the terminal, or Ctrl-C would reach nobody.
        program = (
            "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, SCRIPT, *self._arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=os.environ | {"TERM": "dumb", "INPUTRC": os.devnull},
        )
        os.close(slave)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def type(self, keys: str) -> None:
        """Press keys, a moment after the last thing appeared: a prompt is printed before its keys are listened to."""
        time.sleep(REACTION_S)
        os.write(self._master, keys.encode())

    def wait_for(self, text: str) -> None:
        """Until the text appears after everything that was waited for before."""
        end = time.monotonic() + WAIT_S
        while text not in self.text[self._num_seen :]:
            assert time.monotonic() < end, f"{text!r} never appeared: {self.text!r}"
            assert self._read(), f"it ended before {text!r} appeared: {self.text!r}"
        self._num_seen = self.text.index(text, self._num_seen) + len(text)

    def wait_for_end(self) -> int:
        """Everything that is still printed, and the exit status."""
        end = time.monotonic() + WAIT_S
        while self._read():
            assert time.monotonic() < end, f"it never ended: {self.text!r}"
        return self._process.wait(WAIT_S)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], WAIT_S)[0]:
            return True
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # what Linux says when the last writer has gone
            return False
        self.text += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(piece)
