"""Read one example that a user wrote: ``f(2) == 4``, ``f([1]) raises ValueError``. Searches no prose."""

from __future__ import annotations

import ast
import re

from armillary.core.tasks import Example
from armillary.verify.docstring_examples import call_arguments
from armillary.verify.literal_text import closing_bracket
from armillary.verify.source import SourceError, literal, parse_expression

_RAISES = re.compile(r"\s*raises\s+([A-Za-z_]\w*)")
_SPELLINGS = re.compile(r"\s*(?:=>|==>|->|➞|→|returns)\s*")


def parse_example(text: str, entry_point: str, parameters: tuple[str, ...] | None) -> Example:
    """Read a whole example; unlike those in prose, a bad one is an error.

    Raises:
        SourceError: not a call of the entry point with literals and its result.
    """
    # Only what stands behind the call is a spelling of ours; inside, the same characters belong to the arguments.
    end = max(closing_bracket(text, text.find("("), max_chars=len(text)), 0) if "(" in text else 0
    call, rest = text[:end], text[end:]
    raising = _RAISES.fullmatch(rest.rstrip())
    if raising is not None:
        return Example(parse_call(call, entry_point, parameters), raises=raising.group(1))
    spelling = _SPELLINGS.match(rest) if call else None
    node = parse_expression(text if spelling is None else f"{call} == {rest[spelling.end() :]}")
    is_equality = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.Is)
    if not is_equality:
        raise SourceError(f"{text!r} is no example; write {entry_point}(...) == result")
    assert isinstance(node, ast.Compare)
    arguments = parse_call(ast.unparse(node.left), entry_point, parameters)
    return Example(arguments, literal(node.comparators[0]))


def parse_call(text: str, entry_point: str, parameters: tuple[str, ...] | None) -> tuple[object, ...]:
    """The arguments of a call as literals.

    Raises:
        SourceError: another function, arguments that are no literals, or a wrong number of them.
    """
    arguments = call_arguments(parse_expression(text), entry_point, parameters)
    if arguments is None:
        wanted = f" and {len(parameters)} arguments" if parameters is not None else ""
        raise SourceError(f"{text.strip()!r} is no call of {entry_point} with literals{wanted}")
    return arguments
