from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.core.errors import ValueCodecError
from armillary.core.values import encode
from armillary.verify.comparison import equal_by_value, kind_and_body, matches

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
KEYS = st.integers() | st.text() | st.booleans()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner) | st.tuples(inner) | st.dictionaries(KEYS, inner) | st.sets(KEYS) | st.frozensets(KEYS)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("expected", "actual", "returns"),
    [
        (1, 1, ""),
        (2.0, 2, ""),
        (2, 2.0, "float"),
        (2, 2.0, "Optional[float]"),
        (2, 2.0, "int | float"),
        ([1, 2], [1.0, 2], "list[float]"),
        (0.1 + 0.2, 0.3, ""),
        (1e20, 1e20 * (1 + 1e-10), ""),
        (0.333333, 1 / 3, ""),
        (3, 3 - 1e-10, "float"),
        (1e22, 10**22, ""),
        (math.nan, math.nan, ""),
        (math.inf, math.inf, ""),
        ((1, 2), [1, 2], "List[int]"),
        ([1, 2], (1, 2), "tuple[int, ...]"),
        ([1, "a"], (1, "a"), "Tuple[int, str]"),
        ([1], (1,), "None | tuple[int]"),
        ({1: 2.0}, {1: 2}, ""),
        ({"a": 1}, {"a": 1.0}, "dict[str, float]"),
        ({1, 2}, {2, 1}, ""),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ""),
        (1j, 1j + 1e-12, ""),
        (b"a", b"a", ""),
        (1 << 70, 1 << 70, ""),
        ([], [], "Odd["),
        ("a", "a", "int | None"),
        ((1, (2, 3)), (1, (2, 3)), "tuple[int]"),
    ],
)
def test_what_is_meant_to_be_the_same_matches(expected: object, actual: object, returns: str) -> None:
    assert matches(encode(expected), encode(actual), returns)


@pytest.mark.parametrize(
    ("expected", "actual", "returns"),
    [
        (True, 1, ""),
        (1, True, "int"),
        (0, False, ""),
        (1.0, True, ""),
        (2, 2.0, ""),
        (2, 2.0, "int"),
        (2, 2.0, "int | None"),
        (1.0, 1.00001, ""),
        (1000000, 1000000.9, "float"),
        (1000000.0, 1000000.9, ""),
        (2**53, float(2**53 + 2), "float"),
        (10.0**15, 10**15 + 1, ""),
        (0.001, 0.00101, ""),
        ((1, 2), [1, 2], ""),
        ((1, 2), [1, 2], "tuple"),
        ([1], [1, 1], ""),
        ([1, 2], [2, 1], ""),
        ("1", 1, ""),
        ("a", b"a", ""),
        (None, 0, ""),
        ({1}, frozenset({1}), ""),
        ({1}, {1.0}, ""),
        ({1: 1}, {True: 1}, ""),
        ({1: 1}, {1: 2}, ""),
        ({1: 1}, {}, ""),
        (1 << 70, float(1 << 70), ""),
        (1.0, 10**400, ""),
        (0.5, 10**400, ""),
        (1.0, 1 + 0j, ""),
    ],
)
def test_what_differs_in_value_or_type_does_not_match(expected: object, actual: object, returns: str) -> None:
    assert not matches(encode(expected), encode(actual), returns)


@settings(deadline=None, max_examples=60)
@given(VALUES)
def test_every_value_matches_itself(value: object) -> None:
    assert matches(encode(value), encode(value))
    assert equal_by_value(encode(value), encode(value))


@settings(deadline=None, max_examples=60)
@given(VALUES, VALUES)
def test_a_match_of_equals_by_type_is_symmetric(left: object, right: object) -> None:
    if type(left) is type(right):
        assert equal_by_value(encode(left), encode(right)) == equal_by_value(encode(right), encode(left))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (2, 2.0),
        ([1, (2,)], [1.0, (2.0,)]),
        ({1}, frozenset({1})),
        ({"a": 1}, {"a": 1.0}),
        (1, 1 + 0j),
        ("a", "a"),
        ({1}, {1.0}),
        ({True, 0.5}, {1, 0.5 + 0j}),
        ({True: 1}, {1.0: 1}),
        ({-0.0}, {0}),
        ({(1, "a", None)}, {(1.0, "a", None)}),
        ({frozenset({1, 2}): 0}, {frozenset({1.0, 2 + 0j}): 0}),
        ({1 << 70}, frozenset({float(1 << 70)})),
        ({math.inf}, {math.inf}),
        ({1 << 20_000: 1}, {1 << 20_000: True}),
    ],
)
def test_equal_by_value_is_pythons_equality(left: object, right: object) -> None:
    assert left == right
    assert equal_by_value(encode(left), encode(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1], (1,)),
        (1, "1"),
        ({1}, {2}),
        ({"a": 1}, {"b": 1}),
        ([1], [1, 2]),
        (1, None),
        (10**400, 1 + 0j),
        ({1}, {"1"}),
        ({1: 0}, {1.5: 0}),
        ({1j}, {0}),
    ],
)
def test_equal_by_value_tells_apart_what_python_does(left: object, right: object) -> None:
    assert not equal_by_value(encode(left), encode(right))


@pytest.mark.parametrize(
    "forged",
    [
        {"tuple": 1},
        {"odd": []},
        {},
        {"set": [], "tuple": []},
        {"dict": [1]},
        {"int": "x"},
        {"bytes": 1},
        {"complex": []},
    ],
)
def test_a_forged_value_equals_nothing(forged: object) -> None:
    assert not matches(forged, forged)  # type: ignore[arg-type]
    with pytest.raises(ValueCodecError):
        kind_and_body(forged)  # type: ignore[arg-type]


def test_a_value_too_deep_to_walk_equals_nothing() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert not equal_by_value(deep, deep)  # type: ignore[arg-type]
    while deep:  # taken apart by hand: the interpreter would do it by recursion
        deep = deep.pop()  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("left", "right", "are_same"),
    [
        (9.5e-07, 0.0, False),
        (1e-9, 2e-9, False),
        (0.333333, 1 / 3, True),
        (5.551115123125783e-17, 0.0, True),
        (0.001, 0.0010005, True),
        (0.001, 0.00101, False),
        (1e-13, 0.0, True),
        (1e12, 1e12 + 100, True),
    ],
)
def test_small_numbers_are_not_all_zero(left: float, right: float, are_same: bool) -> None:
    assert equal_by_value(left, right) is are_same
