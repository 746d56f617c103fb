from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.core.errors import IncomparableValueError, ValueCodecError
from armillary.core.values import MAX_DEPTH, MAX_INT_BITS, MAX_ITEMS, canonical, decode, dumps, encode

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 300), 1 << 300)
    | st.floats()
    | st.text(alphabet=st.characters())
    | st.binary()
    | st.complex_numbers()
    | st.sampled_from([-0.0, math.nan, math.inf, -math.inf, 1 << 53, -(1 << 53), 1 << 1000, "\ud800"])
)
KEYS = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=4), max_leaves=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(KEYS, max_size=4)
        | st.frozensets(KEYS, max_size=4)
    ),
    max_leaves=20,
)


class _Sly(int):
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class _Text(str):
    __slots__ = ()


class _List(list[Any]):
    pass


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@given(VALUES)
def test_a_value_survives_the_way_through_a_line_of_json(value: Any) -> None:
    line = dumps(encode(value))
    back = decode(json.loads(line))
    # Types, order, signs of zero and NaN are all in the canonical text, unlike in `==`.
    assert canonical(back) == line


@given(VALUES)
def test_equal_containers_come_back_equal(value: Any) -> None:
    back = decode(json.loads(canonical(value)))
    assert type(back) is type(value)
    assert back == value or "nan" in repr(value)


@given(VALUES)
def test_a_line_is_ascii_without_breaks(value: Any) -> None:
    line = canonical(value)
    assert line.isascii()
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "null"),
        (True, "true"),
        (-7, "-7"),
        ((1 << 53) - 1, "9007199254740991"),
        (1 << 53, '{"int":"0x20000000000000"}'),
        (-(1 << 53), '{"int":"-0x20000000000000"}'),
        (1.0, "1.0"),
        (-0.0, '{"float":"-0.0"}'),
        (math.nan, '{"float":"nan"}'),
        (-math.inf, '{"float":"-inf"}'),
        ("é\n", '"\\u00e9\\n"'),
        ([1, [2]], "[1,[2]]"),
        ((), '{"tuple":[]}'),
        ({3, 1, 2}, '{"set":[1,2,3]}'),
        (frozenset({"b", "a"}), '{"frozenset":["a","b"]}'),
        ({"a": 1, 2: ()}, '{"dict":[["a",1],[2,{"tuple":[]}]]}'),
        (b"\x00\xff", '{"bytes":"00ff"}'),
        (complex(1, -0.0), '{"complex":[1.0,{"float":"-0.0"}]}'),
    ],
)
def test_each_type_has_its_one_spelling(value: Any, line: str) -> None:
    assert canonical(value) == line


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0.0, -0.0), ([1], (1,)), ({1}, frozenset({1})), ({1: 2, 3: 4}, {3: 4, 1: 2}), ("1", b"1")],
)
def test_values_that_can_be_told_apart_have_different_text(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    "value",
    [_Sly(3), _Text("a"), _List([1]), object(), len, int, range(3), [1, {"k": _Sly(1)}], bytearray(b"a"), (1).__add__],
    ids=lambda value: type(value).__name__,
)
def test_only_exact_built_in_types_leave_the_sandbox(value: Any) -> None:
    with pytest.raises(ValueCodecError, match="cannot leave the sandbox"):
        encode(value)


def test_a_refused_type_is_named() -> None:
    with pytest.raises(ValueCodecError, match=rf"^values of type {__name__}\._Sly cannot leave the sandbox$"):
        encode(_Sly(3))


def test_nesting_up_to_the_limit_passes_both_ways() -> None:
    value = _nested(MAX_DEPTH)
    assert decode(encode(value)) == value


def test_nesting_beyond_the_limit_is_refused_both_ways() -> None:
    with pytest.raises(ValueCodecError, match=f"deeper than {MAX_DEPTH} levels"):
        encode(_nested(MAX_DEPTH + 1))
    with pytest.raises(ValueCodecError, match=f"deeper than {MAX_DEPTH} levels"):
        decode(_nested(MAX_DEPTH + 1))


@pytest.mark.parametrize("width", [1, 3], ids=["thin", "bushy"])
def test_a_value_that_contains_itself_is_refused(width: int) -> None:
    endless: list[Any] = []
    endless += [endless] * width
    with pytest.raises(ValueCodecError, match=r"deeper than|more than"):
        encode(endless)
    mapping: dict[str, Any] = {}
    mapping["self"] = mapping
    with pytest.raises(ValueCodecError, match="deeper than"):
        encode(mapping)


def test_too_many_items_are_refused() -> None:
    assert len(encode([0] * (MAX_ITEMS - 1))) == MAX_ITEMS - 1  # type: ignore[arg-type]  # a list, as its test says
    with pytest.raises(ValueCodecError, match=f"more than {MAX_ITEMS} items"):
        encode([0] * MAX_ITEMS)


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_up_to_the_limit_pass_both_ways(sign: int) -> None:
    number = sign * ((1 << MAX_INT_BITS) - 1)
    assert decode(encode(number)) == number


@pytest.mark.parametrize("sign", [1, -1])
def test_too_large_integers_are_refused_both_ways(sign: int) -> None:
    number = sign << MAX_INT_BITS
    with pytest.raises(ValueCodecError, match=f"integer of {MAX_INT_BITS + 1} bits, at most {MAX_INT_BITS}"):
        encode(number)
    with pytest.raises(ValueCodecError, match=f"integer of {MAX_INT_BITS + 1} bits"):
        decode({"int": hex(number)})


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "Infinity",
        "1e999",
        "-0.0",
        "9007199254740992",
        "{}",
        '{"a":1,"b":2}',
        '{"tuple":[],"set":[]}',
        '{"object":[]}',
        '{"int":5}',
        '{"int":"5"}',
        '{"int":"0x5"}',
        '{"int":"0xzz"}',
        '{"int":"0X20000000000000"}',
        '{"int":[]}',
        '{"float":"1.5"}',
        '{"float":"NaN"}',
        '{"float":"infinity"}',
        '{"float":null}',
        '{"tuple":"abc"}',
        '{"tuple":5}',
        '{"tuple":{"a":1}}',
        '{"set":[[1]]}',
        '{"set":[2,1]}',
        '{"set":[1,1]}',
        '{"set":[1,true]}',
        '{"frozenset":[{"dict":[]}]}',
        '{"dict":[[1,2],[1,3]]}',
        '{"dict":[[1,2],[true,3]]}',
        '{"dict":[[[],1]]}',
        '{"dict":[[1,2,3]]}',
        '{"dict":[["ab"]]}',
        '{"dict":["ab"]}',
        '{"dict":5}',
        '{"bytes":"0"}',
        '{"bytes":"0A"}',
        '{"bytes":"0a 0b"}',
        '{"bytes":[1]}',
        '{"complex":[1]}',
        '{"complex":[1,2]}',
        '{"complex":[1.0,2.0,3.0]}',
        '{"complex":{"a":1}}',
        '{"complex":"ab"}',
        '{"complex":[{"int":"0x1' + "0" * 300 + '"},0.0]}',
        '[1,{"set":[{"tuple":[[]]}]}]',
    ],
)
def test_json_that_was_never_written_is_refused(text: str) -> None:
    with pytest.raises(ValueCodecError):
        decode(json.loads(text))


@pytest.mark.parametrize("value", [(1, 2), {1, 2}, b"a", object(), {1: 2}], ids=lambda value: type(value).__name__)
def test_python_values_are_not_tagged_json(value: Any) -> None:
    with pytest.raises(ValueCodecError):
        decode(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["int", "float", "tuple", "set", "frozenset", "dict", "bytes", "complex", "x"]),
                inner,
                max_size=2,
            )
        ),
        max_leaves=8,
    )
)
def test_any_json_is_either_refused_or_is_what_encode_writes(tagged: Any) -> None:
    try:
        value = decode(tagged)
    except ValueCodecError:
        return
    assert dumps(encode(value)) == dumps(tagged)


@pytest.mark.parametrize("tagged", [{"x" * 10_000: 1}, {"float": "x" * 10_000}, {"int": "x" * 10_000}])
def test_an_error_does_not_quote_a_huge_value(tagged: Any) -> None:
    with pytest.raises(ValueCodecError) as caught:
        decode(tagged)
    assert len(str(caught.value)) < 200


def test_a_line_of_json_has_no_spelling_for_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(math.nan)


class _Loose(int):
    pass


class _Meta(type):
    def __getattribute__(cls, name: str) -> object:
        raise RuntimeError("nobody may ask me")


class _Guarded(metaclass=_Meta):
    __module__ = 3  # type: ignore[assignment]


@pytest.mark.parametrize("value", [iter([1]), (n for n in [1]), map(abs, [1]), range(3), lambda: 0, object()])
def test_what_equals_nothing_that_can_be_carried_is_told_apart(value: object) -> None:
    with pytest.raises(IncomparableValueError):
        encode([value])


def test_a_metaclass_that_answers_nothing_is_read_past() -> None:
    caught = None
    try:
        encode(_Guarded())
    except IncomparableValueError as error:
        caught = str(error)
    assert caught == "values of type _Guarded cannot leave the sandbox"


@pytest.mark.parametrize("value", [Fraction(1, 2), _Loose(3), {}.keys()])
def test_what_may_equal_something_is_only_refused(value: object) -> None:
    with pytest.raises(ValueCodecError) as caught:
        encode(value)
    assert not isinstance(caught.value, IncomparableValueError)
