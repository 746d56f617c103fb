"""Markup lets no text out of its place."""

from __future__ import annotations

import pytest

from armillary.reason.markup import Markup, join, tag, text


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("a < b & c", "a &lt; b &amp; c"),
        ("</script><img src=x onerror='f()'>", "&lt;/script&gt;&lt;img src=x onerror=&#x27;f()&#x27;&gt;"),
        ("one\n\ttwo", "one\n\ttwo"),
        ("a\u202eb", 'a<span class="escape">\\u202e</span>b'),
        ("\x1b[0m", '<span class="escape">\\x1b</span>[0m'),
        ("\ud800", '<span class="escape">\\ud800</span>'),
        ("a\u200bb", 'a<span class="escape">\\u200b</span>b'),
        ("שלום", "שלום"),
    ],
)
def test_text_is_escaped_and_what_does_not_print_is_shown(value: str, source: str) -> None:
    assert text(value).source == source


def test_attributes_cannot_be_closed_from_inside() -> None:
    element = tag("a", "x", href='#"><b>', class_="one\ntwo")
    assert element.source == '<a href="#&quot;&gt;&lt;b&gt;" class="one\\ntwo">x</a>'


def test_names_of_attributes_lose_their_underscores() -> None:
    assert tag("rect", stroke_width="1").source == '<rect stroke-width="1"></rect>'


def test_elements_without_content_are_closed_at_once() -> None:
    assert tag("meta", charset="utf-8").source == '<meta charset="utf-8" />'


def test_markup_stands_as_it_is_and_text_beside_it_does_not() -> None:
    assert join(Markup("<b>x</b>"), "<i>").source == "<b>x</b>&lt;i&gt;"
