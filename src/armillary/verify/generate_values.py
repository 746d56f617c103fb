"""Make single values of a domain: its edges, simplest first, and random ones of every usual shape. Knows no tasks."""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from armillary.core.values import MAX_INT_BITS, canonical
from armillary.verify.domains import MAX_MIN_SIZE, Domain, Number, contains
from armillary.verify.generate_text import edge_texts, random_text

DEFAULT_MAX_LENGTH = 8
# Lengths of an input that is to be long, where its domain allows them; the shorter ones are likelier.
LONG_LENGTHS = (30, 100)
# In an unusual input so many of the numbers and texts are unusual, each by itself.
UNUSUAL_SHARE = 2 / 3
# All large or tiny floats of an input share sign and magnitude: honest sums in another order still agree.
FLOAT_SCALES = (1e-60, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e3, 1e6, 1e9, 1e12, 1e16, 1e20, 1e60)
INT_BITS = (7, 8, 15, 16, 31, 32, 40, 45)
WIDE_INT_BITS = (7, 8, 15, 16, 31, 32, 53, 54, 63, 64, 65, 80)
_EDGE_INTS = (0, 1, -1, 2, 3, 10, -10, 100)
_EDGE_FLOATS = (0.0, 1.0, -1.0, 0.5, 2.5, -0.25, 100.0)
_SPANS = (2, 5, 20, 200, 1000)
_WITH_LENGTH = frozenset({"str", "bytes", "list", "tuple", "dict", "set", "frozenset"})
_PALETTE = (Domain("int"), Domain("str"), Domain("list", (Domain("int"),)))


@dataclass(frozen=True, slots=True)
class Scope:
    """What one input is to be like.

    Attributes:
        size: bounds lengths and magnitudes where the domain leaves them open.
        is_long: whether its texts and outer containers are of ``LONG_LENGTHS``.
        scale: sign and magnitude of its unusual floats; zero for an input in which nothing is unusual.
        has_wide_ints: whether its unusual integers may be larger than a float can hold exactly.
    """

    size: int
    is_long: bool = False
    scale: float = 0.0
    has_wide_ints: bool = False

    def has_surprise(self, source: random.Random) -> bool:
        """Whether the value that is made now should be unusual."""
        return self.scale != 0 and source.random() < UNUSUAL_SHARE


def draw_scope(source: random.Random, size: int, *, is_long: bool, has_wide_ints: bool) -> Scope:
    """An ordinary input, or one time in four an unusual one."""
    is_unusual = source.random() < 0.25
    scale = source.choice(FLOAT_SCALES) * source.choice((1, -1)) if is_unusual else 0.0
    return Scope(size, is_long, scale, has_wide_ints)


def edge_values(domain: Domain) -> list[Any]:
    """Small and extreme values of a domain, the simplest first."""
    values = [value for value in _EDGES[domain.kind](domain) if measured_size(value, MAX_MIN_SIZE) <= MAX_MIN_SIZE]
    unique = {canonical(value): value for value in values if contains(domain, value)}
    return list(unique.values())


def random_value(domain: Domain, source: random.Random, scope: Scope) -> Any:
    """A value of the domain, in nearly all cases; sets and dicts may come out smaller than asked for."""
    return _MAKERS[domain.kind](domain, source, scope)


def combine(edges: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """All combinations of some places' edge values, those of early ones first."""
    ranks = itertools.product(*(range(len(values)) for values in edges))
    bounded = itertools.islice(ranks, 5_000)
    for places in sorted(bounded, key=sum):
        yield tuple(values[place] for values, place in zip(edges, places, strict=True))


def measured_size(value: Any, limit: int) -> int:
    """Items and characters of a value, and the 64-bit words of its integers; counted until the limit is passed."""
    size, waiting = 0, [value]
    while waiting and size <= limit:
        item = waiting.pop()
        if isinstance(item, str | bytes):
            size += max(1, len(item))
        elif isinstance(item, list | tuple | set | frozenset | dict):
            size += not item
            waiting += item
            waiting += item.values() if isinstance(item, dict) else ()
        elif isinstance(item, int) and item.bit_length() > MAX_INT_BITS:
            return limit + 1
        else:
            size += 1 + item.bit_length() // 64 if isinstance(item, int) else 1
    return size


def _clamp(value: Number, domain: Domain) -> Number:
    low = value if domain.low is None else max(value, domain.low)
    return low if domain.high is None else min(low, domain.high)


def _edge_numbers(domain: Domain) -> list[Any]:
    bounds = [bound for bound in (domain.low, domain.high) if bound is not None]
    if domain.kind == "int":
        near = [int(bound) + step for bound in bounds for step in (0, 1, -1)]
        return [*_EDGE_INTS, *near]
    return [*_EDGE_FLOATS, *map(float, bounds)]


def _edge_lists(domain: Domain) -> list[Any]:
    items = edge_values(domain.items[0])
    lengths = sorted({0, 1, 2, 3, domain.min_length, min(domain.max_length or 3, 50)})
    values = [(items * length)[:length] for length in lengths]
    values += [[items[0]] * 2, items[1::-1], items[2::-1]] if items else []
    return [value if domain.kind == "list" else tuple(value) for value in values]


def _edge_tuples(domain: Domain) -> list[Any]:
    if domain.is_variadic:
        return _edge_lists(domain)
    return list(itertools.islice(combine([edge_values(item) for item in domain.items]), 12))


def _edge_tables(domain: Domain) -> list[Any]:
    keys, values = (edge_values(item) for item in domain.items)
    pairs = list(zip(filter(_is_hashable, keys), itertools.cycle(values), strict=False)) if values else []
    return [dict(pairs[:length]) for length in (0, 1, 2, 3)]


def _edge_sets(domain: Domain) -> list[Any]:
    kind = set if domain.kind == "set" else frozenset
    items = [item for item in edge_values(domain.items[0]) if _is_hashable(item)]
    return [kind(items[:length]) for length in (0, 1, 2, 3)]


def _edge_union(domain: Domain) -> list[Any]:
    rows = [edge_values(item) for item in domain.items]
    return [value for row in itertools.zip_longest(*rows, fillvalue=None) for value in row]


_EDGES: dict[str, Callable[[Domain], list[Any]]] = {
    "int": _edge_numbers,
    "float": _edge_numbers,
    "bool": lambda domain: [False, True],
    "str": edge_texts,
    "bytes": lambda domain: [b"", b"a", b"\x00\xff"],
    "complex": lambda domain: [0j, 1j, 1 + 0j],
    "none": lambda domain: [None],
    "list": _edge_lists,
    "tuple": _edge_tuples,
    "dict": _edge_tables,
    "set": _edge_sets,
    "frozenset": _edge_sets,
    "union": _edge_union,
    "choice": lambda domain: list(domain.choices),
    "any": lambda domain: [0, 1, "a", [1]],
    "unknown": lambda domain: [0, 1, "a", [1]],
}


def _random_int(domain: Domain, source: random.Random, scope: Scope) -> int:
    """Mostly near zero, or near the bound that is nearest to it."""
    span = _SPANS[int(source.random() * len(_SPANS))] if scope.size > 2 else 3 * scope.size
    low, high = domain.low, domain.high
    if low is None and high is None:
        # The usual case by far, and integers are what most inputs consist of.
        return (
            _unusual_int(source, scope) if scope.has_surprise(source) else int(source.random() * (2 * span + 1)) - span
        )
    nearest = int(_clamp(0, domain))
    if scope.has_surprise(source) and contains(domain, value := nearest + _unusual_int(source, scope)):
        return value
    if low is not None and high is not None and source.random() < 0.5:
        return source.randint(int(low), int(high))
    return source.randint(
        nearest - span if low is None else max(nearest - span, int(low)),
        nearest + span if high is None else min(nearest + span, int(high)),
    )


def _unusual_int(source: random.Random, scope: Scope) -> int:
    """Beside a power of two, or anything of that many bits."""
    num_bits = source.choice(WIDE_INT_BITS if scope.has_wide_ints else INT_BITS)
    size = (1 << num_bits) + source.choice((-1, 0, 1)) if source.random() < 0.5 else source.getrandbits(num_bits + 1)
    return source.choice((size, -size))


def _random_float(domain: Domain, source: random.Random, scope: Scope) -> float:
    if scope.has_surprise(source) and contains(domain, value := source.uniform(1, 10) * scope.scale):
        return value
    span = float(source.choice((1, 10, 100)) * scope.size)
    low = float(domain.low) if domain.low is not None else -span
    high = float(domain.high) if domain.high is not None else max(low, 0.0) + span
    return float(_clamp(round(source.uniform(low, high), source.choice((0, 1, 2))), domain))


def _length(domain: Domain, source: random.Random, scope: Scope) -> int:
    low, size = domain.min_length, scope.size
    if scope.is_long:
        shortest, longest = (max(low, length) for length in LONG_LENGTHS)
        high = longest if domain.max_length is None else min(longest, domain.max_length)
        shortest = min(shortest, high)
        return shortest + int(source.random() ** 2 * (high + 1 - shortest))
    high = domain.max_length if domain.max_length is not None else max(DEFAULT_MAX_LENGTH, low + size)
    return source.randint(low, max(low, min(high, low + 2 * size)))


def _random_text(domain: Domain, source: random.Random, scope: Scope) -> str:
    return random_text(domain, source, _length(domain, source, scope), is_unusual=scope.has_surprise(source))


def _random_bytes(domain: Domain, source: random.Random, scope: Scope) -> bytes:
    length = _length(domain, source, scope)
    return source.randbytes(length) if source.random() < 0.5 else bytes(source.choices(_TEXT_BYTES, k=length))


def _random_items(domain: Domain, source: random.Random, scope: Scope) -> list[Any]:
    item = domain.items[0]
    make = _MAKERS[item.kind]
    has_long_item = scope.is_long and item.kind in _WITH_LENGTH and source.random() < 0.75
    # Now and then the one long item stands in a short list.
    is_short = has_long_item and source.random() < 0.3
    length = _length(domain, source, Scope(scope.size) if is_short else scope)
    inner = Scope(_inner_size(item, scope, length), False, scope.scale)
    items = [make(item, source, inner) for _ in range(length)]
    if has_long_item and items:
        items[source.randrange(length)] = make(item, source, Scope(1, True, scope.scale))
    return items


def _inner_size(item: Domain, scope: Scope, length: int) -> int:
    """Many items: small ones where they have a length, else from a wide span, so that not all are the same few."""
    if length < LONG_LENGTHS[0]:
        return max(1, scope.size // 2)
    return 1 if item.kind in _WITH_LENGTH else max(3, scope.size)


def _random_list(domain: Domain, source: random.Random, scope: Scope) -> list[Any]:
    return source.choice(_ARRANGEMENTS)(_random_items(domain, source, scope), source)


def _as_made(items: list[Any], source: random.Random) -> list[Any]:
    return items


def _in_order(items: list[Any], source: random.Random) -> list[Any]:
    try:
        return sorted(items, reverse=source.random() < 0.5)
    except TypeError:
        return items


def _nearly_in_order(items: list[Any], source: random.Random) -> list[Any]:
    items = _in_order(items, source)
    if items:
        here, there = source.randrange(len(items)), source.randrange(len(items))
        items[here], items[there] = items[there], items[here]
    return items


def _all_equal(items: list[Any], source: random.Random) -> list[Any]:
    return items[:1] * len(items)


def _few_different(items: list[Any], source: random.Random) -> list[Any]:
    return source.choices(items[:3], k=len(items)) if items else items


def _mirrored(items: list[Any], source: random.Random) -> list[Any]:
    return items[: (len(items) + 1) // 2] + items[: len(items) // 2][::-1]


_ARRANGEMENTS = (
    _as_made, _as_made, _as_made, _as_made, _in_order, _in_order, _nearly_in_order, _all_equal, _few_different,
    _few_different, _mirrored,
)  # fmt: skip


def _random_tuple(domain: Domain, source: random.Random, scope: Scope) -> tuple[Any, ...]:
    if domain.is_variadic:
        return tuple(_random_list(domain, source, scope))
    return tuple(random_value(item, source, scope) for item in domain.items)


def _random_set(domain: Domain, source: random.Random, scope: Scope) -> Any:
    items = [item for item in _random_items(domain, source, scope) if _is_hashable(item)]
    return set(items) if domain.kind == "set" else frozenset(items)


def _random_table(domain: Domain, source: random.Random, scope: Scope) -> dict[Any, Any]:
    length = _length(domain, source, scope)
    short = Scope(max(3, scope.size) if scope.is_long else scope.size, False, scope.scale)
    keys = [random_value(domain.items[0], source, short) for _ in range(length)]
    inner = Scope(max(1, scope.size // 2), False, scope.scale)
    return {key: random_value(domain.items[1], source, inner) for key in keys if _is_hashable(key)}


def _random_complex(domain: Domain, source: random.Random, scope: Scope) -> complex:
    return complex(source.randint(-scope.size, scope.size), source.randint(-scope.size, scope.size))


def _any_value(domain: Domain, source: random.Random, scope: Scope) -> Any:
    return random_value(source.choice(_PALETTE), source, scope)


_TEXT_BYTES = string.printable.encode()
_Maker: TypeAlias = Callable[[Domain, random.Random, Scope], Any]
_MAKERS: dict[str, _Maker] = {
    "int": _random_int,
    "float": _random_float,
    "bool": lambda domain, source, scope: source.random() < 0.5,
    "str": _random_text,
    "bytes": _random_bytes,
    "complex": _random_complex,
    "none": lambda domain, source, scope: None,
    "list": _random_list,
    "tuple": _random_tuple,
    "dict": _random_table,
    "set": _random_set,
    "frozenset": _random_set,
    "union": lambda domain, source, scope: random_value(source.choice(domain.items), source, scope),
    "choice": lambda domain, source, scope: source.choice(domain.choices),
    "any": _any_value,
    "unknown": _any_value,
}


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
