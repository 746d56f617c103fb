"""Read a function's name, parameters and types from text or a syntax tree. Positional parameters only."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from armillary.core.tasks import Parameter
from armillary.verify.source import SourceError, defined_functions, parse_module


@dataclass(frozen=True, slots=True)
class Signature:
    """What a caller must know of a function.

    Attributes:
        num_required: positional arguments that have no default.
        takes_any_number: whether there is a ``*args``.
    """

    name: str
    parameters: tuple[Parameter, ...]
    returns: str
    num_required: int
    takes_any_number: bool = False

    def accepts(self, num_arguments: int) -> bool:
        """Whether a call with so many positional arguments is well formed."""
        return self.num_required <= num_arguments and (self.takes_any_number or num_arguments <= len(self.parameters))


def parse_signature(text: str) -> Signature:
    """Read ``def f(x: int, y: list[int]) -> int``; the ``def`` and the colon may be left out.

    Raises:
        SourceError: the text is no signature.
    """
    head = re.sub(r"^\s*def\s+", "", text).strip().removesuffix("...").rstrip().removesuffix(":")
    try:
        functions = defined_functions(parse_module(f"def {head}: ..."))
    except SourceError as error:
        raise SourceError(f"{text.strip()!r} is no signature: {error.message}") from error
    if len(functions) != 1:
        raise SourceError(f"{text.strip()!r} is no signature")
    return signature_of(functions[0])


def signature_of(function: ast.FunctionDef) -> Signature:
    """The signature of a parsed function.

    Raises:
        SourceError: a keyword-only parameter without default: nothing here passes keywords.
    """
    arguments = function.args
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is None:
            raise SourceError(f"parameter {parameter.arg!r} must be passed by keyword", line=function.lineno)
    positional = [*arguments.posonlyargs, *arguments.args]
    return Signature(
        name=function.name,
        parameters=tuple(Parameter(item.arg, annotation_text(item.annotation)) for item in positional),
        returns=annotation_text(function.returns),
        num_required=len(positional) - len(arguments.defaults),
        takes_any_number=arguments.vararg is not None,
    )


def annotation_text(node: ast.expr | None) -> str:
    """An annotation as written; quoted ones without their quotes."""
    if node is None:
        return ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node)
