from __future__ import annotations

import math

import pytest

from armillary.verify.rendering import MAX_RENDERED_CHARS, render, render_call, render_tagged, shorten, steady, visible


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, "a"], "[1, 'a']"),
        ((1,), "(1,)"),
        ((), "()"),
        ({"k": (1, 2)}, "{'k': (1, 2)}"),
        ({3, 1, 2}, "{1, 2, 3}"),
        (set(), "set()"),
        (frozenset(), "frozenset()"),
        (frozenset({"b", "a"}), "frozenset({'a', 'b'})"),
        (b"x", "b'x'"),
        (None, "None"),
        (True, "True"),
        (-0.0, "-0.0"),
        (math.inf, "float('inf')"),
        (1 << 60, str(1 << 60)),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_values_are_shown_as_python_source(value: object, text: str) -> None:
    assert render(value) == text


def test_an_integer_too_long_for_decimal_digits_is_shown_in_hex() -> None:
    assert render(1 << 5000).startswith("0x1000")


def test_a_call_shows_its_arguments() -> None:
    assert render_call("f", ([1], "x")) == "f([1], 'x')"


def test_very_long_text_is_cut() -> None:
    assert len(render_call("f", ("x" * 9000,))) == MAX_RENDERED_CHARS
    assert shorten("abcdef", 5) == "ab..."


def test_a_forged_value_is_named_as_such() -> None:
    assert render_tagged({"odd": 1}) == "a malformed value"


def test_an_error_message_keeps_one_line_and_no_address() -> None:
    assert steady("\n <f at 0x7f0012345678> is bad\nmore") == "<f at 0x...> is bad"
    assert steady("  ") == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07 é→", r"\x1b]0;owned\x07 é→"),
        ("a\tb\rc\x7f\x9b2J", r"a\tb\rc\x7f\x9b2J"),
        ("\u202eabc\ud800", r"\u202eabc\ud800"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_an_error_message_cannot_rule_the_terminal() -> None:
    assert steady("bad \x1b]0;owned\x07") == r"bad \x1b]0;owned\x07"
