"""What the domains say of the names in a text: which are integers for sure, and which are small. Runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from armillary.verify.domains import Domain

MAX_FACTOR = 1000
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow)
"""Those that make integers of integers, a power with a negative exponent aside."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is known while one text is looked through.

    Attributes:
        names: what is bound in it, or given to it.
        integers: names that are integers wherever they are read.
        small_integers: those of them that are small.
        has_small_integers: whether every integer among the inputs is small.
        has_texts: whether a text is among the inputs.
    """

    names: frozenset[str]
    integers: frozenset[str]
    small_integers: frozenset[str]
    has_small_integers: bool
    has_texts: bool


def make_scope(names: Iterable[str], known: Mapping[str, Domain], domains: Sequence[Domain]) -> Scope:
    """The scope of a text: all its names, those of a known domain that are bound once, and all inputs' domains."""
    integers = frozenset(name for name, domain in known.items() if _is_integer(domain))
    small = frozenset(name for name in integers if _are_small([known[name]]))
    return Scope(frozenset(names), integers, small, _are_small(domains), _have_texts(domains))


def is_small_factor(node: ast.AST, scope: Scope) -> bool:
    """Whether a factor makes of a sequence none that is longer than memory."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Name):
        return node.id in scope.small_integers
    return isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) <= MAX_FACTOR


def is_surely_integer(node: ast.AST, scope: Scope) -> bool:
    """Whether an expression is an integer, whatever the inputs are."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Name):
        return node.id in scope.integers
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub | ast.UAdd) and is_surely_integer(node.operand, scope)
    if isinstance(node, ast.Call):
        is_plain = isinstance(node.func, ast.Name) and not node.keywords
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        is_absolute = name == "abs" and all(is_surely_integer(item, scope) for item in node.args)
        return is_plain and (name == "len" or is_absolute)
    if isinstance(node, ast.BinOp):
        is_closed = isinstance(node.op, OPERATORS)
        return is_closed and is_surely_integer(node.left, scope) and is_surely_integer(node.right, scope)
    return False


def _is_integer(domain: Domain) -> bool:
    if domain.kind == "union":
        return all(map(_is_integer, domain.items))
    if domain.kind == "choice":
        return all(type(item) in (int, bool) for item in domain.choices)
    return domain.kind in ("int", "bool")


def _are_small(domains: Sequence[Domain]) -> bool:
    return all(_is_small(item) and _are_small(item.items) for item in domains)


def _is_small(domain: Domain) -> bool:
    if domain.kind == "choice":
        return all(type(item) is not int or abs(item) <= MAX_FACTOR for item in domain.choices)
    if domain.kind != "int":
        return True
    return domain.low is not None and domain.high is not None and max(-domain.low, domain.high) <= MAX_FACTOR


def _have_texts(domains: Sequence[Domain]) -> bool:
    is_text = any(item.kind == "str" or any(isinstance(value, str) for value in item.choices) for item in domains)
    return is_text or any(_have_texts(item.items) for item in domains)
