"""Stand in for ``clock`` inside tier C, which has no signals: there the host holds the clock of each call.

A call whose time is up does not come back at all, so nothing in here ever rings.
"""

from __future__ import annotations


class CallTimeoutError(BaseException):
    """Never raised: what it tells elsewhere, the host tells."""


class CallClock:
    """Has the face of the other clock and measures nothing."""

    def __init__(self, cpu_s: float) -> None:
        self.cpu_s = cpu_s
        self.has_fired = False

    def arm(self) -> None:
        """Begin a call."""

    def disarm(self) -> None:
        """End a call."""
