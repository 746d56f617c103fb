"""Change a value a little, so that inputs lie near the examples of a task. Judges nothing and knows no tasks."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from armillary.core.values import canonical
from armillary.verify.domains import UNKNOWN, Domain, contains
from armillary.verify.generate_text import mutation_chars, reshaped


def mutate(value: Any, source: random.Random, domain: Domain = UNKNOWN) -> Any:
    """A value of the same shape with about one place changed; its strings keep to the domain's alphabets."""
    if domain.kind == "union":
        domain = next((member for member in domain.items if contains(member, value)), UNKNOWN)
    change = _CHANGES.get(type(value))
    return value if change is None else change(value, source, domain)


def _change_int(value: int, source: random.Random, domain: Domain) -> int:
    return value + source.choice((-1, 1, -value, value, -2 * value, source.randint(-20, 20)))


def _change_float(value: float, source: random.Random, domain: Domain) -> float:
    if source.random() < 0.3:
        return source.choice((-value, value * 1e3, value / 1e3, value * 1e9))
    return round(value + source.choice((-1.0, 1.0, -value, 0.5, source.uniform(-10, 10))), 3)


def _change_text(value: str, source: random.Random, domain: Domain) -> str:
    if source.random() < 0.2:
        return reshaped(value, source, domain)
    chars = mutation_chars(value, source, domain)
    return "".join(_change_items(list(value), source, lambda char: source.choice(chars)))


def _change_list(value: list[Any], source: random.Random, domain: Domain) -> list[Any]:
    return _change_items(value, source, lambda item: mutate(item, source, _place(domain)))


def _change_tuple(value: tuple[Any, ...], source: random.Random, domain: Domain) -> tuple[Any, ...]:
    if not value:
        return value
    if domain.is_variadic:
        return tuple(_change_list(list(value), source, domain))
    place = source.randrange(len(value))
    changed = mutate(value[place], source, _place(domain, place))
    return (*value[:place], changed, *value[place + 1 :])


def _change_table(value: dict[Any, Any], source: random.Random, domain: Domain) -> dict[Any, Any]:
    if not value:
        return value
    chosen = source.choice(list(value))
    return {**value, chosen: mutate(value[chosen], source, _place(domain, 1))}


def _change_set(value: Any, source: random.Random, domain: Domain) -> Any:
    return type(value)(_change_list(sorted(value, key=canonical), source, domain))


def _change_items(items: list[Any], source: random.Random, change: Callable[[Any], Any]) -> list[Any]:
    """One item taken out, doubled, changed, added or swapped with its neighbour, or all backwards or twice."""
    if not items:
        return []
    place = source.randrange(len(items))
    before, item, after = items[:place], items[place], items[place + 1 :]
    action = source.randrange(8)
    if action == 0:
        return before + after
    if action == 1:
        return [*before, item, item, *after]
    if action == 2:
        return items[::-1]
    if action == 3:
        return [*before, change(item), item, *after]
    if action == 4:
        return [*before, *items[place : place + 2][::-1], *after[1:]]
    if action == 5 and len(items) <= 8:
        return items + items
    return [*before, change(item), *after]


def _place(domain: Domain, index: int = 0) -> Domain:
    """The domain of one place inside a container; a domain of other values says nothing of it."""
    index = 0 if domain.is_variadic else index
    return domain.items[index] if index < len(domain.items) else UNKNOWN


_CHANGES: dict[type, Callable[[Any, random.Random, Domain], Any]] = {
    bool: lambda value, source, domain: not value,
    int: _change_int,
    float: _change_float,
    str: _change_text,
    list: _change_list,
    tuple: _change_tuple,
    dict: _change_table,
    set: _change_set,
    frozenset: _change_set,
}
