"""Put a model's function back into the file that the user's stub came from. Judges nothing, runs nothing."""

from __future__ import annotations

import ast

from armillary.core.tasks import TaskSpec
from armillary.verify.source import SourceError, defined_functions, parse_module


def assemble(task: TaskSpec, code: str) -> str:
    """The code, and before it what the stub around the function imports and defines but the code does not.

    Models leave out helpers that they were shown, since they stand in the user's file already. Left as they are: code
    without the function, code with ``__future__`` imports, which must stay first, and what is no Python.
    """
    try:
        stub, written = parse_module(task.prompt), parse_module(code)
    except SourceError:
        return code
    known = {name for node in written.body for name in _bound_names(node)}
    has_both = task.entry_point in known and task.entry_point in {item.name for item in defined_functions(stub)}
    if not has_both or any(_is_future(node) for node in written.body):
        return code
    missing = [ast.unparse(node) for node in stub.body if _bound_names(node) - known and not _is_future(node)]
    return "\n\n".join((*missing, code)) if missing else code


def _bound_names(node: ast.stmt) -> set[str]:
    match node:
        case ast.Import(names=names):
            return {alias.asname or alias.name.split(".")[0] for alias in names}
        case ast.ImportFrom(names=names):
            return {alias.asname or alias.name for alias in names}
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)}
        case _:
            return set()


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
