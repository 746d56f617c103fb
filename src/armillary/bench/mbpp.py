"""MBPP's problems: the text and the first assert are the task, the other asserts grade.

Judges by calls, runs no assert. Of the 500 problems of the usual test split one has arguments of a class of its own; no
program counts as right there.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from armillary.bench.graded import GRADE_LIMITS, GradedByCalls, Jail
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.tasks import Budget, Example, Parameter, TaskSpec
from armillary.core.values import decode
from armillary.verify.sandbox.outcomes import Call

FILE = "mbpp.jsonl"
TEST_IDS = range(11, 511)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def load_problems(folder: Path, jail: Jail, limit: int | None = None, *, budget: Budget) -> list[GradedByCalls]:
    """Problems 11 to 510 in order, at most ``limit``.

    Raises:
        NotFoundError: the folder lacks ``mbpp.jsonl``.
        UsageError: the file is not what its name says.
    """
    path = folder / FILE
    if not path.is_file():
        raise NotFoundError(f"no {FILE} in {folder}", hint="pass --data DIR")
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        chosen = [row for row in rows if row["task_id"] in TEST_IDS][:limit]
        return [_problem(row, jail, budget) for row in chosen]
    except (KeyError, TypeError, ValueError, SyntaxError) as error:
        raise UsageError(f"{path} is no file of MBPP's: {error!r}") from error


def _problem(row: dict[str, Any], jail: Jail, budget: Budget) -> GradedByCalls:
    entry_point = _called(row["test_list"][0])
    calls = _values(row, jail)
    examples = tuple(Example(arguments, expected) for arguments, expected in calls[:1])
    num_parameters = len(calls[0][0]) if calls else len(_call(row["test_list"][0]).args)
    parameters = tuple(Parameter(letter) for letter in LETTERS[:num_parameters])
    task = TaskSpec(row["text"], entry_point, parameters, examples=examples, budget=budget)
    return GradedByCalls(f"MBPP/{row['task_id']}", "", task, calls[1:], jail)


def _call(line: str) -> ast.Call:
    """The call on the left of ``assert f(...) == value``."""
    [node] = ast.parse(line.strip()).body
    assert isinstance(node, ast.Assert)
    assert isinstance(node.test, ast.Compare)
    assert isinstance(node.test.left, ast.Call)
    return node.test.left


def _called(line: str) -> str:
    function = _call(line).func
    assert isinstance(function, ast.Name)
    return function.id


def _values(row: dict[str, Any], jail: Jail) -> tuple[tuple[tuple[Any, ...], Any], ...]:
    """Arguments and expected value of every assert, evaluated in the jail; empty where they cannot leave it."""
    pairs: list[ast.expr] = []
    for line in row["test_list"]:
        [node] = ast.parse(line.strip()).body
        assert isinstance(node, ast.Assert)
        assert isinstance(node.test, ast.Compare)
        arguments = ast.Tuple(_call(line).args, ast.Load())
        pairs.append(ast.Tuple([arguments, node.test.comparators[0]], ast.Load()))
    source = f"def armillary_values():\n    return {ast.unparse(ast.Tuple(pairs, ast.Load()))}"
    program = "\n".join((row["code"], row["test_setup_code"], source))
    [outcome] = jail.run(program, [Call("armillary_values", ())], limits=GRADE_LIMITS, seed=0).outcomes
    return decode(outcome.value) if outcome.kind == "returned" else ()
