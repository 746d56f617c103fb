from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.verify.shrink import CANDIDATES_PER_ROUND, shrink, simpler, weight

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text(), inner)
        | st.frozensets(st.integers())
    ),
    max_leaves=8,
)


def batched(fails: Callable[..., bool]) -> Callable[[Sequence[tuple[Any, ...]]], list[bool]]:
    return lambda batch: [fails(*item) for item in batch]


@pytest.mark.parametrize(
    ("start", "fails", "smallest"),
    [
        (([5, 87, 3, 44],), lambda xs: len(xs) >= 3, ([0, 0, 0],)),
        (([5, 87, 3, 44],), lambda xs: any(x > 10 for x in xs), ([11],)),
        ((-937,), lambda x: x <= -17, (-17,)),
        ((937,), lambda x: x > 100, (101,)),
        (("hello world",), lambda s: " " in s, (" ",)),
        (("XYZW",), lambda s: len(s) > 2, ("aaa",)),
        ((3.75,), lambda x: x > 1.2, (2.0,)),
        ((-3.5,), lambda x: abs(x) > 1, (2.0,)),
        (({"k": 9, "l": 3},), lambda d: any(v > 4 for v in d.values()), ({"": 5},)),
        (({4, 9, 12},), lambda s: len(s) > 1, ({0, 1},)),
        (((8, "abc"), 7), lambda t, n: n > 2, ((0, ""), 3)),
        ((True, None), lambda a, b: True, (False, None)),
        ((b"abc",), lambda b: len(b) > 1, (b"bc",)),
        ((1 << 90,), lambda x: x > 1 << 80, ((1 << 80) + 1,)),
    ],
    ids=range(14),
)
def test_the_known_minimum_is_reached(start: tuple[Any, ...], fails: Any, smallest: tuple[Any, ...]) -> None:
    found = shrink(start, batched(fails), max_rounds=200)
    assert weight(found) <= weight(smallest)
    assert fails(*found)


def test_a_text_becomes_simpler_within_its_own_characters() -> None:
    assert shrink(("zyzx",), batched(lambda s: len(s) > 2 and set(s) <= set("xyz"))) == ("xxx",)


def test_what_cannot_be_simpler_stays() -> None:
    assert shrink((0, "", []), batched(lambda *_: True)) == (0, "", [])


def test_rounds_are_bounded() -> None:
    sizes: list[int] = []

    def fails(batch: Sequence[tuple[Any, ...]]) -> list[bool]:
        sizes.append(len(batch))
        return [False] * len(batch)

    assert shrink((list(range(300)),), fails, max_rounds=3) == (list(range(300)),)
    assert sizes == [CANDIDATES_PER_ROUND] * 3


@settings(deadline=None, max_examples=60)
@given(st.tuples(VALUES, VALUES))
def test_every_step_is_strictly_simpler_and_keeps_the_number_of_arguments(arguments: tuple[Any, ...]) -> None:
    for candidate, _ in zip(simpler(arguments), range(60), strict=False):
        assert len(candidate) == 2
        assert weight(candidate) < weight(arguments)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(), max_size=30), st.integers(min_value=0, max_value=100))
def test_a_shrunk_input_still_fails(values: list[int], bound: int) -> None:
    def fails(xs: list[int]) -> bool:
        return sum(map(abs, xs)) > bound

    if fails(values):
        assert fails(*shrink((values,), batched(fails)))


def test_keys_that_would_fall_together_stay_apart() -> None:
    tables = [table for (table,) in simpler(({0: 0, 5: 0},))]
    assert {0: 0, 1: 0} in tables


def test_not_a_number_gives_way_to_plain_numbers() -> None:
    assert list(simpler((math.nan,))) == [(0.0,), (1.0,)]


def test_numbers_that_are_not_finite_are_the_heaviest() -> None:
    assert weight(math.nan) > weight(1e300)
    assert weight(1j) > weight(5)
