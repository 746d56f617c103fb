"""HumanEval's problems, and a judge that holds answers to their hidden tests inside the jail.

The hidden tests never reach a solver: a problem's ``prompt`` is all that it may see. Nor do they meet its program: that
only gets inputs and gives values of exact built-in types, so another object fails, even one that would have been equal.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from armillary.bench.graded import Jail
from armillary.core.errors import NotFoundError, UsageError, ValueCodecError
from armillary.core.tasks import Budget, TaskSpec
from armillary.core.values import decode
from armillary.verify.comparison import equal_by_value
from armillary.verify.sandbox.outcomes import Call, Limits, Outcome
from armillary.verify.spec_python import task_from_stub

BASE_FILE = "HumanEval.jsonl.gz"
PLUS_FILE = "HumanEvalPlus.jsonl.gz"
JUDGE_LIMITS = Limits(wall_s=20.0, cpu_s=15, call_cpu_s=5.0)
# Any root is right there, so another answer than the reference's is no error.
SEVERAL_RIGHT_ANSWERS = frozenset({"HumanEval/32"})
# Both run trusted code alone: the test with the reference, then with the values that a program gave.
RECORD = """
import copy as _copy
def _record():
    calls = []
    def candidate(*arguments):
        calls.append(_copy.deepcopy(arguments))
        return {entry_point}(*arguments)
    check(candidate)
    return calls
"""
REPLAY = """
def _replay(results):
    rest = iter(results)
    check(lambda *arguments: next(rest))
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with what is kept from the solver.

    Attributes:
        prompt: stub with a docstring.
        test: source of ``check(candidate)``, which asserts.
        reference: a right program.
        plus_inputs: argument lists on which an answer must agree with the reference; empty without that data.
    """

    task_id: str
    prompt: str
    entry_point: str
    test: str
    reference: str
    plus_inputs: tuple[tuple[Any, ...], ...] = ()


def load_problems(folder: Path, limit: int | None = None) -> list[Problem]:
    """Read the first problems, with the extra inputs if their file is there.

    Raises:
        NotFoundError: the folder lacks ``HumanEval.jsonl.gz``.
        UsageError: a file is not what its name says.
    """
    if not (folder / BASE_FILE).is_file():
        raise NotFoundError(f"no {BASE_FILE} in {folder}", hint="pass --data DIR")
    extra = {row["task_id"]: row for row in _read(folder / PLUS_FILE)} if (folder / PLUS_FILE).is_file() else {}
    try:
        return [_problem(row, extra.get(row["task_id"])) for row in _read(folder / BASE_FILE)[:limit]]
    except (KeyError, TypeError) as error:
        raise UsageError(f"{folder}: a problem lacks the field {error}") from error


@dataclass(frozen=True, slots=True)
class GradedProblem:
    """A problem with its judge; satisfies ``graded.Graded``: right is what passes the larger set of tests."""

    problem: Problem
    hidden: HiddenTests
    task: TaskSpec
    group: str = ""

    @property
    def id(self) -> str:
        """The problem's own name."""
        return self.problem.task_id

    def is_right(self, code: str) -> bool:
        """Whether it passes the asserts and agrees with the reference on all extra inputs."""
        return self.hidden.passes_plus(self.problem, code)

    def is_right_by_base(self, code: str) -> bool:
        """Whether it passes the original asserts."""
        return self.hidden.passes(self.problem, code)


def graded_problems(folder: Path, jail: Jail, limit: int | None = None, *, budget: Budget) -> list[GradedProblem]:
    """The first problems as tasks: all that their stubs say, and nothing else.

    Raises:
        NotFoundError: the folder lacks ``HumanEval.jsonl.gz``.
        UsageError: a file is not what its name says.
    """
    hidden = HiddenTests(jail)
    return [
        GradedProblem(item, hidden, replace(task_from_stub(item.prompt, entry_point=item.entry_point), budget=budget))
        for item in load_problems(folder, limit)
    ]


class HiddenTests:
    """Judge programs by what their solver never saw; each program and problem once.

    Args:
        jail: where programs run.
        limits: of each run.
    """

    def __init__(self, jail: Jail, limits: Limits = JUDGE_LIMITS) -> None:
        self._jail = jail
        self._limits = limits
        self._inputs: dict[str, list[tuple[Any, ...]]] = {}
        self._expected: dict[str, tuple[Outcome, ...]] = {}
        self._base: dict[tuple[str, str], bool] = {}
        self._plus: dict[tuple[str, str], bool] = {}

    def passes(self, problem: Problem, code: str) -> bool:
        """Whether the problem's own asserts hold on what the program returns for their inputs.

        Raises:
            UsageError: the reference itself fails the asserts, so that nothing can be judged.
        """
        key = (problem.task_id, code)
        if key not in self._base:
            self._base[key] = self._holds(problem, code)
        return self._base[key]

    def passes_plus(self, problem: Problem, code: str) -> bool:
        """Whether the asserts hold, and the program agrees with the reference on all extra inputs."""
        key = (problem.task_id, code)
        if key not in self._plus:
            self._plus[key] = self.passes(problem, code) and self._agrees(problem, code)
        return self._plus[key]

    def _holds(self, problem: Problem, code: str) -> bool:
        calls = [Call(problem.entry_point, arguments) for arguments in self._inputs_of(problem)]
        outcomes = self._jail.run(code, calls, limits=self._limits, seed=0).outcomes
        if any(outcome.kind != "returned" for outcome in outcomes):
            return False
        try:
            results = [decode(outcome.value) for outcome in outcomes]
        except ValueCodecError:  # forged: nothing that a function returns has such a form
            return False
        program = f"{problem.reference}\n\n{problem.test}\n{REPLAY}"
        (verdict,) = self._jail.run(program, [Call("_replay", (results,))], limits=self._limits, seed=0).outcomes
        return verdict.kind == "returned"

    def _inputs_of(self, problem: Problem) -> list[tuple[Any, ...]]:
        """The arguments with which the test calls a program that is right, in order."""
        if problem.task_id not in self._inputs:
            program = f"{problem.reference}\n\n{problem.test}\n{RECORD.format(entry_point=problem.entry_point)}"
            (outcome,) = self._jail.run(program, [Call("_record", ())], limits=self._limits, seed=0).outcomes
            if outcome.kind != "returned":
                raise UsageError(f"{problem.task_id}: the reference does not pass its own tests: {outcome.kind}")
            self._inputs[problem.task_id] = decode(outcome.value)
        return self._inputs[problem.task_id]

    def _agrees(self, problem: Problem, code: str) -> bool:
        if problem.task_id in SEVERAL_RIGHT_ANSWERS or not problem.plus_inputs:
            return True
        calls = [Call(problem.entry_point, arguments) for arguments in problem.plus_inputs]
        if problem.task_id not in self._expected:
            found = self._jail.run(problem.reference, calls, limits=self._limits, seed=0).outcomes
            self._expected[problem.task_id] = found
        expected = self._expected[problem.task_id]
        actual = self._jail.run(code, calls, limits=self._limits, seed=0).outcomes
        # An input on which the reference itself gives nothing proves nothing.
        return all(
            found.kind == "returned" and equal_by_value(wanted.value, found.value)
            for wanted, found in zip(expected, actual, strict=True)
            if wanted.kind == "returned"
        )


def _problem(row: dict[str, Any], extra: dict[str, Any] | None) -> Problem:
    inputs = [*extra["base_input"], *extra["plus_input"]] if extra else []
    return Problem(
        task_id=row["task_id"],
        prompt=row["prompt"],
        entry_point=row["entry_point"],
        test=row["test"],
        reference=row["prompt"] + row["canonical_solution"],
        plus_inputs=tuple(tuple(arguments) for arguments in inputs),
    )


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise UsageError(f"{path} is no gzipped JSON lines file: {error}") from error
