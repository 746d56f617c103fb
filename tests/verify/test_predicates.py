from __future__ import annotations

from typing import Any

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.verify.predicates import (
    check_predicate,
    check_predicates,
    contract_source,
    equality_sides,
    law_source,
)

NAMES = ("xs", "n", "result")


@pytest.mark.parametrize(
    "text",
    [
        "n > 0",
        "all(x in xs for x in result)",
        "result == sorted(xs, key=abs)[::-1]",
        "len({x: 1 for x in xs}) == n",
        "xs.count(n) if n else [*xs]",
        "math.isclose(n, 1)",
        "n > 0  # positive",
        "(0 <= n <\n 3)",
        "sorted(result) == [y for x in xs for y in (x, -x)]",
    ],
)
def test_an_expression_over_known_names_is_allowed(text: str) -> None:
    check_predicate(text, NAMES, field="ensures[0]")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("n >", "no Python expression"),
        ("n = 1", "no Python expression"),
        ("import os", "no Python expression"),
        ("m > 0", "reads 'm'"),
        ("sorte(xs)", "did you mean 'sorted'"),
        ("xs.__class__", "uses .__class__"),
        ("xs._x", "uses ._x"),
        ("'{0.__class__}'.format(n)", "uses .format"),
        ("__import__('os')", "uses __import__"),
        ("(lambda: 1)()", "uses Lambda"),
        ("(n := 1)", "uses NamedExpr"),
        ("f'{n}'", "uses JoinedStr"),
        ("eval('1')", "reads 'eval'"),
        ("open('x')", "reads 'open'"),
        ("n > 0) or (n < 1", "no Python expression"),
    ],
)
def test_anything_more_is_refused_by_name(text: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem.replace(".", r"\.").replace("(", r"\(")) as caught:
        check_predicate(text, NAMES, field="ensures[0]", line=7)
    assert (caught.value.field, caught.value.line) == ("ensures[0]", 7)


def task(**fields: object) -> TaskSpec:
    return TaskSpec("p", "f", parameters=(Parameter("xs"), Parameter("n")), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"requires": (Predicate("result"),)}, "requires[0]"),
        ({"ensures": (Predicate("n"), Predicate("f(n)"))}, "ensures[1]"),
        ({"laws": (Predicate("g(n)"),)}, "laws[0]"),
        ({"raises": (("ValueError", "m"),)}, "raises.ValueError"),
        ({"temporal": (Predicate("steps < n"), Predicate("result < 3"))}, "temporal[1]"),
        ({"raises": (("Value Error", "n"),)}, "raises.Value Error"),
    ],
)
def test_each_kind_of_predicate_reads_its_own_names(fields: dict[str, object], field: str) -> None:
    with pytest.raises(TaskFormatError) as caught:
        check_predicates(task(**fields))
    assert caught.value.field == field


def test_a_parameter_named_result_cannot_have_ensures() -> None:
    odd = TaskSpec("p", "f", parameters=(Parameter("result"),), ensures=(Predicate("result"),))
    with pytest.raises(TaskFormatError, match="result"):
        check_predicates(odd)


def test_a_parameter_named_steps_cannot_have_temporal_bounds() -> None:
    odd = TaskSpec("p", "f", parameters=(Parameter("steps"),), temporal=(Predicate("steps < 9"),))
    with pytest.raises(TaskFormatError, match="steps"):
        check_predicates(odd)


def test_a_contract_is_a_program_of_named_functions() -> None:
    found: dict[str, object] = {}
    text = contract_source(
        task(
            requires=(Predicate("n > 0  # remark"),),
            ensures=(Predicate("(result ==\n n)"),),
            raises=(("ValueError", "n == 3"),),
            temporal=(Predicate("steps <= n * len(xs)"),),
        )
    )
    exec(text, found)
    assert found["temporal_0"]([1], 2, 3) is False  # type: ignore[operator]
    assert found["requires_0"]([], 1) is True  # type: ignore[operator]
    assert found["ensures_0"]([], 1, 2) is False  # type: ignore[operator]
    assert found["raises_0"]([], 3) is True  # type: ignore[operator]


def test_a_law_asks_for_an_answer_until_it_has_its_value() -> None:
    found: dict[str, Any] = {}
    exec(law_source(task(laws=(Predicate("f(xs, n) == n"), Predicate("f(f(xs, 1), n=n) > n")))), found)
    assert found["armillary_law_0_left"]([], [], 1) == ("question", ([], 1))
    assert found["armillary_law_0_left"]([2], [], 1) == ("value", 2)
    assert found["armillary_law_0_right"]([], [], 1) == ("value", 1)
    assert found["armillary_law_1"]([7], [], 1) == ("question", (7, 1))
    assert found["armillary_law_1"]([7, 8], [], 1) == ("value", True)


def test_a_law_that_names_an_unknown_parameter_fails_as_the_call_would() -> None:
    found: dict[str, Any] = {}
    exec(law_source(task(laws=(Predicate("f(xs, m=n) > n"),))), found)
    with pytest.raises(TypeError, match="no parameter 'm'"):
        found["armillary_law_0"]([], [], 1)


def test_only_a_single_equality_has_two_sides() -> None:
    assert equality_sides("f(x) == x + 1") == ("f(x)", "x + 1")
    assert equality_sides("a == b == c") is None
    assert equality_sides("a < b") is None
    assert equality_sides("f(x)") is None
