"""Read a value that came out of a candidate, as far as that is safe and cheap. Compares nothing."""

from __future__ import annotations

from typing import Any

from armillary.core.errors import ValueCodecError
from armillary.core.values import Json, decode
from armillary.verify.comparison import kind_and_body
from armillary.verify.execution import Observation

MAX_HASHED_MEMBERS = 2_000

TOO_LARGE = Observation("unencodable", text="its result is too large to be judged")
FORGED = Observation("forged", text="a forged value")


def readable_value(seen: Observation) -> tuple[Any, Observation | None]:
    """The value that a call returned and None; or None and what stands in its way, which may be the call itself."""
    if seen.kind != "returned":
        return None, seen
    try:
        return (decode(seen.value), None) if _is_cheap_to_build(seen.value) else (None, TOO_LARGE)
    except ValueCodecError:
        return None, FORGED


def _is_cheap_to_build(tagged: Json) -> bool:
    """Few enough members of sets and dicts that hostile hashes cannot slow down their building."""
    num_members, waiting = 0, [tagged]
    while waiting:
        kind, body = kind_and_body(waiting.pop())
        if kind in ("set", "frozenset", "dict"):
            num_members += len(body)
        if kind == "dict":
            waiting += [item for pair in body for item in pair]
        elif kind in ("list", "tuple", "set", "frozenset"):
            waiting += body
    return num_members <= MAX_HASHED_MEMBERS
