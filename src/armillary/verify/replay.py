"""Judge every attempt of a trace again and compare: a verdict that cannot be had again was worth nothing.

Needs no model. Only time may differ; everything else of a verdict must come out the same, the sandbox's tier included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armillary.core.errors import TaskFormatError, TraceError
from armillary.core.protocols import Verifier
from armillary.core.tasks import TaskSpec, task_from_json
from armillary.core.trace import TraceEvent, read_trace
from armillary.core.verdicts import Status, Verdict, replay_form, verdict_from_json


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """One attempt, judged again.

    Attributes:
        attempt: the attempt's id in the trace.
        recorded: status in the trace.
        replayed: status now.
        differences: names of the verdict's fields that differ, empty when it matches.
    """

    attempt: str
    recorded: str
    replayed: str
    differences: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """Whether the same verdict came out."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay found.

    Attributes:
        unjudged: ids of attempts that the trace holds no verdict of, as when the run was interrupted.
        problems: what is wrong with the trace apart from single verdicts.
    """

    rows: tuple[ReplayRow, ...]
    unjudged: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """Whether every verdict came out the same and the answer rests on one of them."""
        return not self.problems and all(row.matches for row in self.rows)


@dataclass(frozen=True, slots=True)
class _Record:
    task: TaskSpec
    seed: int
    codes: dict[str, str]
    verdicts: dict[str, Verdict]
    answers: tuple[tuple[str | None, str], ...]


def replay(path: Path, verifier: Verifier, *, on_row: Callable[[ReplayRow], None] | None = None) -> ReplayReport:
    """Verify every judged attempt of a trace again.

    Args:
        path: a trace as ``reason`` writes it.
        verifier: judges the code; built like the one that wrote the trace.
        on_row: told each attempt as soon as it is judged.

    Raises:
        NotFoundError: there is no such file.
        TraceError: the chain is broken, or the events are not those of a solve.
    """
    record = _read(path)
    rows = []
    for attempt, recorded in record.verdicts.items():
        if attempt not in record.codes:
            continue
        again = verifier.verify(record.task, record.codes[attempt], seed=record.seed)
        row = ReplayRow(attempt, recorded.status.value, again.status.value, _differences(recorded, again))
        rows.append(row)
        if on_row is not None:
            on_row(row)
    unjudged = tuple(attempt for attempt in record.codes if attempt not in record.verdicts)
    problems = [*_problems(record), *_suspicion_problems(record, verifier)]
    return ReplayReport(tuple(rows), unjudged, tuple(problems))


def _read(path: Path) -> _Record:
    seed: int | None = None
    task: TaskSpec | None = None
    codes: dict[str, str] = {}
    verdicts: dict[str, Verdict] = {}
    answers: list[tuple[str | None, str]] = []
    for event in read_trace(path):
        if event.kind == "header":
            seed = _field(event, "seed", int)
        elif event.kind == "task":
            task = _task(event)
        elif event.kind == "attempt":
            codes[_id(event, "id")] = _field(event, "code", str)
        elif event.kind == "verdict":
            verdicts[_id(event, "attempt")] = verdict_from_json(event.body.get("verdict"))
        elif event.kind == "answer":
            answered = None if event.body.get("attempt") is None else _id(event, "attempt")
            answers.append((answered, _field(event, "status", str)))
    if seed is None or task is None:
        raise TraceError(f"{path}: no header or no task event; this is not the trace of a solve")
    return _Record(task, seed, codes, verdicts, tuple(answers))


def _task(event: TraceEvent) -> TaskSpec:
    try:
        return task_from_json(event.body)
    except TaskFormatError as error:
        raise TraceError(f"event {event.seq}: {error.message}") from error


def _id(event: TraceEvent, name: str) -> str:
    value = event.body.get(name)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TraceError(f"event {event.seq}: a {event.kind} needs the field {name!r}")
    return str(value)


def _field(event: TraceEvent, name: str, kind: type) -> Any:
    value = event.body.get(name)
    if type(value) is not kind:
        raise TraceError(f"event {event.seq}: the {event.kind} has no {kind.__name__} {name!r}")
    return value


def _differences(recorded: Verdict, again: Verdict) -> tuple[str, ...]:
    before, after = replay_form(recorded), replay_form(again)
    return tuple(name for name in before if before[name] != after[name])


def _problems(record: _Record) -> list[str]:
    problems = [
        f"verdict on attempt {name}, which the trace does not hold"
        for name in record.verdicts
        if name not in record.codes
    ]
    if not record.answers:
        problems.append("the trace has no answer: the run was interrupted")
    for attempt, status in record.answers:
        verdict = None if attempt is None else record.verdicts.get(attempt)
        if attempt is not None and verdict is None:
            problems.append(f"the answer rests on attempt {attempt}, of which the trace holds no verdict")
        elif verdict is not None and verdict.status.value != status:
            problems.append(f"the answer says {status}, its attempt {attempt} was judged {verdict.status.value}")
        elif attempt is None and status not in (Status.UNKNOWN, Status.SPEC_SUSPECT):
            problems.append(f"the answer says {status} and names no attempt")
    return problems


def _suspicion_problems(record: _Record, verifier: Verifier) -> list[str]:
    """A task that was answered with a suspicion alone must be suspected again; no code is needed for that."""
    if (None, Status.SPEC_SUSPECT.value) not in record.answers:
        return []
    again = verifier.verify(record.task, "", seed=record.seed).status
    if again == Status.SPEC_SUSPECT:
        return []
    return [f"the answer says {Status.SPEC_SUSPECT.value}, the task was judged {again.value} now"]
