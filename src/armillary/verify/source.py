"""Parse Python text without ever running it. Every way in which a parser can fail becomes one error with a line."""

from __future__ import annotations

import ast
import warnings
from typing import Any

from armillary.core.errors import ArmillaryError, ValueCodecError
from armillary.core.values import encode

MAX_SOURCE_CHARS = 200_000
# What Python prints in decimals by default, 4,300 digits, holds every integer of so many bits.
MAX_WRITTEN_BITS = 14_000


class SourceError(ArmillaryError):
    """Text is not Python, or not the kind of Python that was asked for.

    Args:
        line: 1-based line in the text, or None.
    """

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def parse_module(text: str) -> ast.Module:
    """The syntax tree of a whole file.

    Raises:
        SourceError: not Python, longer than ``MAX_SOURCE_CHARS`` or nested too deep.
    """
    tree = _parse(text, "exec")
    assert isinstance(tree, ast.Module)
    return tree


def parse_expression(text: str) -> ast.expr:
    """The syntax tree of one expression.

    Raises:
        SourceError: not one expression, or one with an integer that Python could not print again.
    """
    tree = _parse(text.strip(), "eval")
    assert isinstance(tree, ast.Expression)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int)
            and node.value.bit_length() > MAX_WRITTEN_BITS
        ):
            raise SourceError(f"an integer of {node.value.bit_length()} bits, at most {MAX_WRITTEN_BITS}")
    return tree.body


def literal(text_or_node: str | ast.expr) -> Any:
    """The value of a literal: numbers, strings, None, booleans and containers of them; nothing is called.

    Raises:
        SourceError: not a literal, or a value that cannot be carried to the sandbox.
    """
    node = parse_expression(text_or_node) if isinstance(text_or_node, str) else text_or_node
    try:
        value = ast.literal_eval(node)
        encode(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise SourceError("not a literal value", line=getattr(node, "lineno", None)) from error
    except ValueCodecError as error:
        raise SourceError(error.message, line=getattr(node, "lineno", None)) from error
    return value


def defined_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Plain functions of the module's top level, in order."""
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _parse(text: str, mode: str) -> ast.AST:
    if len(text) > MAX_SOURCE_CHARS:
        raise SourceError(f"{len(text)} characters of source, at most {MAX_SOURCE_CHARS}")
    try:
        # Odd escapes in somebody else's text are no warning of ours.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode=mode)
    except SyntaxError as error:
        raise SourceError(error.msg, line=error.lineno) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise SourceError(str(error) or "nested too deep") from error
