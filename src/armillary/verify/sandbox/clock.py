"""Interrupt one call inside the jailed process when its time is up. A courtesy: the parent's clock has the last word.

A program may catch the interruption or stop the timers; then the kernel's limit on the whole run still holds.
"""

from __future__ import annotations

from signal import ITIMER_PROF, ITIMER_REAL, SIGALRM, SIGPROF, setitimer
from signal import signal as set_handler
from types import FrameType
from typing import Final

WALL_PER_CPU: Final = 3.0
_AGAIN_AFTER_S: Final = 0.5


class CallTimeoutError(BaseException):
    """A call's time is up; not an ``Exception``, so that ordinary handlers let it through."""


class CallClock:
    """Raises :class:`CallTimeoutError` in the main thread while armed and past the limit, again and again."""

    def __init__(self, cpu_s: float) -> None:
        self._cpu_s = cpu_s
        self._is_armed = False
        self.has_fired = False

    def arm(self) -> None:
        """Start counting; the handlers are set anew, as the program may have replaced them."""
        self.has_fired = False
        set_handler(SIGPROF, self._ring)
        set_handler(SIGALRM, self._ring)
        self._is_armed = True
        setitimer(ITIMER_PROF, self._cpu_s, _AGAIN_AFTER_S)
        setitimer(ITIMER_REAL, self._cpu_s * WALL_PER_CPU, _AGAIN_AFTER_S)

    def disarm(self) -> None:
        """Stop counting; a second call does nothing."""
        self._is_armed = False
        setitimer(ITIMER_PROF, 0.0)
        setitimer(ITIMER_REAL, 0.0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._is_armed:
            self.has_fired = True
            raise CallTimeoutError
