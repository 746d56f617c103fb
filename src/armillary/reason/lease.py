"""Hand the cores to the model or to the verifier, never to both, and measure how long each had them.

What a part does behind its protocol is not held back but measured: processor time that other threads of this process
take while the verifier has the cores counts as overlap. Processes of others, and a model on a server, are not seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from armillary.core.errors import UsageError

Clock = Callable[[], float]
Holder = Literal["model", "verifier"]


def other_threads_cpu_s() -> float:
    """Processor seconds that all threads of this process but the calling one have taken."""
    return time.process_time() - time.thread_time()


class CoreLease:
    """Who has the cores, and for how long each had them.

    Args:
        clock: monotonic seconds.
        cpu_clock: processor seconds of the threads that do not call; see :func:`other_threads_cpu_s`.
    """

    def __init__(self, clock: Clock = time.monotonic, cpu_clock: Clock = other_threads_cpu_s) -> None:
        self.clock = clock
        self.holder: Holder | None = None
        self.num_handovers = 0
        self._strays_s = 0.0
        self._cpu_clock = cpu_clock
        self._last: Holder | None = None
        self._held_s: dict[Holder, float] = {"model": 0.0, "verifier": 0.0}

    def held_s(self, holder: Holder) -> float:
        """Seconds that somebody had the cores, up to the last time that they were given back."""
        return self._held_s[holder]

    @property
    def overlap_s(self) -> float:
        """Processor seconds that other threads, the engine's among them, took while the verifier had the cores."""
        return max(0.0, self._strays_s)

    @contextmanager
    def hold(self, holder: Holder) -> Iterator[None]:
        """Have the cores for the block; counts as a hand-over when somebody else had them before.

        Raises:
            UsageError: the cores are taken, whoever has them.
        """
        if self.holder is not None:
            raise UsageError(
                f"the {self.holder} has the cores, the {holder} cannot have them too",
                hint="model and verifier take turns; give each search a lease of its own",
            )
        self.holder = holder
        self.num_handovers += self._last not in (None, holder)
        self._last = holder
        cpu_s, start_s = self._cpu_clock(), self.clock()
        try:
            yield
        finally:
            self._held_s[holder] += self.clock() - start_s
            if holder == "verifier":
                self._strays_s += self._cpu_clock() - cpu_s
            self.holder = None
