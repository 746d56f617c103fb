"""Do to a thread what cannot be undone: the kernel keeps such locks for each thread, and they end with it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_a_thread(act: Callable[[], T]) -> T:
    """What ``act`` returns or raises in a thread of its own, which has ended when this returns."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(act).result()


def error_of(attempt: Callable[[], object]) -> type[OSError] | None:
    """The kind of refusal, or None where the attempt succeeds."""
    try:
        attempt()
    except OSError as error:
        return type(error)
    return None
