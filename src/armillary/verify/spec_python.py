"""Read a task from a Python file: a stub with a docstring, plain or decorated. The file is parsed, never run.

    from armillary import ensures, examples, requires

    @requires("len(xs) > 0")
    @ensures("result in xs")
    @examples("largest([1, 3, 2]) == 3")
    def largest(xs: list[int]) -> int:
        \"\"\"Return the largest element.\"\"\"

The decorators are read by name and need not exist. What is left of the file without them is the prompt.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import TaskSpec
from armillary.verify.draft import Draft, build_task, refuse_unknown
from armillary.verify.example_mending import mended_docstring
from armillary.verify.signature import signature_of
from armillary.verify.source import SourceError, defined_functions, literal, parse_module

DECORATORS = ("requires", "ensures", "laws", "temporal", "raises", "examples", "inputs", "reference", "budget")


def task_from_stub(source: str, *, entry_point: str = "", reference: str = "") -> TaskSpec:
    """Read a stub: imports, helpers, and a ``def`` with a docstring that ends the file or is the only one.

    Args:
        source: Python text.
        entry_point: the function to write, if it is not the last one without a body.
        reference: source of a known-good implementation, or empty.

    Raises:
        TaskFormatError: no Python, no function, or a decorator that says something wrong.
    """
    source = source.removeprefix("\ufeff")
    try:
        tree = parse_module(source)
        function = _stub_function(tree, entry_point)
        signature = signature_of(function)
        draft = Draft(entry_point=function.name, reference=reference, stub_signature=signature)
    except SourceError as error:
        raise TaskFormatError(f"not a Python stub: {error.message}", line=error.line) from error
    for decorator in reversed(function.decorator_list):
        _read_decorator(decorator, draft)
    draft.prompt = _prompt(source, tree, function)
    described = _docstring_node(function)
    draft.docstring = "" if described is None else inspect.cleandoc(str(literal(described)))
    if described is not None and not draft.examples:
        written = ast.get_source_segment(source, described) or ""
        draft.docstring = mended_docstring(draft.docstring, written, signature, _names(tree))
    return build_task(draft)


def has_stub(text: str) -> bool:
    """Whether a text is Python with a function to write."""
    try:
        return bool(defined_functions(parse_module(text.removeprefix("\ufeff"))))
    except SourceError:
        return False


def is_stub(function: ast.FunctionDef) -> bool:
    """Whether a function has no body but its docstring, ``pass``, ``...`` or ``raise NotImplementedError``."""
    for node in function.body:
        is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_refusal = isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node)
        if not (is_constant or is_refusal or isinstance(node, ast.Pass)):
            return False
    return True


def _stub_function(tree: ast.Module, entry_point: str) -> ast.FunctionDef:
    functions = defined_functions(tree)
    if entry_point:
        named = [function for function in functions if function.name == entry_point]
    else:
        decorated = [function for function in functions if any(map(_is_known, function.decorator_list))]
        stubs = [function for function in functions if is_stub(function)]
        named = decorated or stubs or functions
        if len(named) > 1 and (decorated or not stubs):
            names = ", ".join(function.name for function in named)
            raise SourceError(f"which function is to be written? {names}; leave only its body out")
    if not named:
        wanted = f"function {entry_point!r}" if entry_point else "function"
        raise SourceError(f"there is no {wanted} at the top level")
    return named[-1]


def _prompt(source: str, tree: ast.Module, function: ast.FunctionDef) -> str:
    """The file without our decorators and imports, the function's body cut behind its docstring."""
    # The parser's own line ends; `splitlines` knows more of them.
    lines = re.split(r"\r\n|\r|\n", source)
    dropped: set[int] = set()
    ours: list[ast.expr | ast.stmt] = [*function.decorator_list, *filter(_is_ours, tree.body)]
    for node in ours:
        dropped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    num_describing = _num_describing(function)
    body = function.body[num_describing:]
    if body:
        first = body[0].lineno
        dropped.update(range(first + 1, (function.end_lineno or first) + 1))
        # Columns are counted in bytes.
        before = lines[first - 1].encode()[: body[0].col_offset].decode()
        lines[first - 1] = before.rstrip("; \t") if num_describing else f"{before}..."
        if not lines[first - 1]:
            dropped.add(first)
    kept = [line for number, line in enumerate(lines, start=1) if number not in dropped]
    return "\n".join(kept).strip("\n") + "\n"


def _num_describing(function: ast.FunctionDef) -> int:
    """How many statements the body begins with up to its docstring; imports may stand before it, none is 0."""
    for index, node in enumerate(function.body):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return index + 1
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
    return 0


def _docstring_node(function: ast.FunctionDef) -> ast.expr | None:
    described = [node.value for node in function.body[: _num_describing(function)] if isinstance(node, ast.Expr)]
    return described[0] if described else None


def _names(tree: ast.Module) -> frozenset[str]:
    """All names that code uses or defines, attributes and parameters aside."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return frozenset(names)


def _is_ours(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] == "armillary"
    return isinstance(node, ast.Import) and [alias.name for alias in node.names] == ["armillary"]


def _read_decorator(node: ast.expr, draft: Draft) -> None:
    call = node if isinstance(node, ast.Call) else None
    name = _decorator_name(node)
    refuse_unknown(name, DECORATORS, line=node.lineno)
    if call is None:
        raise TaskFormatError("needs its values in brackets", field=name, line=node.lineno)
    draft.lines.setdefault(name, node.lineno)
    with draft.reading(name):
        if call.args and name in ("inputs", "budget"):
            raise SourceError(f"write {name}(name=value): each value needs its name")
        if call.keywords and name not in ("inputs", "budget", "raises"):
            raise SourceError("its values are given without names")
        _READERS[name](call, draft)


def _decorator_name(node: ast.expr) -> str:
    target = node.func if isinstance(node, ast.Call) else node
    return target.attr if isinstance(target, ast.Attribute) else ast.unparse(target)


def _is_known(node: ast.expr) -> bool:
    return _decorator_name(node) in DECORATORS


def _texts(call: ast.Call) -> list[str]:
    return [_text(item) for item in call.args]


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Lambda):
        return ast.unparse(node.body)
    value = literal(node)
    if not isinstance(value, str):
        raise SourceError(f"{ast.unparse(node)} is not text")
    return value


def _named(call: ast.Call) -> dict[str, ast.expr]:
    found = {}
    for item in call.keywords:
        if item.arg is None:
            raise SourceError("values cannot be unpacked here: the file is not run")
        found[item.arg] = item.value
    return found


def _read_raises(call: ast.Call, draft: Draft) -> None:
    positional = call.args
    if len(positional) == 2:
        draft.raises[ast.unparse(positional[0]).strip("'\"")] = _text(positional[1])
    elif positional:
        raise SourceError("write raises(ValueError, 'n < 0') or raises(ValueError='n < 0')")
    draft.raises.update({name: _text(value) for name, value in _named(call).items()})


def _read_examples(call: ast.Call, draft: Draft) -> None:
    for node in call.args:
        value = literal(node)
        if isinstance(value, tuple) and len(value) == 2:
            value = {"input": value[0], "output": value[1]}
        draft.lines[f"examples[{len(draft.examples)}]"] = node.lineno
        draft.examples.append(value)


def _read_reference(call: ast.Call, draft: Draft) -> None:
    texts = _texts(call)
    if len(texts) != 1 or draft.reference:
        raise SourceError("there is one reference, given as one text")
    draft.reference = inspect.cleandoc(texts[0])


_READERS: dict[str, Callable[[ast.Call, Draft], None]] = {
    "requires": lambda call, draft: draft.requires.extend(_texts(call)),
    "ensures": lambda call, draft: draft.ensures.extend(_texts(call)),
    "laws": lambda call, draft: draft.laws.extend(_texts(call)),
    "temporal": lambda call, draft: draft.temporal.extend(_texts(call)),
    "raises": _read_raises,
    "examples": _read_examples,
    "inputs": lambda call, draft: draft.inputs.update({name: _text(node) for name, node in _named(call).items()}),
    "reference": _read_reference,
    "budget": lambda call, draft: draft.budget.update({name: literal(node) for name, node in _named(call).items()}),
}
