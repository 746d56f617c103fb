"""The article's line as a call in Python, judged with the real verifier."""

from __future__ import annotations

from typing import Any

import pytest

import armillary
from armillary.core.errors import TaskFormatError, UsageError
from armillary.core.verdicts import Status
from armillary.verify.constraints import (
    VERIFY,
    Constraint,
    input_constraints,
    output_constraints,
    temporal_constraints,
)

CODE = "def double(x):\n    return 2 * x\n"


def texts(constraint: Constraint) -> list[str]:
    return [item.text for item in constraint.conditions]


def test_the_articles_line_runs() -> None:
    verdict = armillary.VERIFY(
        CODE,
        CONSTRAINTS=[
            armillary.input_constraints("x > 0"),
            armillary.output_constraints("result % 2 == 0"),
            armillary.temporal_constraints("steps < 1000"),
        ],
    )
    assert verdict.status is Status.TESTED


def halve(x: int) -> int:
    return x / 2  # type: ignore[return-value]


def test_a_function_is_judged_by_its_source_and_lambdas_by_theirs() -> None:
    verdict = VERIFY(halve, [input_constraints(lambda x: x > 0), output_constraints(lambda result: result % 1 == 0)])
    assert verdict.counterexample is not None
    assert (verdict.status, verdict.counterexample.call) == (Status.REFUTED, "halve(1)")


def test_lambdas_on_one_line_and_in_each_other_are_told_apart() -> None:
    bound = 3
    found = temporal_constraints(lambda steps: steps < 3, lambda xs, steps: steps <= len(xs) and all(x for x in xs))
    assert texts(found) == ["steps < 3", "steps <= len(xs) and all((x for x in xs))"]
    outer = lambda x: lambda y: y > x  # noqa: E731
    assert texts(input_constraints(outer)) == ["lambda y: y > x"]
    assert texts(input_constraints(outer(1))) == ["y > x"]
    assert texts(input_constraints(lambda x: x < bound)) == ["x < bound"]
    assert texts(input_constraints(lambda: True)) == ["True"]


def named(x: int) -> bool:
    return x > 0


@pytest.mark.parametrize("condition", [3, None, named, len])
def test_a_condition_is_text_or_a_lambda(condition: Any) -> None:
    with pytest.raises(UsageError, match="must be text or a lambda"):
        input_constraints(condition)


@pytest.mark.parametrize("file", ["<text>", __file__])
def test_a_lambda_whose_source_is_not_at_hand_is_refused(file: str) -> None:
    made = eval(compile("\n" * 9000 + "lambda x: x > 0", file, "eval"))
    with pytest.raises(UsageError, match=r"line 9001 of .* cannot be found"):
        input_constraints(made)


def test_a_lambda_whose_file_is_no_python_any_more_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "gone.py"
    path.write_text("lambda x: (")
    with pytest.raises(UsageError, match="cannot be found"):
        input_constraints(eval(compile("lambda x: x", str(path), "eval")))


def test_what_is_no_constraint_or_no_code_is_refused() -> None:
    with pytest.raises(UsageError, match="a constraint must be one of"):
        VERIFY(CODE, ["x > 0"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"the source of .* cannot be found"):
        VERIFY(len, [output_constraints("result > 0")])
    with pytest.raises(UsageError, match="the source of 3 cannot be found"):
        VERIFY(3, [])  # type: ignore[arg-type]


def test_a_condition_over_unknown_names_is_a_faulty_task() -> None:
    with pytest.raises(TaskFormatError, match=r"ensures\[0\]"):
        VERIFY(CODE, [output_constraints("y")])
