"""Hold recorded wrong programs, and right ones, against the verifier with a reference: who is refuted, and how soon."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from armillary.bench.humaneval import HiddenTests, Problem
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import Status
from armillary.verify.spec_python import task_from_stub
from armillary.verify.verifier import CodeVerifier

PATTERN = "*seed*.jsonl"
MAX_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """One program that a model wrote for a problem, and where it comes from."""

    source: str
    problem: Problem
    code: str


@dataclass(frozen=True, slots=True)
class Refutation:
    """What the verifier said of a program whose truth is known.

    Attributes:
        is_wrong: whether tests that the verifier does not have tell it from the reference.
        has_counterexample: whether it was refuted by a call, not by its text.
    """

    source: str
    task_id: str
    is_wrong: bool
    status: Status
    has_counterexample: bool
    elapsed_s: float

    @property
    def is_refuted_in_time(self) -> bool:
        """Whether it was refuted within ``MAX_SECONDS``."""
        return self.status == Status.REFUTED and self.elapsed_s <= MAX_SECONDS


def load_recorded(folder: Path, problems: Sequence[Problem]) -> list[Recorded]:
    """All recorded programs of a folder, file by file, and before them the references themselves.

    Raises:
        NotFoundError: the folder holds none.
        UsageError: a file is not what its name says.
    """
    paths = sorted(folder.glob(PATTERN))
    if not paths:
        raise NotFoundError(f"no {PATTERN} in {folder}", hint="pass --data DIR with recorded programs")
    known = {problem.task_id: problem for problem in problems}
    found = [Recorded("reference", problem, problem.reference) for problem in problems]
    for path in paths:
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            kept = [row for row in rows if row["task_id"] in known]
            found += [Recorded(path.stem, known[row["task_id"]], row["solution"]) for row in kept]
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path} is no file of recorded programs: {error!r}") from error
    return found


def task_with_reference(problem: Problem) -> TaskSpec:
    """The problem's stub, with a program to compare with."""
    return replace(task_from_stub(problem.prompt, entry_point=problem.entry_point), reference=problem.reference)


def judge_recorded(recorded: Sequence[Recorded], verifier: CodeVerifier, hidden: HiddenTests) -> Iterator[Refutation]:
    """Judge one program after the other."""
    for item in recorded:
        start_s = time.perf_counter()
        verdict = verifier.verify(task_with_reference(item.problem), item.code)
        elapsed_s = time.perf_counter() - start_s
        yield Refutation(
            source=item.source,
            task_id=item.problem.task_id,
            is_wrong=item.source != "reference" and not hidden.passes_plus(item.problem, item.code),
            status=verdict.status,
            has_counterexample=verdict.counterexample is not None,
            elapsed_s=elapsed_s,
        )
