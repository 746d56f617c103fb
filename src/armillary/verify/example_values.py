"""Read the value that an example states: a literal, JSON's spelling of one, or what a calculation comes to.

Names are never looked up; a calculation counts only if all its steps agree.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from armillary.core.tasks import Example
from armillary.verify.example_wording import is_complete
from armillary.verify.literal_text import closing_bracket, literal_prefix
from armillary.verify.source import SourceError, literal, parse_expression

Number: TypeAlias = int | float

MAX_POWER_BASE = 1_000
MAX_EXPONENT = 64

_JSON = {"true": True, "false": False, "null": None}
_SPOKEN = re.compile(r"(true|false)\b")
# `==` between steps may as well ask whether they are equal.
_STEPS = re.compile(r"(?:[-+*/%().\d \t]{1,100}=(?![=>])[ \t]{0,9}){1,8}")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
# Words of a text whose function gives no number, so that a calculation in it explains something else.
_NO_NUMBER = re.compile(
    r"\b(?:true|false|whether|bool(?:ean)?s?)\b"
    r"|\b(?:return|print|show|write|format|display|output|give)(?:s|ing)?\s{1,9}(?:\S{1,30}\s{1,9}){0,4}"
    r"(?:strings?|texts?|str|lists?|arrays?|tuples?|pairs?|dict\w*|sets?|equations?|expressions?|formulas?)\b",
    re.IGNORECASE,
)


# Words of a text whose function gives a number.
_NUMBER = re.compile(
    r"\b(?:return|compute|calculate|count|find|give|determine)s?\s{1,9}(?:(?:the|an?|its|their)\s{1,9})?(?:\w{1,20}\s{1,9})?"
    r"(?:number|sum|count|total|amount|product|difference|quotient|remainder|average|mean|length|area|price|cost|score"
    r"|distance|integer|value)\b",
    re.IGNORECASE,
)


class Value(NamedTuple):
    """A value that stands in a text.

    Attributes:
        end: index behind it.
        is_calculated: whether it is the end of a calculation such as ``2 + 3 = 5``.
    """

    value: Any
    end: int
    is_calculated: bool = False


class Spelled(NamedTuple):
    """An example and the index at which it begins; the connector is what joins its call to its result."""

    place: int
    example: Example
    connector: str = ""
    is_calculated: bool = False


Found: TypeAlias = Iterator[Spelled]


def value_at(text: str, start: int) -> Value | None:
    """The value that begins at ``start``; ``true`` and ``false`` pass as such, in brackets ``null`` too."""
    spoken = _SPOKEN.match(text, start)
    if spoken is not None:
        return Value(_JSON[spoken.group()], spoken.end())
    found = literal_prefix(text, start)
    return Value(*found) if found is not None else _json_at(text, start)


def result_at(text: str, start: int, beginning: re.Pattern[str]) -> Value | None:
    """The result that begins at ``start``, if nothing behind it can change it.

    ``beginning`` is how the next example may begin.
    """
    found = value_at(text, start)
    if found is None or not is_complete(text, found.end, beginning):
        found = _calculated_at(text, start)
    return found if found is not None and is_complete(text, found.end, beginning) else None


def without_explanations(found: list[Spelled], text: str) -> list[Spelled]:
    """Leave out the calculations that may tell why, not what: unless the function gives numbers, but not given ones."""
    plain = [item for item in found if not item.is_calculated]
    results = [item.example.expected for item in plain if not item.example.raises]
    is_number = bool(results) or _NUMBER.search(text) is not None
    if not is_number or any(type(result) not in (int, float) for result in results) or _NO_NUMBER.search(text):
        return plain
    return [item for item in found if not item.is_calculated or item.example.expected not in item.example.arguments]


def _json_at(text: str, start: int) -> Value | None:
    end = closing_bracket(text, start) if text[start : start + 1] in ("[", "{") else -1
    if end < 0:
        return None
    try:
        tree = parse_expression(text[start:end])
        for node in ast.walk(tree):
            if isinstance(node, ast.List):
                node.elts = list(map(_without_json, node.elts))
            elif isinstance(node, ast.Dict):
                node.values = list(map(_without_json, node.values))
        value = literal(tree)
    except SourceError:
        return None
    # As in Python, a bracket around one value makes no tuple.
    return Value(value, end) if isinstance(value, list | dict) else None


def _without_json(node: ast.expr) -> ast.expr:
    is_json = isinstance(node, ast.Name) and node.id in _JSON
    return ast.Constant(_JSON[node.id]) if is_json and isinstance(node, ast.Name) else node


def _calculated_at(text: str, start: int) -> Value | None:
    """The 5 of ``2 + 3 = 5``: all steps are arithmetic with constants, and equal to it."""
    steps = _STEPS.match(text, start)
    found = None if steps is None else literal_prefix(text, steps.end())
    if steps is None or found is None or type(found[0]) not in (int, float):
        return None
    try:
        nodes = [parse_expression(step) for step in steps.group().split("=")[:-1]]
        is_same = isinstance(nodes[0], ast.BinOp) and all(_agree(_calculate(node), found[0]) for node in nodes)
    except (SourceError, ArithmeticError, ValueError):
        return None
    return Value(*found, is_calculated=True) if is_same else None


def _agree(left: Number, right: Number) -> bool:
    is_exact = type(left) is int and type(right) is int
    return left == right if is_exact else math.isclose(left, right, rel_tol=1e-9)


def _calculate(node: ast.expr) -> Number:
    """What arithmetic comes to.

    Raises:
        ValueError: something else than arithmetic, or too large to try.
        ArithmeticError: it has no result.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _calculate(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        raise ValueError(f"{type(node).__name__} is no arithmetic")
    left, right = _calculate(node.left), _calculate(node.right)
    if isinstance(node.op, ast.Pow) and not (abs(left) <= MAX_POWER_BASE and 0 <= right <= MAX_EXPONENT):
        raise ValueError(f"{left} ** {right} is too large to try")
    value = _OPERATORS[type(node.op)](left, right)
    if isinstance(value, int | float):
        return value
    raise ValueError(f"{value!r} is no real number")
