"""What the two ends of tier C's host say to each other. Trusted on both ends: no guest writes any of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import BinaryIO, Final

READY, OUTPUT, RESULT, END, REFUSED = b"R", b"o", b"r", b"e", b"!"
"""The kinds of message from the host: its first byte."""

_LENGTH_BYTES: Final = 4

BOOT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Order:
    """What one guest may spend; times count from its first line, before which it has ``BOOT_S``.

    Attributes:
        first: number of the first call that it is to make.
        result_bytes: what it may write on the channel of results.
    """

    first: int
    wall_s: float
    cpu_s: float
    call_cpu_s: float
    memory_bytes: int
    output_bytes: int
    result_bytes: int

    def to_bytes(self) -> bytes:
        """One JSON text."""
        return json.dumps(asdict(self)).encode()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a guest ended.

    Attributes:
        reason: ``exit``, ``crash``, or what it had too much of: ``call``, ``cpu``, ``wall``, ``output``, ``boot``.
        code: its exit status, or minus the number of the signal that comes nearest.
        cpu_s: processor time since its first line.
    """

    reason: str
    code: int
    cpu_s: float


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message of an order; None at the end."""
    head = stream.read(_LENGTH_BYTES)
    num_bytes = int.from_bytes(head, "big")
    text = stream.read(num_bytes) if len(head) == _LENGTH_BYTES else b""
    return text if len(head) == _LENGTH_BYTES and len(text) == num_bytes else None


def to_message(content: bytes) -> bytes:
    """A message as it is sent."""
    return len(content).to_bytes(_LENGTH_BYTES, "big") + content
