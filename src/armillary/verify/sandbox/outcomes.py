"""What a jailed run is given and what it gives back. Judges nothing: expected values have no place here."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from armillary.core.errors import UsageError
from armillary.core.values import Json

Tier = Literal["A", "B", "C", "none"]
OutcomeKind = Literal["returned", "raised", "timeout", "unencodable", "missing"]
StopReason = Literal["exit", "wall", "cpu", "output", "signal", "results"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may spend.

    Attributes:
        wall_s: wall clock for loading and all calls together; the parent holds it.
        cpu_s: processor time for the whole run; the kernel holds it.
        call_cpu_s: processor time for loading, and for each call; a sleeping call gets three times as much wall clock.
        memory_bytes: address space.
        output_bytes: what the program may print, both streams together.
        disk_bytes: size of the private folder.

    Raises:
        UsageError: a limit is not above 0.
    """

    wall_s: float = 10.0
    cpu_s: int = 6
    call_cpu_s: float = 2.0
    memory_bytes: int = 512 << 20
    output_bytes: int = 1 << 20
    disk_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0:
                raise UsageError(f"limit {item.name} is {value}, it must be above 0")


DEFAULT_LIMITS: Final = Limits()
BUILTIN_ERRORS: Final = tuple(
    dict.fromkeys(
        item for item in vars(builtins).values() if isinstance(item, type) and issubclass(item, BaseException)
    )
)
"""The built-in exception classes, each once: ``IOError`` is ``OSError``."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a function of the program; the arguments are built afresh for it."""

    function: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call.

    Attributes:
        kind: ``missing`` means that no answer left the jail; ``unencodable`` that the value has no exact form.
        value: tagged JSON (:mod:`armillary.core.values`), None unless ``returned``. Compare tagged forms rather than
            decoded ones: building a set of hostile, colliding members takes quadratic time.
        error_type: name of the exception's class.
        error_message: its text, cut to 300 characters.
        error_bases: names of the built-in classes that it is an instance of, ``raised`` only. A class of the program's
            own that bears a built-in name is none of them.
    """

    kind: OutcomeKind
    value: Json = None
    error_type: str = ""
    error_message: str = ""
    error_bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JailResult:
    """Everything that a run left behind.

    Attributes:
        outcomes: one per call, in order.
        load_error: one line when the program did not load, else empty.
        stdout: what the program printed on both streams, at most ``Limits.output_bytes`` bytes.
        stopped_by: ``exit`` when the process ended by itself, otherwise what ended it. ``results``: the answers that
            there are took all the room of one run; the calls without an outcome may be made in a further run.
        signal: the signal's number when ``stopped_by`` is ``signal``, else 0.
        tier: strength of the jail that really held the program.
    """

    outcomes: tuple[Outcome, ...]
    load_error: str
    stdout: str
    stopped_by: StopReason
    signal: int
    elapsed_ms: float
    tier: str


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the jail that was put on, or that failed, with the kernel's words."""

    name: str
    works: bool
    detail: str
