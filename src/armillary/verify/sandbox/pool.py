"""Lend running zygotes, or hosts of tier C, to threads: at most a fixed number at once. Runs nothing.

Those that died are replaced.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from armillary.verify.sandbox.link import ZygoteLink
from armillary.verify.sandbox.packages import Outfit
from armillary.verify.sandbox.wasm import WasmLink

Link = ZygoteLink | WasmLink


class LinkPool:
    """Up to ``size`` zygotes; one is started only when all that run are lent.

    Args:
        size: how many threads may hold one at the same time; further ones wait.
        outfit: what programs may import besides the standard library.
        open_link: starts one.
    """

    def __init__(self, size: int, outfit: Outfit, open_link: Callable[[Outfit], Link] = ZygoteLink) -> None:
        self._size = size
        self._outfit = outfit
        self._open_link = open_link
        self._turns = threading.BoundedSemaphore(size)
        self._closing = threading.Lock()
        self._idle: list[Link] = []
        self._lent: list[Link] = []

    @contextmanager
    def lend(self) -> Iterator[Link]:
        """A living zygote for the block; it is ended when the block raises.

        Raises:
            SandboxError: none could be started.
        """
        with self._turns:
            link = self._take()
            self._lent.append(link)
            try:
                yield link
            except BaseException:
                link.close()
                raise
            else:
                self._idle.append(link)
            finally:
                self._lent.remove(link)

    def close(self) -> None:
        """End every zygote, those that are lent when they come back; the pool may be used again."""
        with self._closing:
            num_turns = 0
            try:
                for _ in range(self._size):
                    self._turns.acquire()
                    num_turns += 1
                self._close_idle()
            finally:
                for _ in range(num_turns):
                    self._turns.release()

    def close_now(self) -> None:
        """End every zygote, though another thread may wait for one."""
        self._close_idle()
        for link in list(self._lent):
            link.close()

    def _take(self) -> Link:
        # A list's own methods need no lock; the turns bound how many threads are here.
        while self._idle:
            link = self._idle.pop()
            if link.is_alive:
                return link
            link.close()
        return self._open_link(self._outfit)

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()
