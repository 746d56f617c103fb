from __future__ import annotations

from typing import Any

import pytest

from armillary.core.forms import exactly, number, one_of


@pytest.mark.parametrize(("value", "kind"), [("a", str), (1, int), (True, bool), ([1], list), ((), tuple)])
def test_a_value_of_the_exact_type_passes(value: Any, kind: type) -> None:
    assert exactly(value, kind) is value


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [(True, int, "bool where int belongs"), (1, float, "int where float belongs"), (None, str, "NoneType where str")],
)
def test_a_value_of_another_type_is_refused(value: Any, kind: type, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        exactly(value, kind)


@pytest.mark.parametrize("value", [1, 1.5])
def test_integers_and_floats_are_numbers(value: float) -> None:
    assert number(value) is value


@pytest.mark.parametrize("value", [True, "1", None])
def test_nothing_else_is_a_number(value: Any) -> None:
    with pytest.raises(TypeError):
        number(value)


def test_a_choice_is_one_of_those_offered() -> None:
    assert one_of("hub", ("hub", "pypi")) == "hub"


@pytest.mark.parametrize("value", ["disk", 1, ["hub"], None])
def test_what_was_not_offered_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="none of hub, pypi"):
        one_of(value, ("hub", "pypi"))
