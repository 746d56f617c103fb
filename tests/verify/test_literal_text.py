from __future__ import annotations

import pytest

from armillary.verify.literal_text import closing_bracket, closing_quote, literal_prefix


def test_brackets_in_strings_do_not_close() -> None:
    assert closing_bracket("f('(', [1])x", 1) == 11


@pytest.mark.parametrize("text", ["(1", "(]", "('a", "(1" + " " * 5000 + ")"], ids=len)
def test_a_bracket_that_does_not_close_is_not_found(text: str) -> None:
    assert closing_bracket(text, 0) == -1


def test_an_escaped_quote_does_not_end_a_string() -> None:
    assert closing_quote(r"'a\'b' c", 0) == 6
    assert closing_quote("'a\nb'", 0) == -1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5 apples", 5),
        ("2.", 2),
        ("-2.5.", -2.5),
        ("[1, 2] yes", [1, 2]),
        ("'a' b", "a"),
        ("True.", True),
        ("(1, 2)", (1, 2)),
        ("set()", set()),
    ],
)
def test_the_literal_at_the_start_is_read(text: str, value: object) -> None:
    found = literal_prefix(text, 0)
    assert found is not None
    assert found[0] == value


@pytest.mark.parametrize("text", ["", "x", "3rd", "('Venus')", "[1, x]", "'open", "[1", "1.2.3"])
def test_what_is_not_surely_a_literal_is_left(text: str) -> None:
    assert literal_prefix(text, 0) is None
