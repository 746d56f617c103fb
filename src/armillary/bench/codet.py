"""CodeT's recordings: a hundred programs, and a hundred texts of tests, that a model wrote for each HumanEval problem.

Reads them and finds the problem that each belongs to; judges nothing. The model was shown the prompts without their
examples, so that a prompt's examples are evidence here that it never saw.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from armillary.bench.graded import Jail
from armillary.bench.humaneval import BASE_FILE, GradedProblem, graded_problems
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.tasks import Budget, Example, TaskSpec
from armillary.reason.assemble import assemble
from armillary.verify.docstring_examples import call_arguments
from armillary.verify.extract import extract_code
from armillary.verify.source import SourceError, literal, parse_module

PATTERN = "codet_humaneval_*_solutions.jsonl"
PROBLEMS_FOLDER = "humaneval"
# What CodeT takes of each text unless told otherwise.
TESTS_PER_TEXT = 5

_BODY_END = re.compile(r"\n(?=[^\s)\]}])")
_FUNCTION = re.compile(r"^def\s+(\w+)\s*\(", re.MULTILINE)
_ASSERT = re.compile(r"^[ \t]*assert\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RecordedProblem:
    """A problem, and what a model wrote for it.

    Attributes:
        problem: with its judge.
        programs: one per sample, in the order of the file, put together as the loop does it.
        tests: one group per text, at most ``TESTS_PER_TEXT`` each; many texts hold none that can be read.
    """

    problem: GradedProblem
    programs: tuple[str, ...]
    tests: tuple[tuple[Example, ...], ...]


def load_problems(folder: Path, jail: Jail, limit: int | None = None, *, budget: Budget) -> list[GradedProblem]:
    """The first problems of HumanEval, which lies beside the recordings.

    Raises:
        NotFoundError: it does not lie there.
        UsageError: a file is not what its name says.
    """
    beside = folder.resolve().parent / PROBLEMS_FOLDER
    if not (beside / BASE_FILE).is_file():
        raise NotFoundError(
            f"the recordings in {folder} speak of HumanEval, and there is no {PROBLEMS_FOLDER}/{BASE_FILE} beside them",
            hint=f"put HumanEval into {beside}",
        )
    return graded_problems(beside, jail, limit, budget=budget)


def read_recordings(folder: Path, problems: Sequence[GradedProblem]) -> list[RecordedProblem]:
    """What a model wrote for each of the problems.

    Raises:
        NotFoundError: the folder lacks one of the two files, or a problem lacks its samples.
        UsageError: a file is not what its name says.
    """
    path = next(iter(sorted(folder.glob(PATTERN))), folder / PATTERN)
    solutions = _read(path)
    texts = _read(path.with_name(path.name.replace("_solutions", "_tests")))
    found = []
    for problem in problems:
        prompt = _prompt_of(problem, solutions, path)
        written = next((samples for known, samples in texts.items() if known.startswith(prompt)), ())
        programs = _programs(problem.task, prompt, solutions[prompt])
        found.append(RecordedProblem(problem, programs, tuple(read_tests(problem.task, text) for text in written)))
    return found


def read_tests(task: TaskSpec, text: str) -> tuple[Example, ...]:
    """The first tests of a text that continues the word ``assert``: calls with literals, and what they must equal."""
    found = (_read_test(task, piece.strip()) for piece in _ASSERT.split(f"assert {text}")[1:])
    return tuple(islice((test for test in found if test is not None), TESTS_PER_TEXT))


def _read_test(task: TaskSpec, piece: str) -> Example | None:
    # What stands behind the statement may be cut off, or be no Python.
    for source in (piece, piece.partition("\n")[0]):
        try:
            statement = parse_module(f"assert {source}").body[0]
            assert isinstance(statement, ast.Assert)
            return _example(task, statement.test)
        except SourceError:
            continue
    return None


def _example(task: TaskSpec, node: ast.expr) -> Example | None:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            names = tuple(item.name for item in task.parameters) or None
            for call, result in ((left, right), (right, left)):
                arguments = call_arguments(call, task.entry_point, names)
                if arguments is not None:
                    return Example(arguments, literal(result), origin="model")
    return None


def _programs(task: TaskSpec, prompt: str, samples: Sequence[str]) -> tuple[str, ...]:
    """Whole programs; a completion is over where the function's body is: at the next line that is not indented."""
    bodies = [_BODY_END.split(sample, maxsplit=1)[0] for sample in samples]
    known = {body: assemble(task, extract_code(prompt + body, task.entry_point)) for body in dict.fromkeys(bodies)}
    return tuple(known[body] for body in bodies)


def _prompt_of(problem: GradedProblem, solutions: dict[str, Any], path: Path) -> str:
    """The prompt that was made from a problem's: of the same function, and alike for longest from its beginning."""
    wanted = problem.task.entry_point
    alike = [prompt for prompt in solutions if _FUNCTION.findall(prompt)[-1:] == [wanted]]
    if not alike:
        raise NotFoundError(f"{path} holds nothing for {problem.id}, {wanted}")
    return max(alike, key=lambda prompt: _num_alike(prompt, problem.problem.prompt))


def _num_alike(left: str, right: str) -> int:
    """Characters until two texts differ."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _read(path: Path) -> dict[str, tuple[str, ...]]:
    """Prompt -> samples."""
    if not path.is_file():
        raise NotFoundError(f"no {path.name} in {path.parent}", hint="pass --data DIR with CodeT's recordings")
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        found = {str(row["prompt"]): tuple(map(str, row["samples"])) for row in rows}
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is no file of recorded samples: {error!r}") from error
    if not all(found.values()):
        raise UsageError(f"{path} has a prompt without samples")
    return found
