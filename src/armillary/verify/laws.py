"""Evaluate a task's laws in a jail of their own; the candidate, in another, only answers the calls that they make.

So a law weighs as much as an example: the candidate's process holds neither the law nor what it compares, and a forged
answer is only a wrong answer. A law is evaluated anew for each further answer that it needs, which its calls bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import TaskSpec
from armillary.core.values import decode
from armillary.verify.comparison import kind_and_body
from armillary.verify.execution import Execution, Jail, Observation, run_calls
from armillary.verify.generate import Arguments
from armillary.verify.predicates import equality_sides, law_name, law_source
from armillary.verify.readable import readable_value
from armillary.verify.rendering import render_tagged
from armillary.verify.sandbox.outcomes import Call

MAX_CALLS = 64
"""Calls of the entry point that one side of a law may make on one input."""

Ask = Callable[[Sequence[Arguments]], Execution]


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of a law came to on one input.

    Attributes:
        seen: the side's value; or, where ``is_candidates``, the answer of the candidate's that left it without one.
    """

    seen: Observation
    is_candidates: bool = False


@dataclass(slots=True)
class _Evaluation:
    function: str
    inputs: Arguments
    answers: list[Any] = field(default_factory=list)
    side: Side | None = None


class Laws:
    """A task's laws in a jail of their own."""

    def __init__(self, task: TaskSpec, jail: Jail) -> None:
        self._jail = jail
        self._source = law_source(task)
        sides = [equality_sides(item.text) for item in task.laws]
        self._functions = [
            (law_name(index),) if found is None else (law_name(index, "left"), law_name(index, "right"))
            for index, found in enumerate(sides)
        ]

    def evaluate(self, place: int, inputs: Sequence[Arguments], ask: Ask) -> list[tuple[Side, ...]] | Execution:
        """Both sides of law number ``place`` on each input, or its single truth value where it is no equality.

        Args:
            place: the law's index in the task.
            inputs: arguments of the task's parameters.
            ask: makes calls of the candidate.

        Returns:
            One tuple per input; or what ``ask`` gave when the candidate did not load.

        Raises:
            TaskFormatError: the laws themselves do not load.
        """
        functions = self._functions[place]
        evaluations = [_Evaluation(name, row) for row in inputs for name in functions]
        waiting = evaluations
        while waiting:
            questions = self._advance(waiting)
            waiting = [item for item, _ in questions]
            execution = ask([arguments for _, arguments in questions]) if questions else Execution(())
            if execution.load_error:
                return execution
            for evaluation, seen in zip(waiting, execution.observations, strict=True):
                _take(evaluation, seen)
            waiting = [item for item in waiting if item.side is None]
        found = [item.side for item in evaluations if item.side is not None]
        width = len(functions)
        return [tuple(found[start : start + width]) for start in range(0, len(found), width)]

    def _advance(self, waiting: Sequence[_Evaluation]) -> list[tuple[_Evaluation, Arguments]]:
        """Evaluate each as far as its answers go; returns those that ask for a further one, with its arguments."""
        calls = [Call(item.function, (item.answers, *item.inputs)) for item in waiting]
        found = run_calls(self._jail, self._source, calls)
        if found.load_error:
            raise TaskFormatError(f"the task's laws do not load: {found.load_error}")
        questions = []
        for item, seen in zip(waiting, found.observations, strict=True):
            if seen.kind != "returned":
                item.side = Side(seen)
                continue
            _, (kind, body) = kind_and_body(seen.value)
            if kind == "value":
                item.side = Side(Observation("returned", value=body, text=render_tagged(body)))
            elif len(item.answers) >= MAX_CALLS:
                item.side = Side(Observation("skipped", text=f"it calls the code more than {MAX_CALLS} times"))
            else:
                questions.append((item, decode(body)))
        return questions


def _take(evaluation: _Evaluation, seen: Observation) -> None:
    value, problem = readable_value(seen)
    if problem is not None:
        evaluation.side = Side(problem, is_candidates=True)
    else:
        evaluation.answers.append(value)
