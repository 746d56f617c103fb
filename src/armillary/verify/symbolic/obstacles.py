"""Say what in a program or a predicate forbids to call it proved. Runs nothing, and allows only what was looked at.

CrossHair models most of Python, but not all of it as it is: it knows no limit on a string of digits, no order of a set,
no state that outlives a call. A proof may rest only on what is listed here; everything else has a reason why not.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence

from armillary.verify.domains import Domain
from armillary.verify.source import SourceError, parse_expression, parse_module
from armillary.verify.symbolic.scope import OPERATORS, Scope, is_small_factor, is_surely_integer, make_scope

MAX_EXPONENT = 8
MAX_BUILT_LENGTH = 8

_FUNCTIONS = frozenset({
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "len", "list", "max", "min", "reversed", "sorted",
    "sum", "tuple", "zip",
})  # fmt: skip
_ERRORS = frozenset({"ValueError", "KeyError", "IndexError", "ZeroDivisionError"})
_CLASSES = frozenset({"int", "str", "bool", "list", "tuple", "dict"})
_METHODS = frozenset({
    "append", "clear", "copy", "count", "endswith", "extend", "find", "get", "index", "insert", "items", "join", "keys",
    "pop", "remove", "reverse", "setdefault", "sort", "startswith", "update", "values",
})  # fmt: skip
_MODULES = frozenset({"__future__", "collections.abc", "typing"})
_NODES = (
    ast.Module, ast.FunctionDef, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.For, ast.While,
    ast.If, ast.Raise, ast.Try, ast.ExceptHandler, ast.Assert, ast.Import, ast.ImportFrom, ast.Nonlocal, ast.Expr,
    ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp,
    ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.Compare, ast.Call, ast.Constant,
    ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice, ast.comprehension,
    ast.arguments, ast.arg, ast.keyword, ast.alias, ast.expr_context, ast.boolop, ast.unaryop, ast.cmpop, ast.operator,
)  # fmt: skip
_ANNOTATIONS = (
    ast.Name, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.expr_context, ast.Attribute,
)  # fmt: skip
_TYPES_OF_CONSTANTS = (int, bool, str, type(None))
_KINDS = frozenset({"int", "bool", "str", "none", "list", "tuple", "union", "choice"})


def domain_obstacle(domains: Sequence[Domain]) -> str:
    """Why nothing about such inputs is ever proved, or an empty text."""
    for domain in domains:
        if domain.kind not in _KINDS:
            return f"inputs of kind {domain.kind}" + (", modelled as real numbers" if domain.kind == "float" else "")
        is_sequence = domain.kind == "list" or (domain.kind == "tuple" and domain.is_variadic)
        if is_sequence and not has_built_length(domain):
            return f"a {domain.kind} that may be longer than {MAX_BUILT_LENGTH}"
        if any(type(item) not in _TYPES_OF_CONSTANTS for item in domain.choices):
            return "a choice of values that are no integers, texts or booleans"
        if found := domain_obstacle(domain.items):
            return found
    return ""


def has_built_length(domain: Domain) -> bool:
    """Whether a sequence is explored length by length, as a real one, rather than as a symbol of any length."""
    return domain.max_length is not None and domain.max_length <= MAX_BUILT_LENGTH


def code_obstacle(code: str, entry_point: str, domains: Sequence[Domain]) -> str:
    """Why nothing about this program is ever proved, or an empty text."""
    try:
        tree = parse_module(code)
    except SourceError as error:
        return f"code that is not Python: {error.message}"
    entries = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == entry_point]
    if len(entries) != 1:
        return f"not exactly one plain function {entry_point}"
    for statement in tree.body:
        if not _is_constant_statement(statement):
            return f"line {statement.lineno}: a statement of the module that may keep state between calls"
    bound = _bound_names(tree) - _imported_names(tree)
    hidden = sorted(name for name in bound if hasattr(builtins, name))
    if hidden:
        return f"{hidden[0]} as a name of its own"
    parameters = [item.arg for item in entries[0].args.posonlyargs + entries[0].args.args]
    known = dict(zip(parameters, domains, strict=False))
    num_bindings = _num_bindings(tree)
    scope = make_scope(bound, {name: item for name, item in known.items() if num_bindings[name] == 1}, domains)
    return next(_obstacles(tree, scope), "")


def predicate_obstacle(text: str, names: Sequence[str], domains: Sequence[Domain], others: Iterable[str] = ()) -> str:
    """Why nothing that this predicate says is ever proved, or an empty text.

    It is an expression over ``names``, whose domains are known, and ``others``, of which nothing is.
    """
    tree = parse_expression(text)
    stored = _bound_names(tree)
    known = {name: item for name, item in zip(names, domains, strict=False) if name not in stored}
    scope = make_scope({*names, *others, *stored}, known, domains)
    return next(_obstacles(tree, scope), "")


def _obstacles(tree: ast.AST, scope: Scope) -> Iterator[str]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in _walk(tree):
        problem = _problem(node, parents.get(node), scope)
        if problem:
            place = node if hasattr(node, "lineno") else parents.get(node)
            line = getattr(place, "lineno", None) if isinstance(tree, ast.Module) else None
            yield f"line {line}: {problem}" if line else problem


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes that run; annotations and the classes of ``isinstance`` do not."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        children = list(ast.iter_child_nodes(node))
        skipped = _annotations(node)
        if _is_type_test(node):
            skipped += node.args[1:]  # type: ignore[attr-defined]  # the test saw that it is a call
        waiting += reversed([child for child in children if not any(child is item for item in skipped)])


def _annotations(node: ast.AST) -> list[ast.AST]:
    found = (getattr(node, "annotation", None), getattr(node, "returns", None))
    return [item for item in found if item is not None]


def _is_plain_annotation(node: ast.AST) -> bool:
    """Whether it names types and nothing more; an annotation is evaluated when the program loads."""
    is_private = isinstance(node, ast.Attribute) and node.attr.startswith("_")
    return (
        isinstance(node, _ANNOTATIONS) and not is_private and all(map(_is_plain_annotation, ast.iter_child_nodes(node)))
    )


def _problem(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    if not isinstance(node, _NODES):
        return f"{type(node).__name__}, which is not modelled well enough"
    if isinstance(node, ast.operator):
        return "" if isinstance(node, OPERATORS) else f"the operator {type(node).__name__}"
    if not all(map(_is_plain_annotation, _annotations(node))):
        return "an annotation that does more than to name a type"
    for kind, look in _LOOKS.items():
        if isinstance(node, kind):
            return look(node, parent, scope)
    return ""


def _look_at_function(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.FunctionDef)
    return f"a decorator of {node.name}" if node.decorator_list else ""


def _look_at_arguments(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.arguments)
    defaults = [*node.defaults, *(item for item in node.kw_defaults if item is not None)]
    is_fixed = all(isinstance(item, ast.Constant) or _is_negative_constant(item) for item in defaults)
    return "" if is_fixed else "a default value that may keep state between calls"


def _look_at_import(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    else:
        assert isinstance(node, ast.Import)
        names = [item.name for item in node.names]
    return "".join(f"the module {name}" for name in names if name not in _MODULES)


def _look_at_try(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.Try)
    return "a finally clause" if node.finalbody else ""


def _look_at_handler(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.ExceptHandler)
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    is_narrow = all(isinstance(item, ast.Name) and item.id in _ERRORS for item in kinds)
    return "" if is_narrow else f"a handler of other exceptions than {', '.join(sorted(_ERRORS))}"


def _look_at_name(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.Name)
    name = node.id
    if name == "isinstance":
        return "" if parent is not None and _is_type_test(parent) else "isinstance with a class that is computed"
    if name == "range":
        return "" if isinstance(parent, ast.Call) and parent.func is node else "range as a value"
    if name in ("set", "frozenset"):
        return "" if isinstance(parent, ast.Call) and parent.func is node else f"{name} as a value"
    is_known = name in scope.names or name in _FUNCTIONS or name in _ERRORS
    return "" if is_known else f"the name {name}"


def _look_at_call(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.Call)
    if not isinstance(node.func, ast.Name):
        return ""
    if node.func.id == "range":
        # Of a longer range than memory has places, Python tells no length.
        is_loop = isinstance(parent, ast.For | ast.comprehension) and parent.iter is node
        return "" if is_loop else "a range outside of a loop's head"
    if node.func.id in ("set", "frozenset"):
        return "" if _is_orderless(node, parent) else "the order of a set"
    return ""


def _look_at_set(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.expr)
    return "" if _is_orderless(node, parent) else "the order of a set"


def _look_at_constant(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.Constant)
    if type(node.value) not in _TYPES_OF_CONSTANTS:
        return f"a value of type {type(node.value).__name__}"
    is_template = isinstance(node.value, str) and "%" in node.value and not isinstance(parent, ast.Expr)
    return "a text with %, which may be a template" if is_template else ""


def _look_at_attribute(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.Attribute)
    if node.attr not in _METHODS or not (isinstance(parent, ast.Call) and parent.func is node):
        return f"the attribute .{node.attr}"
    # A place beyond what memory has is another error for Python than one beyond the end.
    has_place = node.attr in ("insert", "pop") and not scope.has_small_integers and parent.args
    return (
        f".{node.attr} at a place that is computed" if has_place and not is_small_factor(parent.args[0], scope) else ""
    )


def _look_at_comparison(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.Compare)
    for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        has_none = any(isinstance(item, ast.Constant) and item.value is None for item in (left, right))
        if isinstance(operator, ast.Is | ast.IsNot) and not has_none:
            return "the identity of objects"
    return ""


def _look_at_operation(node: ast.AST, parent: ast.AST | None, scope: Scope) -> str:
    assert isinstance(node, ast.BinOp | ast.AugAssign)
    left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    if isinstance(node.op, ast.Pow):
        is_small = isinstance(right, ast.Constant) and type(right.value) is int and 0 <= right.value <= MAX_EXPONENT
        return "" if is_small else f"a power with another exponent than a number up to {MAX_EXPONENT}"
    if isinstance(node.op, ast.Mod) and scope.has_texts and not is_surely_integer(left, scope):
        return "the operator %, which may fill in a template"
    if isinstance(node.op, ast.Mult) and not scope.has_small_integers:
        is_bounded = any(is_small_factor(item, scope) for item in (left, right))
        is_number = all(is_surely_integer(item, scope) for item in (left, right))
        return "" if is_bounded or is_number else "a product that may be a sequence of any length"
    return ""


_LOOKS = {
    ast.FunctionDef: _look_at_function,
    ast.arguments: _look_at_arguments,
    ast.Import: _look_at_import,
    ast.ImportFrom: _look_at_import,
    ast.Try: _look_at_try,
    ast.ExceptHandler: _look_at_handler,
    ast.Name: _look_at_name,
    ast.Call: _look_at_call,
    ast.Set: _look_at_set,
    ast.Constant: _look_at_constant,
    ast.Attribute: _look_at_attribute,
    ast.Compare: _look_at_comparison,
    ast.BinOp: _look_at_operation,
    ast.AugAssign: _look_at_operation,
}


def _is_constant_statement(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef):
        return True
    value = getattr(node, "value", None)
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    is_fixed = all(isinstance(item, ast.Constant) or _is_negative_constant(item) for item in parts)
    return isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) and is_fixed


def _is_negative_constant(node: ast.AST | None) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def _is_type_test(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "isinstance":
        return False
    if len(node.args) != 2 or node.keywords:
        return False
    kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    return all(isinstance(item, ast.Name) and item.id in _CLASSES for item in kinds)


def _is_orderless(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether only the members of a set are asked for: its length, what is in it, or whether it equals another."""
    if isinstance(parent, ast.Compare):
        return True
    is_measured = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "len"
    return is_measured and isinstance(parent, ast.Call) and node in parent.args


def _imported_names(tree: ast.AST) -> set[str]:
    """What modules bind: fit for annotations, which nobody reads as values."""
    return {item.asname or item.name for node in ast.walk(tree) if isinstance(node, ast.alias) for item in [node]}


def _bound_names(tree: ast.AST) -> set[str]:
    return set(_num_bindings(tree))


def _num_bindings(tree: ast.AST) -> dict[str, int]:
    """How often each name is bound, anywhere in the text: as a parameter, a function, a module or by storing."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names = [node.id]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.FunctionDef):
            names = [node.name]
        elif isinstance(node, ast.alias):
            names = [(node.asname or node.name).split(".")[0]]
        elif isinstance(node, ast.ExceptHandler):
            names = [node.name] if node.name else []
        else:
            names = []
        for name in names:
            found[name] = found.get(name, 0) + 1
    return found
