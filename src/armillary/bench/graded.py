"""A task together with the calls that grade its answers, which no solver sees. Loads no data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from armillary.core.tasks import TaskSpec
from armillary.core.values import encode
from armillary.verify.comparison import equal_by_value
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits

GRADE_LIMITS = Limits(wall_s=20.0, cpu_s=15, call_cpu_s=5.0)


class Jail(Protocol):
    """Anything that runs a program's functions where they can do no harm."""

    def run(self, source: str, calls: Sequence[Call], *, limits: Limits, seed: int) -> JailResult:
        """Load the source and make the calls, in order, in one process."""
        ...


class Graded(Protocol):
    """One problem of a data set."""

    @property
    def id(self) -> str:
        """Its name in the data set."""
        ...

    @property
    def group(self) -> str:
        """What its results are printed under, such as a difficulty; or empty."""
        ...

    @property
    def task(self) -> TaskSpec:
        """All that a solver may see."""
        ...

    def is_right(self, code: str) -> bool:
        """Whether a program passes everything that is known of the problem."""
        ...

    def is_right_by_base(self, code: str) -> bool:
        """The same by the data set's original, smaller tests, where it has two sets."""
        ...


@dataclass(frozen=True, slots=True)
class GradedByCalls:
    """A problem whose grade is a list of calls and the values that they must give; satisfies ``Graded``.

    Attributes:
        calls: arguments -> value; empty where nothing of the problem's own tests can be carried into the jail, so that
            no program is right.
    """

    id: str
    group: str
    task: TaskSpec
    calls: tuple[tuple[tuple[Any, ...], Any], ...]
    jail: Jail

    def is_right(self, code: str) -> bool:
        """Whether every call gives its value, floats within the tolerance of examples."""
        calls = [Call(self.task.entry_point, arguments) for arguments, _ in self.calls]
        outcomes = self.jail.run(code, calls, limits=GRADE_LIMITS, seed=0).outcomes
        return bool(calls) and all(
            outcome.kind == "returned" and equal_by_value(encode(expected), outcome.value)
            for outcome, (_, expected) in zip(outcomes, self.calls, strict=True)
        )

    def is_right_by_base(self, code: str) -> bool:
        """The same: there is one set of tests."""
        return self.is_right(code)
