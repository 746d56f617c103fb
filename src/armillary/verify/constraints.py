"""``VERIFY(code, CONSTRAINTS=[...])`` as a call in Python: the same line as the text that ``spec_literal`` reads.

Conditions are texts, or lambdas whose source is looked up in their file; either way they are never run here.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType

from armillary.core.errors import UsageError
from armillary.core.settings import Settings
from armillary.core.verdicts import Verdict
from armillary.verify.facade import require_type, verify
from armillary.verify.source import SourceError, parse_module
from armillary.verify.spec_literal import Condition, task_of

ConditionSource = str | Callable[..., object]


@dataclass(frozen=True, slots=True)
class Constraint:
    """Some conditions of one kind."""

    conditions: tuple[Condition, ...]


def input_constraints(*conditions: ConditionSource) -> Constraint:
    """Conditions on the parameters: which inputs count, such as ``"x > 0"``."""
    return _constraint("requires", conditions)


def output_constraints(*conditions: ConditionSource) -> Constraint:
    """Conditions on the parameters and ``result``, such as ``"result % 2 == 0"``."""
    return _constraint("ensures", conditions)


def temporal_constraints(*conditions: ConditionSource) -> Constraint:
    """Conditions on the parameters and ``steps``, the counted steps of a call, such as ``"steps < 1000"``."""
    return _constraint("temporal", conditions)


def VERIFY(
    code: str | Callable[..., object],
    CONSTRAINTS: Sequence[Constraint],
    *,
    seed: int = 0,
    settings: Settings | None = None,
) -> Verdict:
    """Judge a program's last function by constraints.

    Args:
        code: Python source, or a function whose source is looked up.
        CONSTRAINTS: what must hold.
        seed: of the generated inputs.
        settings: instead of those that ``load_settings`` finds.

    Raises:
        UsageError: an argument has another type, or a source cannot be found.
        TaskFormatError: the code has no function, or a condition cannot be evaluated.
        SandboxError: this machine cannot offer a jail as strong as the settings ask for.
    """
    conditions: list[Condition] = []
    for item in CONSTRAINTS:
        require_type(item, (Constraint,), "a constraint must be one of input_, output_ and temporal_constraints(...)")
        conditions += item.conditions
    source = code if isinstance(code, str) else _source_of(code)
    return verify(task_of(source, conditions), source, seed=seed, settings=settings)


def _constraint(kind: str, conditions: tuple[ConditionSource, ...]) -> Constraint:
    return Constraint(tuple(Condition(kind, _text_of(item)) for item in conditions))


def _text_of(condition: ConditionSource) -> str:
    if isinstance(condition, str):
        return condition
    if not isinstance(condition, FunctionType) or condition.__name__ != "<lambda>":
        raise UsageError(f"a condition must be text or a lambda, not {condition!r}")
    code = condition.__code__
    try:
        tree = parse_module("".join(linecache.getlines(code.co_filename, condition.__globals__)))
    except SourceError as error:
        raise _lost(code) from error
    around = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and _holds(node.body, code)]
    if not around:
        raise _lost(code)
    # The last one found lies innermost: a lambda inside of a lambda is found after it.
    return ast.unparse(around[-1].body)


def _holds(body: ast.expr, code: CodeType) -> bool:
    """Whether all instructions of a lambda come from an expression; its head has a position without width."""
    first, last = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    places = [place for place in code.co_positions() if None not in place and place[2] != place[3]]
    return bool(places) and all(
        first <= (line or 0, column or 0) and (end_line or 0, end_column or 0) <= last
        for line, end_line, column, end_column in places
    )


def _lost(code: CodeType) -> UsageError:
    where = f"line {code.co_firstlineno} of {code.co_filename}"
    return UsageError(f"the source of the condition in {where} cannot be found", hint="write the condition as text")


def _source_of(function: Callable[..., object]) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise UsageError(f"the source of {function!r} cannot be found", hint="give the code as text") from error
