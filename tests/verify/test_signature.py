from __future__ import annotations

import pytest

from armillary.core.tasks import Parameter
from armillary.verify.signature import annotation_text, parse_signature, signature_of
from armillary.verify.source import SourceError, defined_functions, parse_module


@pytest.mark.parametrize(
    "text",
    ["def f(x: int, y: list[int]) -> int", "f(x: int, y: list[int]) -> int", "def f(x: int, y: list[int]) -> int:"],
)
def test_a_signature_may_be_written_with_or_without_def_and_colon(text: str) -> None:
    found = parse_signature(text)
    assert (found.name, found.returns) == ("f", "int")
    assert found.parameters == (Parameter("x", "int"), Parameter("y", "list[int]"))


@pytest.mark.parametrize("text", ["f", "1(x)", "def f(x", "f(): pass\ndef g()", ""])
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="no signature"):
        parse_signature(text)


def test_defaults_and_star_arguments_decide_what_is_accepted() -> None:
    with_default = parse_signature("f(a, b=1)")
    assert [with_default.accepts(count) for count in range(4)] == [False, True, True, False]
    assert parse_signature("f(a, *rest)").accepts(9)


def test_a_required_keyword_is_refused() -> None:
    with pytest.raises(SourceError, match="by keyword"):
        signature_of(defined_functions(parse_module("def f(a, *, b): pass"))[0])


def test_an_optional_keyword_is_left_alone() -> None:
    assert parse_signature("f(a, *, b=1)").accepts(1)


def test_quoted_annotations_lose_their_quotes() -> None:
    assert parse_signature("f(x: 'int') -> 'list[int]'").returns == "list[int]"
    assert annotation_text(None) == ""
