"""Run many calls of one program in a jail and say what came of each. Judges nothing.

Calls share a process until one ends it; that one is run again alone, so that it cannot blame or starve the others.
Counts bound the work, never wall time: the same program and calls give the same observations on a busy machine.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, Protocol

from armillary.core.errors import IncomparableValueError
from armillary.core.values import Json
from armillary.verify.rendering import render_tagged, steady
from armillary.verify.sandbox.outcomes import BUILTIN_ERRORS, Call, JailResult, Limits, Outcome

CALLS_PER_RUN = 200
# After so many calls without an answer the rest is skipped: such a program only burns time.
MAX_STOPS = 3
# Processes that may end because the room for their results is spent, before the rest counts as too large.
MAX_FULL_RUNS = 4

ObservationKind = Literal["returned", "raised", "timeout", "unencodable", "forged", "died", "skipped"]


class Jail(Protocol):
    """What is needed of a sandbox; ``sandbox.client.Sandbox`` is the real one."""

    @property
    def tier(self) -> str:
        """Strength of the jail."""
        ...

    def run(
        self, source: str, calls: Sequence[Call] = (), *, limits: Limits | None = None, seed: int = 0
    ) -> JailResult:
        """Load a program in a fresh process and make the calls."""
        ...


@dataclass(frozen=True, slots=True)
class Observation:
    """What came of one call.

    Attributes:
        kind: ``died`` when the call ended its process; ``forged`` when no call gives such a value; ``skipped`` when it
            was never made.
        value: tagged JSON when ``returned``.
        error: the exception's class when ``raised``, what the codec objected to when ``unencodable``.
        error_bases: the built-in exceptions that it is an instance of.
        text: what happened, for people; the same in every run.
    """

    kind: ObservationKind
    value: Json = None
    error: str = ""
    text: str = ""
    error_bases: tuple[str, ...] = ()

    @property
    def is_answer(self) -> bool:
        """Whether the call ran to its own end, with a value that could be read or an exception."""
        return self.kind in ("returned", "raised")

    @property
    def equals_nothing(self) -> bool:
        """Whether it returned a value that is equal to no value of a built-in type, such as a generator."""
        return self.kind == "unencodable" and self.error == IncomparableValueError.__name__

    def has_raised(self, name: str) -> bool:
        """Whether ``except name`` would have caught what came: an instance of a built-in class, or a class so named."""
        if self.kind != "raised":
            return False
        builtin = getattr(builtins, name, None)
        return builtin.__name__ in self.error_bases if builtin in BUILTIN_ERRORS else self.error == name


@dataclass(frozen=True, slots=True)
class Execution:
    """All calls of one program; ``observations`` is empty when it did not load."""

    observations: tuple[Observation, ...]
    load_error: str = ""


SKIPPED = Observation("skipped", text="not run")
TOO_LARGE = Observation("unencodable", text="its results together are too large to be judged")


def run_calls(
    jail: Jail,
    source: str,
    calls: Sequence[Call],
    *,
    limits: Limits | None = None,
    max_stops: int = MAX_STOPS,
    seed: int = 0,
) -> Execution:
    """Make all calls, in as few processes as it takes.

    Args:
        jail: runs the program.
        source: text of the program.
        calls: what to call, in order.
        limits: of each process, instead of the jail's own.
        max_stops: calls without an answer, after which the rest is skipped.
        seed: of the program's random numbers.
    """
    observations: list[Observation] = []
    num_stops = num_full_runs = 0
    while len(observations) < len(calls) or not calls:
        batch = calls[len(observations) : len(observations) + CALLS_PER_RUN]
        result = jail.run(source, batch, limits=limits, seed=seed)
        if result.load_error:
            return Execution((), steady(result.load_error))
        if not calls:
            break
        answered = list(takewhile(lambda outcome: outcome.kind != "missing", result.outcomes))
        observations += [_observe(outcome, result) for outcome in answered]
        num_stops += sum(outcome.kind == "timeout" for outcome in answered)
        if result.stopped_by == "results" and answered:
            num_full_runs += 1
            if num_full_runs == MAX_FULL_RUNS:
                observations += [TOO_LARGE] * (len(calls) - len(observations))
        elif len(answered) < len(batch) and num_stops < max_stops:
            observations.append(run_alone(jail, source, calls[len(observations)], limits=limits, seed=seed))
            num_stops += 1
        if num_stops >= max_stops:
            observations += [SKIPPED] * (len(calls) - len(observations))
    return Execution(tuple(observations))


def run_alone(jail: Jail, source: str, call: Call, *, limits: Limits | None = None, seed: int = 0) -> Observation:
    """Make one call in a process of its own."""
    result = jail.run(source, (call,), limits=limits, seed=seed)
    if result.load_error:
        return Observation("died", text=f"the program does not load: {steady(result.load_error)}")
    return _observe(result.outcomes[0], result)


def _observe(outcome: Outcome, result: JailResult) -> Observation:
    if outcome.kind == "returned":
        return Observation("returned", value=outcome.value, text=render_tagged(outcome.value))
    if outcome.kind == "raised":
        message = steady(outcome.error_message)
        text = f"raised {outcome.error_type}" + (f": {message}" if message else "")
        return Observation("raised", error=outcome.error_type, text=text, error_bases=outcome.error_bases)
    if outcome.kind == "unencodable":
        text = f"a value that cannot leave the sandbox: {steady(outcome.error_message)}"
        return Observation("unencodable", error=outcome.error_type, text=text)
    if outcome.kind == "timeout" or result.stopped_by in ("wall", "cpu"):
        return Observation("timeout", text="no answer within the time limit")
    reasons = {
        "output": "printed more than it may",
        "signal": f"the process was killed by signal {result.signal}",
        "exit": "the process ended itself",
        "results": "gave more than it may",
    }
    return Observation("died", text=reasons[result.stopped_by])
