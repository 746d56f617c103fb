"""Bound what results may take of the parent's memory: each value, and all values of one run. Builds no value.

Both ends measure alike: the child, which knows a value first, stops in good time; the parent believes no child.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any, Final

from armillary.core.errors import ValueCodecError
from armillary.core.values import Json

MAX_LINE_BYTES: Final = 512 << 10
MAX_RESULT_BYTES: Final = 4 << 20
"""Of text: one line, and everything that one run writes on the result channel."""

MAX_VALUE_MEMORY_BYTES: Final = 1 << 20
MAX_RUN_MEMORY_BYTES: Final = 8 << 20
"""Of memory, by :func:`memory_bytes`: one value, and all values of one run."""

TOO_LARGE: Final = (
    f"the value is too large to be judged: more than {MAX_VALUE_MEMORY_BYTES >> 20} MiB of memory "
    f"or {MAX_LINE_BYTES >> 10} KiB of text"
)

_FIRST_LINES_BYTES: Final = 64 << 10  # more than what a child tells before its first answer
_SLOT, _SCALAR, _LIST, _TABLE = 8, 40, 80, 200  # a place in a list; a number; an empty list; a tag with its table
_SEQUENCES: Final = (list, tuple, set, frozenset)
_MAPPINGS: Final = (dict, Counter, defaultdict, OrderedDict)


def memory_bytes(tagged: Json) -> int:
    """About how much memory a tagged value takes once it has been read, never much less."""
    total, waiting = 0, [tagged]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            total += _LIST + _SLOT * len(item)
            waiting += item
        elif isinstance(item, dict):
            total += _TABLE
            waiting += item.values()
        else:
            total += _SCALAR + (len(item) * (1 if item.isascii() else 4) if isinstance(item, str) else 0)
    return total


def refuse_too_large(value: object) -> None:
    """Refuse a value that is too large in any form, before time is spent on encoding it.

    Raises:
        ValueCodecError: the items alone are too many, or the texts too long.
    """
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        members = _members(item)
        total += len(members) * (_SCALAR + _SLOT) if isinstance(members, list) else len(members)
        if total > MAX_VALUE_MEMORY_BYTES:
            raise ValueCodecError(TOO_LARGE)
        if isinstance(members, list):
            waiting += members


def checked_memory_bytes(tagged: Json) -> int:
    """What :func:`memory_bytes` gives.

    Raises:
        ValueCodecError: it is more than one value may take.
    """
    total = memory_bytes(tagged)
    if total > MAX_VALUE_MEMORY_BYTES:
        raise ValueCodecError(TOO_LARGE)
    return total


class Room:
    """What the results of one run have taken so far."""

    def __init__(self) -> None:
        self._text_bytes = _FIRST_LINES_BYTES
        self._memory_bytes = 0

    def take(self, text_bytes: int, value_memory_bytes: int) -> None:
        """Count one more line and the value in it."""
        self._text_bytes += text_bytes
        self._memory_bytes += value_memory_bytes

    @property
    def is_spent(self) -> bool:
        """Whether one more value of the largest kind might not fit."""
        return (
            self._text_bytes > MAX_RESULT_BYTES - MAX_LINE_BYTES
            or self._memory_bytes > MAX_RUN_MEMORY_BYTES - MAX_VALUE_MEMORY_BYTES
        )


def _members(item: object) -> Any:
    """A list of what stands in a container of a type that can be carried; of a text itself; else nothing."""
    kind = type(item)
    if kind in (str, bytes):
        return item
    if kind in _SEQUENCES:
        # Counted first: a copy of millions of items would itself take the time that is to be saved.
        return _few(item)
    if kind is OrderedDict:
        return [part for pair in _few(OrderedDict.items(item)) for part in pair]  # type: ignore[arg-type]  # by `kind`
    if kind in _MAPPINGS:
        return [part for pair in _few(dict.items(item)) for part in pair]  # type: ignore[arg-type]  # by `kind`
    return []


def _few(items: Any) -> list[Any]:
    if len(items) * (_SCALAR + _SLOT) > MAX_VALUE_MEMORY_BYTES:
        raise ValueCodecError(TOO_LARGE)
    return list(items)
