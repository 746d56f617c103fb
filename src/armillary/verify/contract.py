"""Evaluate a task's predicates in a jail of their own, on inputs and on what a candidate gave. Judges nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import TaskSpec
from armillary.verify.execution import Jail, Observation, run_calls
from armillary.verify.generate import Arguments
from armillary.verify.predicates import contract_source
from armillary.verify.sandbox.outcomes import Call


class Contract:
    """A task's predicates in a jail of their own."""

    def __init__(self, task: TaskSpec, jail: Jail) -> None:
        self._task = task
        self._jail = jail
        self._source = contract_source(task)

    def admits(self, inputs: Sequence[Arguments]) -> list[bool]:
        """Whether each input satisfies all of ``requires``; one on which a predicate fails does not."""
        return [all(item.value is True for item in row) for row in self.requires(inputs)]

    def requires(self, inputs: Sequence[Arguments]) -> list[tuple[Observation, ...]]:
        """What each ``requires`` makes of each input."""
        return self._evaluate([f"requires_{index}" for index in range(len(self._task.requires))], inputs)

    def demanded_errors(self, inputs: Sequence[Arguments]) -> list[tuple[str, ...] | None]:
        """Exceptions that each input must raise; None where a condition gave no answer."""
        names = [f"raises_{index}" for index in range(len(self._task.raises))]
        rows = self._evaluate(names, inputs)
        errors = [error for error, _ in self._task.raises]
        return [
            tuple(error for error, item in zip(errors, row, strict=False) if item.value is True)
            if all(item.is_answer for item in row)
            else None
            for row in rows
        ]

    def ensures(self, inputs: Sequence[Arguments], results: Sequence[Any]) -> list[tuple[Observation, ...]]:
        """What each ``ensures`` makes of each input and its result."""
        names = [f"ensures_{index}" for index in range(len(self._task.ensures))]
        return self._evaluate(names, [(*row, result) for row, result in zip(inputs, results, strict=True)])

    def temporal(self, inputs: Sequence[Arguments], steps: Sequence[int]) -> list[tuple[Observation, ...]]:
        """What each ``temporal`` makes of each input and the steps that were counted on it."""
        names = [f"temporal_{index}" for index in range(len(self._task.temporal))]
        return self._evaluate(names, [(*row, count) for row, count in zip(inputs, steps, strict=True)])

    def _evaluate(self, names: Sequence[str], rows: Sequence[Arguments]) -> list[tuple[Observation, ...]]:
        if not names or not rows:
            return [()] * len(rows)
        calls = [Call(name, row) for row in rows for name in names]
        found = run_calls(self._jail, self._source, calls)
        if found.load_error:
            raise TaskFormatError(f"the task's predicates do not load: {found.load_error}")
        width = len(names)
        return [found.observations[start : start + width] for start in range(0, len(calls), width)]
