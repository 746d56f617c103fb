"""Load a program and answer calls, inside the jail. Knows no expected value and trusts nothing that it calls.

The names that are used after the program has loaded are bound at import: a program that patches a module changes what
it computes, not how the harness reports.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from random import seed as seed_random
from types import ModuleType
from typing import Final, TextIO, TypeVar

from armillary.core.errors import ValueCodecError
from armillary.core.values import decode, encode
from armillary.verify.sandbox.clock import CallClock, CallTimeoutError
from armillary.verify.sandbox.outcomes import BUILTIN_ERRORS, Outcome
from armillary.verify.sandbox.sizes import Room, checked_memory_bytes, refuse_too_large
from armillary.verify.sandbox.wire import MAX_MESSAGE_CHARS, MAX_NAME_CHARS, Job, load_line, outcome_line

MODULE_NAME: Final = "candidate"
T = TypeVar("T")

_FILE_NAME: Final = "candidate.py"
_BASES: Final = tuple((item, item.__name__) for item in BUILTIN_ERRORS)
_LINE_OF_CLASS: Final = type.__dict__["__mro__"].__get__
_TIMED_OUT: Final = "TimeLimit: loading took too long"


class ResultChannel:
    """Writes lines to a descriptor, whole."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._write = os.write

    def send(self, line: str) -> None:
        """Write one line at once, so that it is out before the next call can end the process."""
        rest = memoryview(line.encode("ascii") + b"\n")
        while rest:
            rest = rest[self._write(self._descriptor, rest) :]


@dataclass(frozen=True, slots=True)
class Answer:
    """The line to report for one call, and the memory that the value in it will take."""

    line: str
    value_memory_bytes: int = 0


class Harness:
    """One program with its clock and its seed."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._clock = CallClock(job.call_cpu_s)
        self._module = ModuleType(MODULE_NAME)

    def load(self) -> str:
        """Run the program's text as a module; returns one line on failure, else an empty one."""
        return self._in_time(self._load, _TIMED_OUT)

    def answer(self, index: int) -> Answer:
        """Make the job's call number ``index``; its answer is printed within the call's own time."""
        return self._in_time(lambda: self._attempt(index), Answer(outcome_line(index, Outcome("timeout"))))

    def _in_time(self, action: Callable[[], T], otherwise: T) -> T:
        try:
            try:
                self._clock.arm()
                result = action()
            finally:
                self._clock.disarm()
        except CallTimeoutError:
            self._clock.disarm()
            return otherwise
        # A program that caught the interruption and went on has still used up its time.
        return otherwise if self._clock.has_fired else result

    def _load(self) -> str:
        sys.modules[MODULE_NAME] = self._module
        seed_random(self._job.seed)
        try:
            code = compile(self._job.source, _FILE_NAME, "exec", dont_inherit=True)
            exec(code, self._module.__dict__)  # noqa: S102 - this is what the jail is for
        except CallTimeoutError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is data
            name, message = describe(error)
            return " ".join(f"{name}: {message}".split())
        return ""

    def _attempt(self, index: int) -> Answer:
        name, arguments = self._job.calls[index]
        try:
            seed_random(self._job.seed)
            value = self._function(name)(*[decode(item) for item in arguments])
        except CallTimeoutError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is data
            raised = Outcome("raised", None, *describe(error), error_bases=builtin_bases(error))
            return Answer(outcome_line(index, raised))
        try:
            refuse_too_large(value)
            tagged = encode(value)
            value_memory_bytes = checked_memory_bytes(tagged)
            return Answer(outcome_line(index, Outcome("returned", tagged)), value_memory_bytes)
        except (ValueCodecError, MemoryError, RecursionError) as error:
            return Answer(outcome_line(index, Outcome("unencodable", None, *describe(error))))

    def _function(self, name: str) -> Callable[..., object]:
        found = self._module.__dict__.get(name)
        if found is None:
            raise NameError(f"name {name!r} is not defined")
        return found  # type: ignore[no-any-return]  # calling what cannot be called is the program's TypeError


def describe(error: BaseException) -> tuple[str, str]:
    """Class name and message of an exception, cut to size, whatever its ``__str__`` does."""
    # Read past the metaclass, which may lie about the name or raise.
    name = type.__dict__["__name__"].__get__(type(error))
    try:
        message = str(error)
    except CallTimeoutError:
        raise
    except BaseException:  # noqa: BLE001 - a program's own __str__ may raise anything
        message = "(its message cannot be printed)"
    # Slicing with the base class's method makes exact strings of a subclass's instances.
    return str.__getitem__(name, slice(MAX_NAME_CHARS)), str.__getitem__(message, slice(MAX_MESSAGE_CHARS))


def builtin_bases(error: BaseException) -> tuple[str, ...]:
    """Names of the built-in exceptions that it is an instance of; classes are told apart by identity, not by name."""
    line = _LINE_OF_CLASS(type(error))
    return tuple(name for builtin, name in _BASES for item in line if item is builtin)


def serve(job: Job, channel: ResultChannel, output: TextIO, first: int = 0) -> None:
    """Load the program, make every call from the first on, report each at once; printed text is flushed in between.

    Ends early, with the rest of the calls not made, when the room for results is spent.
    """
    harness = Harness(job)
    error = harness.load()
    _flush(output)
    channel.send(load_line(error))
    room = Room()
    for index in range(first, 0 if error else len(job.calls)):
        if room.is_spent:
            return
        answer = harness.answer(index)
        _flush(output)
        channel.send(answer.line)
        room.take(len(answer.line), answer.value_memory_bytes)


def _flush(output: TextIO) -> None:
    try:
        output.flush()
    except (OSError, ValueError):
        # The program closed its own standard output: what it printed after that is lost, as it would be anywhere.
        return
