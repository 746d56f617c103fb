"""Problems of programming contests: statement, signature and worked examples are the task, some hundred calls grade.

The statements belong to others: they are read where they lie, and neither they nor answers to them are kept. Two
problems take linked lists, which no call can carry; no program counts as right there.
"""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from armillary.bench.graded import GradedByCalls, Jail
from armillary.core.errors import NotFoundError, TaskFormatError, UsageError
from armillary.core.tasks import Budget, TaskSpec
from armillary.verify.spec_python import task_from_stub

PATTERN = "*contest*.jsonl"
PRELUDE = "from typing import *\n\n"


def load_problems(folder: Path, jail: Jail, limit: int | None = None, *, budget: Budget) -> list[GradedByCalls]:
    """All problems in order, at most ``limit``.

    Raises:
        NotFoundError: the folder holds no such file.
        UsageError: the file is not what its name says.
    """
    path = next(iter(sorted(folder.glob(PATTERN))), None)
    if path is None:
        raise NotFoundError(f"no {PATTERN} in {folder}", hint="pass --data DIR")
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [_problem(row, jail, budget) for row in rows[:limit]]
    except (KeyError, TypeError, ValueError, SyntaxError, TaskFormatError) as error:
        raise UsageError(f"{path} is no file of contest problems: {error!r}") from error


def _problem(row: dict[str, Any], jail: Jail, budget: Budget) -> GradedByCalls:
    task = _task(row["prompt"], budget)
    calls = _calls(row["test"], [item.name for item in task.parameters])
    return GradedByCalls(row["task_id"], row["meta"]["difficulty"], task, calls, jail)


def _calls(test: str, names: list[str]) -> tuple[tuple[tuple[Any, ...], Any], ...]:
    """The pairs of ``test_input = {...}`` and ``assert f(**test_input) == value``; empty where inputs are objects."""
    nodes = ast.parse(test).body
    claims = [node.test for node in nodes if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare)]
    try:
        inputs = [ast.literal_eval(node.value) for node in nodes if _assigns(node)]
        values = [ast.literal_eval(claim.comparators[0]) for claim in claims]
    except ValueError:
        return ()
    return tuple((tuple(given[name] for name in names), value) for given, value in zip(inputs, values, strict=True))


def _assigns(node: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "test_input"


def _task(prompt: str, budget: Budget) -> TaskSpec:
    """A stub of a plain function in place of the method: its docstring is the statement."""
    tree = ast.parse(f"{prompt.rstrip()}\n        pass\n")
    statement = ast.get_docstring(tree) or ""
    method = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    method.args.args = method.args.args[1:]
    method.body = [ast.Expr(ast.Constant(statement))]
    stub = PRELUDE + ast.unparse(ast.fix_missing_locations(method))
    return replace(task_from_stub(stub, entry_point=method.name), budget=budget)
