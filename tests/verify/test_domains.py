from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.core.tasks import Example, Parameter, TaskSpec
from armillary.verify.domains import (
    UNKNOWN,
    Domain,
    accepts,
    contains,
    has_unknown,
    infer,
    least_size,
    parameter_domains,
    parse_domain,
    refine,
    split_outside_brackets,
)
from armillary.verify.source import SourceError

INT, STR, ANY = Domain("int"), Domain("str"), Domain("any")


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("int", INT),
        ("'int'", INT),
        ("List[int]", Domain("list", (INT,))),
        ("typing.Dict[str, int]", Domain("dict", (STR, INT))),
        ("list", Domain("list", (ANY,))),
        ("dict", Domain("dict", (ANY, ANY))),
        ("tuple[int, str]", Domain("tuple", (INT, STR))),
        ("tuple[int, ...]", Domain("tuple", (INT,), is_variadic=True)),
        ("tuple", Domain("tuple", (ANY,), is_variadic=True)),
        ("tuple[()]", Domain("tuple")),
        ("Optional[int]", Domain("union", (INT, Domain("none")))),
        ("Union[int, str]", Domain("union", (INT, STR))),
        ("int | None", Domain("union", (INT, Domain("none")))),
        ("Literal['a', 2]", Domain("choice", choices=("a", 2))),
        ("int | 0..100", Domain("int", low=0, high=100)),
        ("int | 0..", Domain("int", low=0)),
        ("int | > 0.5 | < 9.5", Domain("int", low=1, high=9)),
        ("int | 0.5..1e1", Domain("int", low=1, high=10)),
        ("int | 2.. | ..7", Domain("int", low=2, high=7)),
        ("int | > 0 | <= 9", Domain("int", low=1, high=9)),
        ("int | >= 2 | < 5", Domain("int", low=2, high=4)),
        ("float | 0.5..1e3", Domain("float", low=0.5, high=1000.0)),
        ("list[int | 0..9] | len<=5", Domain("list", (Domain("int", low=0, high=9),), max_length=5)),
        ("str | len 1..3 | chars 'ab|'", Domain("str", min_length=1, max_length=3, alphabet="ab|")),
        ("str | len>1", Domain("str", min_length=2)),
        ("str | len<4 | len>=1", Domain("str", min_length=1, max_length=3)),
        ("Optional[int] | 0..9", Domain("union", (Domain("int", low=0, high=9), Domain("none")))),
        ("set[int] | len==2", Domain("set", (INT,), min_length=2, max_length=2)),
        ("int | list[int] | len<=2", Domain("union", (INT, Domain("list", (INT,), max_length=2)))),
        ("Node", UNKNOWN),
        ("Union", UNKNOWN),
    ],
)
def test_a_type_with_bounds_is_read(text: str, domain: Domain) -> None:
    assert parse_domain(text) == domain


def test_an_open_exclusive_bound_of_a_float_is_almost_the_number() -> None:
    assert not contains(parse_domain("float | > 0"), 0.0)
    assert contains(parse_domain("float | > 0"), 0.001)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int |",
        "list[int",
        "'int",
        "int | len<=3",
        "bool | 0..3",
        "str | 0..3",
        "str | chars ''",
        "list[" * 40 + "int" + "]" * 40,
        "int | 0..1e400",
        f"int | 0..1{'0' * 400}",
        f"int | 0..{'9' * 5000}",
        "int | 9..1",
        "int | > 3 | < 4",
        "str | len>=1000000000",
        "str | len 20000000..20000001",
        "list[str | len>=200] | len>=200",
        "str | len 5..2",
        "list[int] | len>3 | len<3",
        "str | chars 'a', 'b'",
        "int | chars 'a'",
        "dict[int]",
        "a b",
        "Literal",
        "1..2",
        "[int]",
        "int | none | len<=3",
    ],
)
def test_what_is_no_type_with_bounds_is_refused(text: str) -> None:
    with pytest.raises(SourceError):
        parse_domain(text)


def test_splitting_respects_brackets_and_quotes() -> None:
    assert split_outside_brackets("a[b, c], '(,', {d: 1}", ",") == ["a[b, c]", "'(,'", "{d: 1}"]


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        ("int | 0..9", 3, 10),
        ("int", 3, True),
        ("float | >= 0", 3, -0.5),
        ("bool", True, 1),
        ("str | len<=2", "ab", "abc"),
        ("str | chars '01'", "0101", "a"),
        ("list[str | chars 'ab']", ["ab", ""], ["ab", "c"]),
        ("bytes | len>=1", b"a", b""),
        ("list[int]", [1], [1, "a"]),
        ("dict[str, int]", {"a": 1}, {"a": "b"}),
        ("tuple[int, str]", (1, "a"), (1, "a", 2)),
        ("tuple[int, ...]", (1, 2), (1, "a")),
        ("set[int]", {1}, {"a"}),
        ("frozenset[int]", frozenset({1}), {1}),
        ("Optional[int]", None, "a"),
        ("Literal[1, 'a']", 1, True),
        ("None", None, 0),
    ],
)
def test_a_domain_tells_inside_from_outside(domain: str, inside: object, outside: object) -> None:
    assert contains(parse_domain(domain), inside)
    assert not contains(parse_domain(domain), outside)


def test_anything_is_in_an_open_domain() -> None:
    assert contains(UNKNOWN, object())
    assert contains(ANY, [])


def test_examples_fill_what_a_type_leaves_open() -> None:
    assert refine(parse_domain("list"), [[1], [2]]) == Domain("list", (INT,))
    assert refine(parse_domain("tuple"), [(1, 2)]) == Domain("tuple", (INT,), is_variadic=True)
    assert refine(parse_domain("dict"), [{"b": 1}, 3]) == Domain("dict", (Domain("str", seen="b"), INT))
    assert refine(parse_domain("tuple[str, int]"), [("a", 1), 3]) == Domain("tuple", (Domain("str", seen="a"), INT))
    assert refine(parse_domain("str | None"), ["ba", None]).items[0].seen == "ab"
    assert refine(parse_domain("set"), [{"a"}]) == Domain("set", (Domain("str", seen="a"),))
    assert refine(parse_domain("str | chars 'x'"), ["a"]).alphabet == "x"
    assert refine(UNKNOWN, []) == UNKNOWN


def test_characters_of_examples_do_not_bound_a_domain() -> None:
    assert contains(refine(parse_domain("str"), ["ab"]), "xyz")


def test_a_domain_is_inferred_from_values() -> None:
    assert infer([1, 2]) == INT
    assert infer([1, "a"]) == Domain("union", (INT, Domain("str", seen="a")))
    assert infer([(1, "a")]) == Domain("tuple", (INT, Domain("str", seen="a")))
    assert infer([(1,), (1, 2)]) == Domain("tuple", (INT,), is_variadic=True)
    assert infer([object()]) == UNKNOWN
    assert infer([]) == UNKNOWN


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.integers(), inner) | st.sets(st.integers())
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_an_inferred_domain_holds_every_value_it_was_inferred_from(values: list[object]) -> None:
    domain = infer(values)
    assert all(contains(domain, value) for value in values)


def test_parameters_take_types_bounds_and_examples_together() -> None:
    task = TaskSpec(
        "p",
        "f",
        parameters=(
            Parameter("a", "list"),
            Parameter("b", "int", "0..5"),
            Parameter("c", "", "len<=2"),
            Parameter("d", "Odd["),
            Parameter("e", "int", "str"),
        ),
        examples=(Example((["x"], 1)),),
    )
    a, b, c, d, e = parameter_domains(task)
    assert a.items[0].kind == "str"
    assert b == Domain("int", low=0, high=5)
    assert c == UNKNOWN
    assert d == UNKNOWN
    assert e == STR


def test_without_parameters_the_examples_show_how_many_there_are() -> None:
    assert parameter_domains(TaskSpec("p", "f", examples=(Example((1, "a")),)))[0] == INT
    assert parameter_domains(TaskSpec("p", "f")) == ()


def test_an_unknown_place_is_found_anywhere() -> None:
    assert has_unknown(parse_domain("list[Node]"))
    assert not has_unknown(parse_domain("list[int]"))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("int", 1),
        ("str | len>=7", 7),
        ("list[str | len>=7] | len>=3", 21),
        ("dict[str | len>=7, int] | len>=3", 24),
        ("tuple[int, str | len>=7]", 8),
        ("tuple[()]", 1),
        ("tuple[int, ...] | len>=4", 4),
        ("list[int] | len>=4 | None", 4),
    ],
)
def test_the_smallest_value_of_a_domain_has_a_size(text: str, size: int) -> None:
    assert least_size(parse_domain(text)) == size


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("int", "int | 5..9"),
        ("float", "int"),
        ("int", "bool"),
        ("int | None", "int"),
        ("int", "int | None"),
        ("int | str", "str"),
        ("list", "list[int]"),
        ("Node", "int"),
        ("Literal['a', 'b']", "str"),
        ("str", "Literal['a', 'b']"),
        ("tuple[int, ...]", "tuple[int, int]"),
        ("tuple[int, int]", "tuple[int, ...]"),
        ("dict[str, int]", "dict[str, bool]"),
    ],
)
def test_a_kind_accepts_what_may_stand_for_it(declared: str, given: str) -> None:
    assert accepts(parse_domain(declared), parse_domain(given))


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("int", "list[int]"),
        ("int", "float"),
        ("int | None", "str | bytes"),
        ("list[int]", "list[str]"),
        ("list[int]", "tuple[int, ...]"),
        ("Literal['a']", "int"),
        ("tuple[int, ...]", "tuple[int, str]"),
        ("tuple[int, str]", "tuple[int, ...]"),
        ("tuple[int]", "tuple[int, int]"),
    ],
)
def test_a_kind_does_not_accept_another(declared: str, given: str) -> None:
    assert not accepts(parse_domain(declared), parse_domain(given))
