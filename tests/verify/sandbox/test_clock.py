"""The interruption of a call, with real signals in this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from armillary.verify.sandbox.clock import CallClock, CallTimeoutError

TIMERS = (signal.ITIMER_PROF, signal.ITIMER_REAL)


@pytest.fixture(params=[signal.SIGPROF, signal.SIGALRM], ids=lambda number: number.name)
def ring(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal of one of the two timers."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGPROF)}
    yield request.param
    for timer in TIMERS:
        signal.setitimer(timer, 0.0)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_an_armed_clock_that_rings_interrupts_the_call(ring: signal.Signals) -> None:
    clock = CallClock(30.0)
    clock.arm()
    with pytest.raises(CallTimeoutError):
        os.kill(os.getpid(), ring)
    assert clock.has_fired


def test_a_ring_that_comes_after_the_call_interrupts_nothing(ring: signal.Signals) -> None:
    clock = CallClock(30.0)
    clock.arm()
    clock.disarm()
    os.kill(os.getpid(), ring)
    assert not clock.has_fired
    assert [signal.getitimer(timer)[0] for timer in TIMERS] == [0.0, 0.0]


def test_a_clock_that_is_armed_anew_has_not_fired_and_takes_its_handlers_back(ring: signal.Signals) -> None:
    clock = CallClock(30.0)
    clock.arm()
    with pytest.raises(CallTimeoutError):
        os.kill(os.getpid(), ring)
    signal.signal(ring, signal.SIG_IGN)
    clock.arm()
    assert not clock.has_fired
    with pytest.raises(CallTimeoutError):
        os.kill(os.getpid(), ring)
