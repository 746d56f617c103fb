"""Make inputs for a task: edge values first, then growing random ones, all from one seed. Judges nothing.

The same task, count and seed give the same inputs on every machine.
"""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from armillary.core.tasks import TaskSpec
from armillary.core.values import MAX_INT_BITS, canonical
from armillary.verify.domains import (
    MAX_MIN_SIZE,
    UNKNOWN,
    Domain,
    Number,
    contains,
    has_unknown,
    least_size,
    parameter_domains,
)

Arguments: TypeAlias = tuple[Any, ...]

MAX_EDGE_COMBINATIONS = 60
DEFAULT_MAX_LENGTH = 8
MANY_ITEMS = 100
TRIES_PER_INPUT = 8
# Items and characters: of one input, and of all that are tried; edge values keep to what a domain may ask for.
MAX_INPUT_SIZE = 100_000
MAX_TOTAL_SIZE = 2_000_000
_EDGE_INTS = (0, 1, -1, 2, 3, 10, -10, 100)
_EDGE_FLOATS = (0.0, 1.0, -1.0, 0.5, 2.5, -0.25, 100.0)
_COMMON_CHARS = "ab cAB1,(" + string.ascii_lowercase
_PALETTE = (Domain("int"), Domain("str"), Domain("list", (Domain("int"),)))


def can_generate(task: TaskSpec) -> bool:
    """Whether something is known of every parameter: a type, a bound or an example."""
    return not any(has_unknown(domain) for domain in parameter_domains(task))


def generate_inputs(task: TaskSpec, *, count: int, seed: int) -> list[Arguments]:
    """At most ``count`` different inputs, fewer where the domains hold no more or only large ones.

    Parameters of which nothing is known get values of a small mixed palette.
    """
    domains = parameter_domains(task)
    random_source = random.Random(f"{seed} {count}")  # noqa: S311 - reproducible, not secret
    found: dict[str, Arguments] = {}
    least, room = sum(map(least_size, domains)), MAX_TOTAL_SIZE
    for arguments in itertools.islice(_stream(task, domains, random_source, count), count * TRIES_PER_INPUT):
        if len(found) == count or room < 0:
            break
        size = _size(arguments, MAX_INPUT_SIZE)
        room -= max(size, least)
        if size <= MAX_INPUT_SIZE and all(map(contains, domains, arguments)):
            found.setdefault(canonical(arguments), arguments)
    return list(found.values())


def edge_values(domain: Domain) -> list[Any]:
    """Small and extreme values of a domain, the simplest first."""
    values = [value for value in _EDGES[domain.kind](domain) if _size(value, MAX_MIN_SIZE) <= MAX_MIN_SIZE]
    unique = {canonical(value): value for value in values if contains(domain, value)}
    return list(unique.values())


def random_value(domain: Domain, source: random.Random, size: int) -> Any:
    """A value of the domain; ``size`` bounds lengths and magnitudes where the domain leaves them open."""
    return _MAKERS[domain.kind](domain, source, size)


def mutate(value: Any, source: random.Random, domain: Domain = UNKNOWN) -> Any:
    """A value of the same shape with about one place changed; its strings keep to the domain's alphabets."""
    kind = type(value)
    if domain.kind == "union":
        domain = next((member for member in domain.items if contains(member, value)), UNKNOWN)
    if kind is bool:
        return not value
    if kind is int:
        return value + source.choice((-1, 1, -value, value, source.randint(-20, 20)))
    if kind is float:
        return round(value + source.choice((-1.0, 1.0, -value, 0.5, source.uniform(-10, 10))), 3)
    if kind is str:
        chars = domain.alphabet or f"{value}{_COMMON_CHARS}"
        return "".join(_mutate_items(list(value), source, lambda char: source.choice(chars)))
    if kind is list:
        return _mutate_items(value, source, lambda item: mutate(item, source, _place(domain)))
    if kind is tuple and value:
        place = source.randrange(len(value))
        changed = mutate(value[place], source, _place(domain, place))
        return (*value[:place], changed, *value[place + 1 :])
    if kind is dict and value:
        chosen = source.choice(list(value))
        return {**value, chosen: mutate(value[chosen], source, _place(domain, 1))}
    if kind in (set, frozenset):
        return kind(
            _mutate_items(sorted(value, key=canonical), source, lambda item: mutate(item, source, _place(domain)))
        )
    return value


def _place(domain: Domain, index: int = 0) -> Domain:
    """The domain of one place inside a container; a domain of other values says nothing of it."""
    index = 0 if domain.is_variadic else index
    return domain.items[index] if index < len(domain.items) else UNKNOWN


def _stream(task: TaskSpec, domains: Sequence[Domain], source: random.Random, count: int) -> Iterator[Arguments]:
    examples = [example.arguments for example in task.examples]
    yield from examples
    edges = [edge_values(domain) for domain in domains]
    yield from itertools.islice(_combine(edges), MAX_EDGE_COMBINATIONS)
    index = 0
    while True:
        size = 1 + index * 12 // max(count, 1)
        if examples and index % 2:
            yield mutate(source.choice(examples), source, Domain("tuple", tuple(domains)))
        else:
            yield tuple(random_value(domain, source, size) for domain in domains)
        index += 1


def _combine(edges: Sequence[Sequence[Any]]) -> Iterator[Arguments]:
    """All combinations of the parameters' edge values, those of early ones first."""
    ranks = itertools.product(*(range(len(values)) for values in edges))
    bounded = itertools.islice(ranks, 5_000)
    for places in sorted(bounded, key=sum):
        yield tuple(values[place] for values, place in zip(edges, places, strict=True))


def _mutate_items(items: list[Any], source: random.Random, change: Callable[[Any], Any]) -> list[Any]:
    if not items:
        return []
    place = source.randrange(len(items))
    action = source.randrange(5)
    if action == 0:
        return items[:place] + items[place + 1 :]
    if action == 1:
        return [*items[:place], items[place], *items[place:]]
    if action == 2:
        return items[::-1]
    return [*items[:place], change(items[place]), *items[place + 1 :]]


def _clamp(value: Number, domain: Domain) -> Number:
    low = value if domain.low is None else max(value, domain.low)
    return low if domain.high is None else min(low, domain.high)


def _edge_numbers(domain: Domain) -> list[Any]:
    bounds = [bound for bound in (domain.low, domain.high) if bound is not None]
    if domain.kind == "int":
        near = [int(bound) + step for bound in bounds for step in (0, 1, -1)]
        return [*_EDGE_INTS, *near]
    return [*_EDGE_FLOATS, *map(float, bounds)]


def _edge_strings(domain: Domain) -> list[Any]:
    lengths = {0, 1, 2, domain.min_length, min(domain.max_length or 3, 50)}
    alphabet = (domain.alphabet or domain.seen or "ab")[:6]
    return [(domain.alphabet or domain.seen or "a")[0] * length for length in sorted(lengths)] + [*alphabet, alphabet]


def _edge_lists(domain: Domain) -> list[Any]:
    items = edge_values(domain.items[0])
    lengths = sorted({0, 1, 2, 3, domain.min_length, min(domain.max_length or 3, 50)})
    values = [(items * length)[:length] for length in lengths]
    values += [[items[0]] * 2, items[1::-1], items[2::-1]] if items else []
    return [value if domain.kind == "list" else tuple(value) for value in values]


def _edge_tuples(domain: Domain) -> list[Any]:
    if domain.is_variadic:
        return _edge_lists(domain)
    return list(itertools.islice(_combine([edge_values(item) for item in domain.items]), 12))


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
    "str": _edge_strings,
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


def _random_int(domain: Domain, source: random.Random, size: int) -> int:
    span = source.choice((2, 5, 20, 200, 1000)) if size > 2 else 3 * size
    low = -span if domain.low is None else int(domain.low)
    if domain.high is None:
        return source.randint(low, low + 2 * span)
    high = int(domain.high)
    return source.randint(high - 2 * span if domain.low is None else min(low, high), high)


def _random_float(domain: Domain, source: random.Random, size: int) -> float:
    span = float(source.choice((1, 10, 100)) * size)
    low = float(domain.low) if domain.low is not None else -span
    high = float(domain.high) if domain.high is not None else max(low, 0.0) + span
    return float(_clamp(round(source.uniform(low, high), source.choice((0, 1, 2))), domain))


def _length(domain: Domain, source: random.Random, size: int) -> int:
    high = domain.max_length if domain.max_length is not None else max(DEFAULT_MAX_LENGTH, domain.min_length + size)
    high = max(domain.min_length, min(high, domain.min_length + 2 * size))
    return source.randint(domain.min_length, high)


def _random_string(domain: Domain, source: random.Random, size: int) -> str:
    # Half of the strings use few characters, so that repetitions occur.
    alphabet = domain.alphabet or domain.seen or _COMMON_CHARS
    few = source.sample(alphabet, min(3, len(alphabet))) if source.random() < 0.5 else alphabet
    return "".join(source.choice(few) for _ in range(_length(domain, source, size)))


def _random_items(domain: Domain, source: random.Random, size: int) -> list[Any]:
    item, length = domain.items[0], _length(domain, source, size)
    inner_size = max(1, size // 2) if length < MANY_ITEMS else 1
    return [random_value(item, source, inner_size) for _ in range(length)]


def _random_tuple(domain: Domain, source: random.Random, size: int) -> Arguments:
    if domain.is_variadic:
        return tuple(_random_items(domain, source, size))
    return tuple(random_value(item, source, size) for item in domain.items)


def _random_set(domain: Domain, source: random.Random, size: int) -> Any:
    items = [item for item in _random_items(domain, source, size) if _is_hashable(item)]
    return set(items) if domain.kind == "set" else frozenset(items)


def _random_table(domain: Domain, source: random.Random, size: int) -> dict[Any, Any]:
    keys = [random_value(domain.items[0], source, size) for _ in range(_length(domain, source, size))]
    return {key: random_value(domain.items[1], source, max(1, size // 2)) for key in keys if _is_hashable(key)}


_Maker: TypeAlias = Callable[[Domain, random.Random, int], Any]
_MAKERS: dict[str, _Maker] = {
    "int": _random_int,
    "float": _random_float,
    "bool": lambda domain, source, size: source.random() < 0.5,
    "str": _random_string,
    "bytes": lambda domain, source, size: source.randbytes(_length(domain, source, size)),
    "complex": lambda domain, source, size: complex(source.randint(-size, size), source.randint(-size, size)),
    "none": lambda domain, source, size: None,
    "list": _random_items,
    "tuple": _random_tuple,
    "dict": _random_table,
    "set": _random_set,
    "frozenset": _random_set,
    "union": lambda domain, source, size: random_value(source.choice(domain.items), source, size),
    "choice": lambda domain, source, size: source.choice(domain.choices),
    "any": lambda domain, source, size: random_value(source.choice(_PALETTE), source, size),
    "unknown": lambda domain, source, size: random_value(source.choice(_PALETTE), source, size),
}


def _size(value: Any, limit: int) -> int:
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


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
