"""Predicates as restricted Python expressions kept as text, and the program that evaluates them in a jail of its own.

A predicate never runs in this process and never in the candidate's. A law, which calls the candidate, is a program
that asks for the answers; see ``laws``.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import TaskSpec
from armillary.verify.source import SourceError, parse_expression

FUNCTIONS = frozenset({
    "abs", "all", "any", "bin", "bool", "bytes", "chr", "complex", "dict", "divmod", "enumerate", "filter", "float",
    "frozenset", "hex", "int", "isinstance", "len", "list", "map", "max", "min", "ord", "pow", "range", "repr",
    "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip",
})  # fmt: skip
MODULES = frozenset({"math"})
# Attributes that format a string by looking inside of values.
FORBIDDEN_ATTRIBUTES = frozenset({"format", "format_map"})
_NODES = (
    ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.List, ast.Tuple, ast.Set,
    ast.Dict, ast.Subscript, ast.Slice, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    ast.comprehension, ast.Starred, ast.Attribute, ast.keyword, ast.expr_context, ast.boolop, ast.operator,
    ast.unaryop, ast.cmpop,
)  # fmt: skip

# A side calls the entry point as often as it likes; the first call without an answer ends it with a question.
_LAW_PRELUDE = """\
import math

class armillary_Question(BaseException):
    pass

def armillary_evaluate(side, names, answers):
    rest = iter(answers)
    def entry_point(*arguments, **keywords):
        arguments += tuple(keywords.pop(name) for name in names[len(arguments):] if name in keywords)
        if keywords:
            raise TypeError(f"no parameter {min(keywords)!r}")
        for answer in rest:
            return answer
        raise armillary_Question(arguments)
    try:
        return ("value", side(entry_point))
    except armillary_Question as question:
        return ("question", question.args[0])"""


def check_predicate(text: str, names: Iterable[str], *, field: str, line: int | None = None) -> None:
    """Refuse a predicate that is more than an expression over known names.

    Args:
        text: the predicate as written.
        names: what may be read beside ``FUNCTIONS`` and ``MODULES``: parameters, ``result``, or the entry point.
        field: where it stands in the task, for the error.
        line: the line of that place, if known.

    Raises:
        TaskFormatError: no expression, an unknown name, or something that predicates may not do.
    """
    try:
        tree = parse_expression(text)
    except SourceError as error:
        raise TaskFormatError(f"{text!r} is no Python expression: {error.message}", field=field, line=line) from error
    known = {*names, *FUNCTIONS, *MODULES}
    known |= {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }  # variables of comprehensions; nothing else can store
    for node in ast.walk(tree):
        problem = _problem(node, known)
        if problem:
            raise TaskFormatError(f"{text!r} {problem}", field=field, line=line)


def check_predicates(task: TaskSpec, line_of: Callable[[str], int | None] = lambda path: None) -> None:
    """Refuse a task with a predicate that cannot be evaluated.

    Args:
        task: the task.
        line_of: line of a dotted path in the file that the task came from.

    Raises:
        TaskFormatError: names the field, and the line where it is known.
    """
    names = tuple(item.name for item in task.parameters)
    if "result" in names and task.ensures:
        raise TaskFormatError("a parameter named 'result' cannot be told from the result", field="ensures")
    if "steps" in names and task.temporal:
        raise TaskFormatError("a parameter named 'steps' cannot be told from the counted steps", field="temporal")
    for field, text, readable in (
        *((f"requires[{index}]", item.text, names) for index, item in enumerate(task.requires)),
        *((f"ensures[{index}]", item.text, (*names, "result")) for index, item in enumerate(task.ensures)),
        *((f"laws[{index}]", item.text, (*names, task.entry_point)) for index, item in enumerate(task.laws)),
        *((f"raises.{error}", text, names) for error, text in task.raises),
        *((f"temporal[{index}]", item.text, (*names, "steps")) for index, item in enumerate(task.temporal)),
    ):
        check_predicate(text, readable, field=field, line=line_of(field))
    for error, _ in task.raises:
        if not error.isidentifier():
            field = f"raises.{error}"
            raise TaskFormatError(f"{error!r} is no exception's name", field=field, line=line_of(field))


def contract_source(task: TaskSpec) -> str:
    """A program with one function per predicate, which names no candidate.

    ``requires_0(*parameters)``, ``raises_0(*parameters)``, ``ensures_0(*parameters, result)`` and
    ``temporal_0(*parameters, steps)`` return a bool.
    """
    inputs = _parameter_list(task)
    parts = ["import math"]
    parts += [_function(f"requires_{i}", inputs, item.text) for i, item in enumerate(task.requires)]
    parts += [_function(f"raises_{i}", inputs, text) for i, (_, text) in enumerate(task.raises)]
    parts += [_function(f"ensures_{i}", [*inputs, "result"], item.text) for i, item in enumerate(task.ensures)]
    parts += [_function(f"temporal_{i}", [*inputs, "steps"], item.text) for i, item in enumerate(task.temporal)]
    return "\n\n".join(parts) + "\n"


def law_source(task: TaskSpec) -> str:
    """A program with two functions for each law that is an equality, and one for any other; it holds no candidate.

    Each (see :func:`law_name`) takes the answers to its calls of the entry point so far, then the parameters. It
    returns ``("value", value)`` once it needs no more answers, or ``("question", arguments)``: the call that it needs
    the next answer to.
    """
    parts = [_LAW_PRELUDE]
    for index, item in enumerate(task.laws):
        sides = equality_sides(item.text)
        if sides is None:
            parts.append(_law_function(task, law_name(index), _claim(item.text)))
        else:
            parts.append(_law_function(task, law_name(index, "left"), sides[0]))
            parts.append(_law_function(task, law_name(index, "right"), sides[1]))
    return "\n\n".join(parts) + "\n"


def law_name(index: int, side: str = "") -> str:
    """Name of a law's function in the program that :func:`law_source` gives."""
    return f"armillary_law_{index}" + (f"_{side}" if side else "")


def equality_sides(text: str) -> tuple[str, str] | None:
    """Both sides of ``left == right``; None for any other expression."""
    tree = parse_expression(text)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or not isinstance(tree.ops[0], ast.Eq):
        return None
    return ast.unparse(tree.left), ast.unparse(tree.comparators[0])


def _parameter_list(task: TaskSpec) -> list[str]:
    return [parameter.name for parameter in task.parameters]


def _function(name: str, parameters: list[str], text: str) -> str:
    return f"def {name}({', '.join(parameters)}):\n    return {_claim(text)}"


def _law_function(task: TaskSpec, name: str, expression: str) -> str:
    names = _parameter_list(task)
    body = f"armillary_evaluate(lambda {task.entry_point}: ({expression}), {names!r}, armillary_answers)"
    return f"def {name}({', '.join(('armillary_answers', *names))}):\n    return {body}"


def _claim(text: str) -> str:
    # Printed back from the tree: a comment or a line break in the text cannot change the program around it.
    return f"True if ({ast.unparse(parse_expression(text))}) else False"


def _problem(node: ast.AST, known: set[str]) -> str:
    if not isinstance(node, _NODES):
        return f"uses {type(node).__name__}, which a predicate may not"
    if isinstance(node, ast.Attribute) and (node.attr.startswith("_") or node.attr in FORBIDDEN_ATTRIBUTES):
        return f"uses .{node.attr}, which a predicate may not"
    if isinstance(node, ast.Name) and node.id.startswith("__"):
        return f"uses {node.id}, which a predicate may not"
    if isinstance(node, ast.Name) and node.id not in known:
        near = difflib.get_close_matches(node.id, sorted(known), n=1)
        return f"reads {node.id!r}, which it does not know" + (f"; did you mean {near[0]!r}?" if near else "")
    return ""
