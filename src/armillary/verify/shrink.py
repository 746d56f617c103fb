"""Make a failing input smaller, step by step, while it keeps failing. Knows not what failing means.

Every step is strictly simpler: fewer items and characters first, then smaller magnitudes. So shrinking ends.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from armillary.core.values import canonical
from armillary.verify.generate import Arguments

CANDIDATES_PER_ROUND = 48
MAX_ROUNDS = 30

Weight: TypeAlias = tuple[int, int]


def shrink(
    arguments: Arguments, fails: Callable[[Sequence[Arguments]], list[bool]], *, max_rounds: int = MAX_ROUNDS
) -> Arguments:
    """The simplest failing input that greedy steps reach.

    Args:
        arguments: an input that fails.
        fails: says for each input of a batch whether it fails in the same way.
        max_rounds: batches of ``CANDIDATES_PER_ROUND`` to try at most.
    """
    candidates = simpler(arguments)
    for _ in range(max_rounds):
        batch = list(itertools.islice(candidates, CANDIDATES_PER_ROUND))
        if not batch:
            break
        failing = [item for item, is_failing in zip(batch, fails(batch), strict=True) if is_failing]
        if failing:
            arguments = min(failing, key=weight)
            candidates = simpler(arguments)
    return arguments


def simpler(arguments: Arguments) -> Iterator[Arguments]:
    """Different inputs of the same number of arguments, each strictly simpler, bold steps first."""
    bound = weight(arguments)
    seen = set()
    for candidate in _simpler_items(arguments):
        key = canonical(candidate)
        if weight(candidate) < bound and key not in seen:
            seen.add(key)
            yield tuple(candidate)


def weight(value: Any) -> Weight:
    """How complicated a value is: its items and characters, then its magnitudes."""
    kind = type(value)
    if kind is str:
        return 1 + len(value), sum(_char_rank(char) for char in value)
    if kind is bytes:
        return 1 + len(value), sum(value)
    if kind is dict:
        return _sum([*value.keys(), *value.values()])
    if kind in (list, tuple, set, frozenset):
        return _sum(value)
    return 1, _magnitude(value)


def _sum(values: Any) -> Weight:
    weights = [weight(value) for value in values]
    return 1 + sum(size for size, _ in weights), sum(magnitude for _, magnitude in weights)


def _magnitude(value: Any) -> int:
    """Whole numbers throughout: a float could not hold the largest integers."""
    if value is None or type(value) is bool:
        return int(value or 0)
    if type(value) is int:
        return 1024 * (2 * abs(value) + (value < 0))
    if type(value) is float:
        if not math.isfinite(value):
            return 1 << 1100
        whole = int(abs(value))
        return 2048 * whole + int(2048 * (abs(value) - whole)) + (value < 0) + (not value.is_integer())
    return 1 << 1100


def _char_rank(char: str) -> int:
    return ord(char) - ord("a") if "a" <= char <= "z" else 100 + ord(char)


def _simpler_values(value: Any) -> Iterator[Any]:
    steps = _STEPS.get(type(value))
    if steps is not None:
        yield from steps(value)


def _simpler_bools(value: bool) -> Iterator[bool]:
    yield False


def _simpler_ints(value: int) -> Iterator[int]:
    sign = -1 if value < 0 else 1
    yield from (0, sign, -value if value < 0 else 0)
    step = abs(value) // 2
    while step:
        yield value - sign * step
        step //= 2


def _simpler_floats(value: float) -> Iterator[float]:
    yield from (0.0, 1.0)
    if math.isfinite(value):
        yield from (abs(value), round(value, 1), *map(float, (int(value), *_simpler_ints(int(value)))))


def _simpler_texts(value: Any) -> Iterator[Any]:
    yield from _cuts(value)
    if type(value) is str:
        yield from _plainer(value, ("a", "0", " "))
        # Where an alphabet has none of these, the text's own simplest character still lies in it.
        yield from _plainer(value, (min(value, key=_char_rank, default=""),))


def _plainer(value: str, plain_chars: tuple[str, ...]) -> Iterator[str]:
    for place, char in enumerate(value):
        for plain in plain_chars:
            if char != plain:
                yield f"{value[:place]}{plain}{value[place + 1 :]}"


def _simpler_lists(value: list[Any]) -> Iterator[list[Any]]:
    yield from _cuts(value)
    yield from map(list, _simpler_items(value))


def _simpler_items(values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The same number of items, one of them simpler; the items take turns."""
    streams = [_simpler_values(value) for value in values]
    for row in itertools.zip_longest(*streams, fillvalue=_END):
        for place, item in enumerate(row):
            if item is not _END:
                yield (*values[:place], item, *values[place + 1 :])


def _simpler_tables(value: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    for pairs in _cuts(list(value.items())):
        yield dict(pairs)
    keys = list(value)
    for items in _simpler_items(list(value.values())):
        yield dict(zip(keys, items, strict=True))
    for others in _simpler_items(keys):
        if len(set(others)) == len(keys):
            yield dict(zip(others, value.values(), strict=True))


def _simpler_sets(value: Any) -> Iterator[Any]:
    for items in _simpler_lists(sorted(value, key=canonical)):
        yield type(value)(items)


def _cuts(value: Any) -> Iterator[Any]:
    """Parts of a sequence: nothing, halves, quarters, all but one item."""
    length = len(value)
    size = length
    while size:
        for start in range(0, length, size):
            yield value[:start] + value[start + size :]
        size //= 2


_END = object()
_STEPS: dict[type, Callable[[Any], Iterator[Any]]] = {
    bool: _simpler_bools,
    int: _simpler_ints,
    float: _simpler_floats,
    str: _simpler_texts,
    bytes: _simpler_texts,
    list: _simpler_lists,
    tuple: _simpler_items,
    dict: _simpler_tables,
    set: _simpler_sets,
    frozenset: _simpler_sets,
}
