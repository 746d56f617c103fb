from __future__ import annotations

import math
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.core.tasks import Example, Parameter, TaskSpec
from armillary.core.values import MAX_INT_BITS, canonical
from armillary.verify.domains import contains, parse_domain
from armillary.verify.generate import (
    INPUTS_PER_LARGE_ONE,
    MAX_INPUT_SIZE,
    can_generate,
    generate_inputs,
    is_large,
)
from armillary.verify.generate_values import Scope, edge_values, random_value
from armillary.verify.mutate import mutate

DOMAINS = [
    "int", "int | 3..5", "int | >= 7", "int | <= -2", "float", "float | 0.5..0.75", "bool", "str",
    "str | chars 'xy' | len<=3", "bytes | len<=2", "complex", "None", "list[int] | len 2..4", "list[list[str]]",
    "tuple[int, str]", "tuple[int, ...]", "dict[str, int]", "set[int] | len<=2", "frozenset[str]", "int | None",
    "Literal['a', 3]", "Any", "Node", "set[list[int]]", "dict[list[int], int]", "list[None] | len>=9", "tuple[()]",
]  # fmt: skip


def task(*annotations: str, examples: tuple[Example, ...] = ()) -> TaskSpec:
    return TaskSpec("p", "f", tuple(Parameter(f"p{i}", text) for i, text in enumerate(annotations)), examples=examples)


@pytest.mark.parametrize("text", DOMAINS)
def test_edge_values_lie_in_the_domain_and_come_once(text: str) -> None:
    domain = parse_domain(text)
    values = edge_values(domain)
    assert all(contains(domain, value) for value in values)
    assert len({canonical(value) for value in values}) == len(values)


@pytest.mark.parametrize("text", DOMAINS)
def test_random_values_have_the_type_and_the_bounds(text: str) -> None:
    domain = parse_domain(text)
    source = random.Random(1)
    made = [random_value(domain, source, Scope(size)) for size in range(1, 14) for _ in range(3)]
    # Sets may come out shorter than asked for where items repeat or cannot be hashed.
    assert sum(contains(domain, value) for value in made) >= len(made) // 2


def test_the_same_seed_gives_the_same_inputs() -> None:
    spec = task("list[int]", "str", "dict[str, set[int]]")
    assert list(map(canonical, generate_inputs(spec, count=80, seed=3))) == list(
        map(canonical, generate_inputs(spec, count=80, seed=3))
    )
    assert generate_inputs(spec, count=80, seed=3) != generate_inputs(spec, count=80, seed=4)


def test_small_edge_values_come_first() -> None:
    assert generate_inputs(task("int"), count=3, seed=0) == [(0,), (1,), (-1,)]
    assert generate_inputs(task("list[int]"), count=1, seed=0) == [([],)]


def test_inputs_are_all_different() -> None:
    made = generate_inputs(task("list[int]"), count=200, seed=0)
    assert len({canonical(item) for item in made}) == 200


def test_a_small_domain_gives_fewer_inputs_than_asked_for() -> None:
    assert sorted(generate_inputs(task("bool"), count=50, seed=0)) == [(False,), (True,)]
    assert generate_inputs(TaskSpec("p", "f"), count=50, seed=0) == [()]


def test_examples_and_their_neighbours_are_inputs() -> None:
    made = generate_inputs(task("", examples=(Example(({"kind": "cat", "age": 3},)),)), count=60, seed=0)
    assert made[0] == ({"kind": "cat", "age": 3},)
    assert sum(set(item[0]) == {"kind", "age"} for item in made) > 5


def test_an_example_is_tried_with_one_argument_at_its_edge() -> None:
    task = TaskSpec("", "f", (Parameter("x", "int"), Parameter("word", "str")), examples=(Example((8, "ab"), 1),))
    first = generate_inputs(task, count=20, seed=0)[:5]
    assert {(0, "ab"), (8, "")} <= set(first)


def test_inputs_keep_the_bounds_even_where_examples_do_not() -> None:
    spec = TaskSpec("p", "f", (Parameter("x", "int", "0..5"),), examples=(Example((9,)),))
    assert {item[0] for item in generate_inputs(spec, count=50, seed=0)} == set(range(6))


def test_a_parameter_without_any_hint_cannot_be_generated_honestly() -> None:
    assert not can_generate(task(""))
    assert can_generate(task("", examples=(Example((1,)),)))
    assert len(generate_inputs(task(""), count=5, seed=0)) == 5


MUTABLE = [
    True,
    3,
    2.5,
    "abc",
    "",
    [1, 2],
    [],
    (1, "a"),
    (),
    {"k": 1},
    {},
    {1, 2},
    frozenset({1}),
    None,
    b"x",
    math.inf,
]


@pytest.mark.parametrize("value", MUTABLE, ids=repr)
def test_a_mutated_value_keeps_its_type(value: object) -> None:
    source = random.Random(0)
    assert {type(mutate(value, source)) for _ in range(40)} == {type(value)}


def test_inputs_keep_to_a_declared_alphabet_beside_examples() -> None:
    spec = TaskSpec(
        "p", "parse", (Parameter("s", "str", "str | chars '01' | len 1..8"),), examples=(Example(("0101",), 5),)
    )
    made = [item[0] for item in generate_inputs(spec, count=100, seed=0)]
    assert len(made) == 100
    assert all(1 <= len(text) <= 8 and set(text) <= {"0", "1"} for text in made)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("str | chars '01'", "0101"),
        ("list[str | chars '01']", ["01", "1"]),
        ("tuple[str | chars '01', ...]", ("01", "1")),
        ("tuple[str | chars '01', int]", ("01", 3)),
        ("dict[int, str | chars '01']", {3: "01"}),
        ("frozenset[str | chars '01']", frozenset({"01", "1"})),
        ("str | chars '01' | None", "01"),
    ],
)
def test_a_mutated_value_keeps_to_a_declared_alphabet(text: str, value: object) -> None:
    source, domain = random.Random(0), parse_domain(text)
    assert all(contains(domain, mutate(value, source, domain)) for _ in range(60))


@pytest.mark.parametrize("text", ["int | None", "tuple[int]", "int"])
def test_a_value_outside_a_domain_is_still_mutated(text: str) -> None:
    source, domain = random.Random(0), parse_domain(text)
    assert any(mutate(("ab", 1), source, domain) != ("ab", 1) for _ in range(9))


@settings(max_examples=40, deadline=None)
@given(st.integers(), st.sampled_from(DOMAINS))
def test_generated_inputs_always_lie_in_the_domain(seed: int, text: str) -> None:
    domain = parse_domain(text)
    assert all(contains(domain, item[0]) for item in generate_inputs(task(text), count=8, seed=seed))


@pytest.mark.parametrize(
    "text",
    [
        "str | len==10000",
        "list[list[list[int]]] | len==10000",
        "list[list[list[int] | len<=50] | len<=50] | len<=50",
        "list[" * 20 + "int" + "]" * 20,
        "dict[int, " * 20 + "int" + "]" * 20,
    ],
)
def test_large_domains_are_tried_within_bounds(text: str) -> None:
    made = generate_inputs(task(text), count=20, seed=0)
    assert made
    assert all(len(canonical(item)) < 20 * MAX_INPUT_SIZE for item in made)


def test_a_domain_that_holds_nothing_is_given_up_soon() -> None:
    assert generate_inputs(task("set[bool] | len==10000"), count=1600, seed=0) == []


def test_examples_too_large_for_an_input_are_left_out() -> None:
    long, huge = "a" * (MAX_INPUT_SIZE + 1), 1 << MAX_INT_BITS
    assert all(
        len(item[0]) < 9 for item in generate_inputs(task("list", examples=(Example(([long],), 1),)), count=9, seed=0)
    )
    made = generate_inputs(task("int", examples=(Example((huge,), 1),)), count=20, seed=0)
    assert made
    assert all(item[0].bit_length() <= MAX_INT_BITS for item in made)


def texts(text: str, *, seed: int = 0, count: int = 400) -> list[str]:
    return [item[0] for item in generate_inputs(task(text), count=count, seed=seed)]


@pytest.mark.parametrize("seed", range(3))
def test_about_one_text_in_six_holds_more_than_printable_ascii(seed: int) -> None:
    made = texts("str", seed=seed)
    unusual = [text for text in made if not all(" " <= char <= "~" for char in text)]
    assert 0.08 < len(unusual) / len(made) < 0.25


def test_no_text_holds_half_of_a_surrogate_pair() -> None:
    made = texts("str", count=2000)
    assert any(ord(char) > 0xFFFF for text in made for char in text)
    assert all(not 0xD800 <= ord(char) <= 0xDFFF for text in made for char in text)


def test_some_inputs_are_long_and_most_are_short() -> None:
    for text in ("str", "list[int]", "set[int]", "list[list[int]]", "bytes", "tuple[int, ...]"):
        lengths = [len(item[0]) for item in generate_inputs(task(text), count=200, seed=0)]
        assert max(lengths) >= 20, text
        assert sum(length > 14 for length in lengths) < 20, text


def test_long_inputs_keep_a_declared_length() -> None:
    assert max(map(len, texts("str | len<=40"))) > 25
    assert {len(text) for text in texts("str | len 2..6")} == {2, 3, 4, 5, 6}


def test_integers_reach_beyond_what_a_float_holds_unless_they_are_bounded() -> None:
    made = [item[0] for item in generate_inputs(task("int"), count=200, seed=0)]
    assert max(made) > 2**53
    assert min(made) < -(2**53)
    assert sum(abs(number) <= 1000 for number in made) > 120
    half = [item[0] for item in generate_inputs(task("int | >= 7"), count=200, seed=0)]
    assert max(half) > 2**53
    assert min(half) == 7


def test_inputs_grow_to_their_full_size_though_many_are_made_for_a_requirement_to_choose_from() -> None:
    made = generate_inputs(task("list[int]"), count=1600, seed=0)[:200]
    assert sum(len(item[0]) > 8 for item in made) > 15


def test_related_parameters_are_made_from_each_other() -> None:
    pairs = generate_inputs(task("str", "str"), count=200, seed=0)
    assert sum(len(left) > 3 and sorted(left) == sorted(right) for left, right in pairs) > 10
    needles = generate_inputs(task("list[str]", "str"), count=200, seed=0)
    assert sum(text in items for items, text in needles) > 20


@pytest.mark.parametrize("value", [[1, 2, 3], "abc"])
def test_a_mutation_may_drop_add_swap_change_or_repeat_items(value: list[int] | str) -> None:
    source = random.Random(0)
    made = [mutate(value, source) for _ in range(200)]
    assert {len(item) for item in made} >= {2, 3, 4, 6}
    assert value[::-1] in made


def test_digits_brackets_punctuation_and_line_breaks_all_occur() -> None:
    made = set("".join(texts("str | len<=9")))
    assert made >= set("0123456789-+.,:()[]{}<> \n\t")


@pytest.mark.parametrize(("annotation", "returns"), [("list[int]", ""), ("dict[int, int]", ""), ("int", "float")])
def test_integers_stay_exact_as_floats_where_a_right_answer_may_be_a_float(annotation: str, returns: str) -> None:
    spec = TaskSpec("p", "f", (Parameter("x", annotation),), returns=returns)
    made = "".join(canonical(item) for item in generate_inputs(spec, count=200, seed=0))
    numbers = [abs(int(digits)) for digits in re.findall(r"-?\d+", made)]
    assert 2**40 < max(numbers) < 2**47


@pytest.mark.parametrize(
    ("arguments", "is_one"),
    [
        ((10_000, "short", [1, 2]), False),
        ((10_001,), True),
        (([{"a": (-20_000,)}],), True),
        (([0] * 21,), True),
        (({1: 2}, {3}, frozenset({4})), False),
    ],
)
def test_large_inputs_are_those_that_a_right_program_may_take_long_for(
    arguments: tuple[object, ...], is_one: bool
) -> None:
    assert is_large(arguments) is is_one


def test_large_inputs_are_few_and_come_last() -> None:
    task = TaskSpec("p", "f", parameters=(Parameter("n", "int"),))
    found = [is_large(item) for item in generate_inputs(task, count=200, seed=0)]
    assert found == sorted(found)
    assert 1 <= sum(found) <= 200 // INPUTS_PER_LARGE_ONE
