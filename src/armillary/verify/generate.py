"""Make inputs for a task: edge values first, then growing random ones, all from one seed. Judges nothing.

The same task, count and seed give the same inputs on every machine. Most are small and ordinary; some are long, and
some hold what programs are rarely tried on: foreign letters and control characters, integers beside powers of two,
floats large and tiny. Integers that no float holds are given alone, never in containers, and never to a function that
returns a float: a right mean or median of them breaks promises that hold for all others. Large inputs come last: a
right program may be slow on them, which nobody holds against it where the task sets no bound.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from armillary.core.tasks import TaskSpec
from armillary.core.values import canonical
from armillary.verify.domains import Domain, contains, has_unknown, least_size, parameter_domains
from armillary.verify.generate_values import combine, draw_scope, edge_values, measured_size, random_value
from armillary.verify.mutate import mutate

Arguments: TypeAlias = tuple[Any, ...]

MAX_EDGE_COMBINATIONS = 60
MAX_BESIDE_EXAMPLES = 32
EXAMPLES_TO_STAND_BESIDE = 2
TRIES_PER_INPUT = 8
# Items and characters: of one input, and of all that are tried; edge values keep to what a domain may ask for.
MAX_INPUT_SIZE = 100_000
MAX_TOTAL_SIZE = 2_000_000
# Random inputs reach their full size after so many: where few are wanted after fewer, where ``requires`` turns most
# away not later.
INPUTS_UNTIL_FULL_SIZE = 200
LARGEST_SIZE = 12
# Beyond these an input is large.
ORDINARY_SIZE = 20
ORDINARY_INT = 10_000
INPUTS_PER_LARGE_ONE = 8
RANDOM_INPUTS_PER_LONG_ONE = 24


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
    num_large, max_large = 0, max(1, count // INPUTS_PER_LARGE_ONE)
    least, room = sum(map(least_size, domains)), MAX_TOTAL_SIZE
    for arguments in itertools.islice(_stream(task, domains, random_source, count), count * TRIES_PER_INPUT):
        if len(found) == count or room < 0:
            break
        size = measured_size(arguments, MAX_INPUT_SIZE)
        room -= max(size, least)
        if size > MAX_INPUT_SIZE or not all(map(contains, domains, arguments)):
            continue
        key = canonical(arguments)
        if key not in found and not (is_large(arguments) and num_large == max_large):
            found[key] = arguments
            num_large += is_large(arguments)
    return sorted(found.values(), key=is_large)


def is_large(arguments: Arguments) -> bool:
    """Whether a right program might take very long with it: more than a few items, or an integer to count up to."""
    if measured_size(arguments, ORDINARY_SIZE) > ORDINARY_SIZE:
        return True
    waiting: list[Any] = list(arguments)
    while waiting:
        item = waiting.pop()
        if isinstance(item, int) and abs(item) > ORDINARY_INT:
            return True
        if isinstance(item, list | tuple | set | frozenset | dict):
            waiting += item
            waiting += item.values() if isinstance(item, dict) else ()
    return False


def _stream(task: TaskSpec, domains: Sequence[Domain], source: random.Random, count: int) -> Iterator[Arguments]:
    examples = [example.arguments for example in task.examples]
    yield from examples
    edges = [edge_values(domain) for domain in domains]
    yield from itertools.islice(_beside(examples, edges), MAX_BESIDE_EXAMPLES)
    yield from itertools.islice(combine(edges), MAX_EDGE_COMBINATIONS)
    random_inputs = _random_inputs(domains, source, count, has_wide_ints="float" not in task.returns)
    whole = Domain("tuple", tuple(domains))
    while True:
        yield next(random_inputs)
        if examples:
            yield mutate(source.choice(examples), source, whole)


def _beside(examples: Sequence[Arguments], edges: Sequence[Sequence[Any]]) -> Iterator[Arguments]:
    """Examples with one argument at an edge and the others as they were: what a user would try next."""
    if len(edges) < 2:
        return
    for rank in range(max(map(len, edges))):
        for arguments, place in itertools.product(examples[:EXAMPLES_TO_STAND_BESIDE], range(len(edges))):
            if rank < len(edges[place]):
                yield (*arguments[:place], edges[place][rank], *arguments[place + 1 :])


def _random_inputs(
    domains: Sequence[Domain], source: random.Random, count: int, *, has_wide_ints: bool
) -> Iterator[Arguments]:
    num_growing = max(1, min(count, INPUTS_UNTIL_FULL_SIZE))
    kin = _related_places(domains)
    number = 0
    while True:
        size = 1 + min(LARGEST_SIZE, number * LARGEST_SIZE // num_growing)
        is_long = number % RANDOM_INPUTS_PER_LONG_ONE == RANDOM_INPUTS_PER_LONG_ONE - 1
        scope = draw_scope(source, size, is_long=is_long, has_wide_ints=has_wide_ints)
        arguments = tuple(random_value(domain, source, scope) for domain in domains)
        if kin and source.random() < 0.5:
            place, other = source.choice(kin)
            related = _related_value(arguments[place], domains[place], domains[other], source)
            arguments = (*arguments[:other], related, *arguments[other + 1 :])
        yield arguments
        number += 1


def _related_places(domains: Sequence[Domain]) -> list[tuple[int, int]]:
    """Pairs of parameters of which the second may be like the first, or like an item of it."""
    return [
        (place, other)
        for place, other in itertools.permutations(range(len(domains)), 2)
        if domains[other].kind in (domains[place].kind, _item_kind(domains[place]))
    ]


def _item_kind(domain: Domain) -> str:
    return domain.items[0].kind if domain.kind == "list" else domain.kind


def _related_value(value: Any, domain: Domain, other: Domain, source: random.Random) -> Any:
    """The same value, one close to it, a part of it, its items in another order or in other numbers."""
    if other.kind != domain.kind:
        return source.choice(value) if value else value
    way = source.randrange(5 if value and other.kind in ("str", "list") else 2)
    if way < 2:
        return value if way == 0 else mutate(value, source, other)
    items = list(value)
    start = source.randrange(len(items))
    if way == 2:
        items = items[start : start + source.choice((1, 2, 3, len(items)))]
    elif way == 3:
        source.shuffle(items)
    else:
        items[start] = source.choice(items)
    return "".join(items) if other.kind == "str" else items
