from __future__ import annotations

import pytest

from armillary.verify.source import (
    MAX_SOURCE_CHARS,
    SourceError,
    defined_functions,
    literal,
    parse_expression,
    parse_module,
)


def test_a_syntax_error_names_its_line() -> None:
    with pytest.raises(SourceError) as caught:
        parse_module("x = 1\ndef f(:\n")
    assert caught.value.line == 2


@pytest.mark.parametrize("text", ["\0", "(" * 1000, "-" * 9000 + "1", "x" * (MAX_SOURCE_CHARS + 1)], ids=len)
def test_text_that_breaks_the_parser_is_a_source_error(text: str) -> None:
    with pytest.raises(SourceError):
        parse_module(text)


def test_an_odd_escape_is_no_warning_of_ours() -> None:
    assert parse_module(r"x = '\d'").body


def test_an_expression_may_be_surrounded_by_space() -> None:
    assert parse_expression("  1 + x \n").lineno == 1


def test_two_statements_are_no_expression() -> None:
    with pytest.raises(SourceError):
        parse_expression("x = 1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1", -1),
        ("{1, 2}", {1, 2}),
        ("set()", set()),
        ("[(1, None), {'a': True}]", [(1, None), {"a": True}]),
        ("b'x'", b"x"),
    ],
)
def test_literals_of_all_kinds_are_read(text: str, value: object) -> None:
    assert literal(text) == value


@pytest.mark.parametrize("text", ["x", "f(1)", "[1, ...]", "{[1]}", "1 + 'a'", "lambda: 1", "f'{1}'"])
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises(SourceError):
        literal(text)


def test_only_plain_functions_of_the_top_level_are_listed() -> None:
    tree = parse_module("def f(): pass\nclass A:\n def g(self): pass\nasync def h(): pass\ndef i(): pass")
    assert [function.name for function in defined_functions(tree)] == ["f", "i"]


def test_an_integer_that_could_not_be_printed_again_is_refused() -> None:
    assert literal("0x" + "f" * 3_500) == 2**14_000 - 1
    with pytest.raises(SourceError, match="an integer of 14004 bits, at most 14000"):
        parse_expression("f(0x" + "f" * 3_501 + ")")
