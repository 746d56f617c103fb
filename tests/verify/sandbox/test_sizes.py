from __future__ import annotations

import json
import tracemalloc
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest

from armillary.core.errors import ValueCodecError
from armillary.core.values import MAX_INT_BITS, encode
from armillary.verify.sandbox.sizes import (
    MAX_LINE_BYTES,
    MAX_RESULT_BYTES,
    MAX_RUN_MEMORY_BYTES,
    MAX_VALUE_MEMORY_BYTES,
    TOO_LARGE,
    Room,
    checked_memory_bytes,
    memory_bytes,
    refuse_too_large,
)

HONEST: dict[str, Any] = {
    "ten_thousand_ints": list(range(10_000)),
    "a_set_of_ten_thousand_ints": set(range(10_000)),
    "a_table_of_two_thousand": {str(number): number for number in range(2_000)},
    "two_thousand_pairs": [(number, number + 1) for number in range(2_000)],
    "a_long_text": "x" * 100_000,
    "a_long_text_of_another_script": "漢" * 80_000,
    "long_bytes": bytes(100_000),
    "the_largest_int": 2**MAX_INT_BITS - 1,
    "a_big_int": 3**12_000,
    "a_matrix": [[float(number) for number in range(100)] for _ in range(100)],
}
UNITS: dict[str, Any] = {
    "numbers": 0.5,
    "empty_lists": [],
    "lists_in_lists": [[]],
    "lists_of_one": [1],
    "tuples": (),
    "sets": frozenset(),
    "tables": {},
    "tables_of_one": {1: 2},
    "texts": "ab",
    "big_ints": 2**60,
    "complex_numbers": 1j,
}
CONTAINERS = (list, tuple, set, frozenset, Counter, dict.fromkeys, OrderedDict.fromkeys)


@pytest.mark.parametrize("name", HONEST)
def test_what_an_honest_program_returns_is_small_enough(name: str) -> None:
    refuse_too_large(HONEST[name])
    assert checked_memory_bytes(encode(HONEST[name])) <= MAX_VALUE_MEMORY_BYTES
    assert len(json.dumps(encode(HONEST[name]))) < MAX_LINE_BYTES


@pytest.mark.parametrize("name", UNITS)
def test_a_value_takes_no_more_memory_than_is_counted(name: str) -> None:
    tagged = encode([UNITS[name]] * 2_000)
    text = json.dumps(tagged)
    tracemalloc.start()
    try:
        value = json.loads(text)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert value == tagged
    assert 0.3 * memory_bytes(tagged) < taken < 1.2 * memory_bytes(tagged)


def test_a_text_counts_by_its_widest_character() -> None:
    assert memory_bytes("é" * 1000) - memory_bytes("e" * 1000) == 3000


@pytest.mark.parametrize("make", CONTAINERS)
def test_a_container_of_too_many_items_is_refused_before_it_is_encoded(make: Any) -> None:
    refuse_too_large(make(range(10_000)))
    with pytest.raises(ValueCodecError, match="too large to be judged"):
        refuse_too_large(make(range(100_000)))


def test_items_count_wherever_they_stand() -> None:
    inner = list(range(5_000))
    nested = defaultdict(list, {1: [inner, (inner, inner)], 2: [{3: inner}, [inner]]})
    with pytest.raises(ValueCodecError, match="too large to be judged"):
        refuse_too_large(nested)


@pytest.mark.parametrize("value", ["x" * (2 << 20), [b"x" * (2 << 20)]])
def test_a_text_that_is_too_long_is_refused_before_it_is_encoded(value: object) -> None:
    with pytest.raises(ValueCodecError) as caught:
        refuse_too_large(value)
    assert str(caught.value) == TOO_LARGE


def test_a_list_that_holds_itself_is_refused_in_the_end() -> None:
    endless: list[object] = []
    endless += [endless, endless]
    with pytest.raises(ValueCodecError, match="too large to be judged"):
        refuse_too_large(endless)


def test_a_value_whose_form_takes_more_than_its_items_is_refused() -> None:
    value = [(number, number) for number in range(4_000)]
    refuse_too_large(value)
    with pytest.raises(ValueCodecError, match="too large to be judged"):
        checked_memory_bytes(encode(value))


@pytest.mark.parametrize(
    ("text_bytes", "value_memory_bytes"), [(MAX_LINE_BYTES, 0), (100, MAX_VALUE_MEMORY_BYTES)], ids=["text", "memory"]
)
def test_while_there_is_room_the_largest_value_still_fits(text_bytes: int, value_memory_bytes: int) -> None:
    room, num_lines = Room(), 0
    while not room.is_spent:
        room.take(text_bytes, value_memory_bytes)
        num_lines += 1
    assert num_lines >= 7
    assert num_lines * text_bytes < MAX_RESULT_BYTES
    assert num_lines * value_memory_bytes <= MAX_RUN_MEMORY_BYTES
