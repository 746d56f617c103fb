"""Source and differences on a page."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

import pytest

from armillary.reason.markup import Markup
from armillary.reason.report_code import MAX_LINES, show_code, show_difference, show_text

CODE = '''@cache
def double(n: int) -> str:
    """Two
    lines."""
    return f"{n * 2}"  # done
'''
ODD_SOURCES = [
    "def f(:\n    return 'open",
    "x = (((1\n",
    "  indented\n wrong\n\tmixed",
    "a\0b",
    "\ud800 = 1",
    "a\rb\fc\x85d\u2028e",
    "def def class class",
    "'''empty\n\nline'''",
    "'''never closed\nat all",
    "",
    "\\",
    "é = 'שלום'  # \u202e",
    "0777 0x 1__0 $ ? !",
    "x = f'{y!r:>{width}} {{' f'''\n{z}\n'''",
]


def plain(markup: Markup) -> str:
    """The text that a reader sees."""
    return "".join(ElementTree.fromstring(markup.source).itertext())


def pieces(markup: Markup, kind: str) -> list[str]:
    return [html.unescape(piece) for piece in re.findall(rf'<span class="{kind}">([^<]*)</span>', markup.source)]


def test_tokens_are_coloured_by_what_they_are() -> None:
    shown = show_code(CODE)
    assert pieces(shown, "keyword") == ["def", "return"]
    assert pieces(shown, "name") == ["double"]
    assert pieces(shown, "builtin") == ["int", "str"]
    assert pieces(shown, "comment") == ["# done"]
    assert pieces(shown, "string")[:2] == ['"""Two', '    lines."""']


def test_the_text_of_the_code_is_unchanged() -> None:
    assert plain(show_code(CODE)) == CODE


@pytest.mark.parametrize("source", ODD_SOURCES)
def test_what_is_no_python_is_shown_all_the_same(source: str) -> None:
    visible = "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in source)
    assert plain(show_code(source)) == visible.removesuffix("\n") + "\n"


def test_a_long_line_is_cut_with_a_note() -> None:
    shown = plain(show_code("x = '" + "a" * 1_000_000 + "'\ny = 1\n"))
    assert len(shown) < 3_000
    assert "[998006 more characters left out]\ny = 1\n" in shown


def test_many_lines_are_cut_with_a_note() -> None:
    assert plain(show_text("x\n" * (MAX_LINES + 5))).endswith("x\n[5 more lines left out]\n")


def test_a_difference_marks_what_changed_inside_a_line() -> None:
    shown = show_difference("def f(n):\n    return n + 1\n", "def f(n):\n    return n + 22\n")
    assert "<mark>22</mark>" in shown.source
    assert plain(shown) == "@@ -1,2 +1,2 @@\n def f(n):\n-    return n + 1\n+    return n + 22\n"


def test_lines_that_only_came_or_went_are_not_paired() -> None:
    shown = show_difference("a\nb\nc\n", "a\nc\nd\ne\n")
    assert plain(shown) == "@@ -1,3 +1,4 @@\n a\n-b\n c\n+d\n+e\n"
    assert "<mark>" not in shown.source


def test_blocks_of_different_length_are_not_paired() -> None:
    shown = show_difference("a = 1\n", "b = 1\nc = 1\n")
    assert "<mark>" not in shown.source
    assert plain(shown).endswith("-a = 1\n+b = 1\n+c = 1\n")


def test_very_long_lines_are_not_compared_inside() -> None:
    shown = show_difference("a" * 500, "b" + "a" * 500)
    assert "<mark>" not in shown.source
    assert plain(shown).count("\n") == 3


def test_inserting_and_removing_inside_a_line_marks_one_side() -> None:
    shown = show_difference("ab\n", "axb\n")
    assert shown.source.count("<mark>") == 1


def test_the_same_program_has_no_difference() -> None:
    assert plain(show_difference("a\n", "a")) == "The same program again."


def test_a_difference_beyond_what_is_shown_is_not_denied() -> None:
    shown = show_difference("a" * 5_000 + "b", "a" * 5_000 + "c")
    assert "not compared" in shown.source
    assert "same program" not in shown.source
