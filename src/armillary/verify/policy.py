"""Level 0: refuse text that is not Python, lacks the function, or reaches for the workings of its judge.

A fast first filter with clear reasons, not the defence: names can be built at run time. What holds is that no
expected value ever enters the process that runs the code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from armillary.core.tasks import TaskSpec
from armillary.verify.signature import signature_of
from armillary.verify.source import SourceError, parse_module

# Why each is refused: code that only computes an answer has no use for it.
_FRAMES = "looks into the frames of its caller"
_OBJECTS = "searches the memory of its process"
_SYSTEM = "talks to the operating system"
_INTERPRETER = "reaches into the interpreter"

FORBIDDEN_MODULES = {
    **dict.fromkeys(("inspect", "pdb", "bdb", "faulthandler"), _FRAMES),
    **dict.fromkeys(("gc", "tracemalloc", "ctypes", "_ctypes", "mmap"), _OBJECTS),
    **dict.fromkeys(("os", "posix", "subprocess", "_posixsubprocess", "socket", "multiprocessing"), _SYSTEM),
    **dict.fromkeys(("signal", "shutil", "pty", "fcntl", "resource"), _SYSTEM),
    **dict.fromkeys(("importlib", "builtins", "imp", "runpy", "code", "site"), _INTERPRETER),
    "armillary": "reaches for its judge",
}
FORBIDDEN_NAMES = {
    **dict.fromkeys(("_getframe", "_current_frames", "f_back", "f_locals", "f_globals", "f_builtins"), _FRAMES),
    **dict.fromkeys(("tb_frame", "gi_frame", "cr_frame", "ag_frame"), _FRAMES),
    **dict.fromkeys(("__subclasses__", "__globals__", "__closure__"), _OBJECTS),
    **dict.fromkeys(("settrace", "setprofile", "addaudithook", "__import__", "__builtins__", "__code__"), _INTERPRETER),
}


@dataclass(frozen=True, slots=True)
class PolicyProblem:
    """Why code is refused before it runs; one sentence for the user and the model."""

    message: str
    line: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


def check_policy(task: TaskSpec, code: str) -> PolicyProblem | None:
    """The first thing that is wrong with the code, or None."""
    try:
        tree = parse_module(code)
    except SourceError as error:
        return PolicyProblem(f"not Python: {error.message}", error.line)
    return _check_entry_point(task, tree) or next(_forbidden(tree), None)


def bound_names(statements: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Names that a module's statements bind, and the last statement that binds each; functions are not entered."""
    found: dict[str, ast.stmt] = {}
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[statement.name] = statement
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            found.update({(alias.asname or alias.name).split(".")[0]: statement for alias in statement.names})
        for block in ("body", "orelse", "finalbody"):
            found.update(bound_names(getattr(statement, block, [])))
        for handler in getattr(statement, "handlers", []):
            found.update(bound_names(handler.body))
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        stored = [node for target in targets if target is not None for node in ast.walk(target)]
        found.update({node.id: statement for node in stored if isinstance(node, ast.Name)})
    return found


def _check_entry_point(task: TaskSpec, tree: ast.Module) -> PolicyProblem | None:
    names = bound_names(tree.body)
    if task.entry_point not in names:
        defined = sorted(name for name, node in names.items() if isinstance(node, ast.FunctionDef))
        others = f"; it defines {', '.join(defined[:5])}" if defined else ""
        return PolicyProblem(f"the code defines no function {task.entry_point!r} at its top level{others}")
    node = names[task.entry_point]
    if isinstance(node, ast.AsyncFunctionDef):
        return PolicyProblem(f"{task.entry_point!r} is async; a plain function is wanted", node.lineno)
    if not isinstance(node, ast.FunctionDef):
        return None  # whether a value can be called is seen when it is
    num_arguments = _num_arguments(task)
    try:
        signature = signature_of(node)
    except SourceError as error:
        return PolicyProblem(error.message, node.lineno)
    if num_arguments is not None and not signature.accepts(num_arguments):
        wanted = f"{num_arguments} argument{'s' * (num_arguments != 1)}"
        return PolicyProblem(f"{task.entry_point!r} cannot be called with {wanted}", node.lineno)
    return None


def _num_arguments(task: TaskSpec) -> int | None:
    if task.parameters:
        return len(task.parameters)
    return len(task.examples[0].arguments) if task.examples else None


def _forbidden(tree: ast.Module) -> Iterator[PolicyProblem]:
    for node in ast.walk(tree):
        line = getattr(node, "lineno", None)
        for name, reason in _used(node):
            yield PolicyProblem(f"uses {name}: {reason}", line)


def _used(node: ast.AST) -> Iterator[tuple[str, str]]:
    modules: list[str] = []
    names: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name.split(".")[0] for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [(node.module or "").split(".")[0]]
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.Name):
        names = [node.id]
    elif isinstance(node, ast.Attribute):
        names = [node.attr]
    yield from ((name, FORBIDDEN_MODULES[name]) for name in modules if name in FORBIDDEN_MODULES)
    yield from ((name, FORBIDDEN_NAMES[name]) for name in names if name in FORBIDDEN_NAMES)
