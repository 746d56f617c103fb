"""Judge every attempt of a trace again and compare: a verdict that cannot be had again was worth nothing.

Needs no model. Only time may differ; everything else of a verdict must come out the same, the sandbox's tier included.
Provers are bound by time, so what they did not prove may be told in other words; what they proved must be proved again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armillary.core.errors import TaskFormatError, TraceError
from armillary.core.protocols import Verifier
from armillary.core.tasks import TaskSpec, task_from_json
from armillary.core.trace import FORMAT_VERSION, TraceEvent, read_trace
from armillary.core.verdicts import Prover, Status, Verdict, replay_form, verdict_from_json


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """One attempt, judged again.

    Attributes:
        attempt: the attempt's id in the trace.
        recorded: status in the trace.
        replayed: status now.
        differences: names of the verdict's fields that differ, empty when it matches.
        note: what differs and is not held against the trace, or empty.
    """

    attempt: str
    recorded: str
    replayed: str
    differences: tuple[str, ...] = ()
    note: str = ""

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


@dataclass(slots=True)
class _Record:
    """The events of one solve. The first of its kind counts; whatever comes again or too early is a problem."""

    task: TaskSpec
    seed: int
    codes: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    answer: tuple[str | None, str] | None = None
    problems: list[str] = field(default_factory=list)

    def take(self, event: TraceEvent) -> None:
        if self.answer is not None:
            self.problems.append(f"event {event.seq}: {event.kind} after the answer")
        elif event.kind == "attempt":
            self._take_attempt(event)
        elif event.kind == "verdict":
            self._take_verdict(event)
        elif event.kind == "answer":
            name = None if event.body.get("attempt") is None else _id(event, "attempt")
            self.answer = name, _field(event, "status", str)

    def _take_attempt(self, event: TraceEvent) -> None:
        name, code = _id(event, "id"), _field(event, "code", str)
        if name in self.codes:
            self.problems.append(f"event {event.seq}: attempt {name} stands here a second time")
        self.codes.setdefault(name, code)

    def _take_verdict(self, event: TraceEvent) -> None:
        name, verdict = _id(event, "attempt"), verdict_from_json(event.body.get("verdict"))
        if name not in self.codes:
            self.problems.append(f"event {event.seq}: verdict on attempt {name}, which the trace does not hold yet")
        elif name in self.verdicts:
            self.problems.append(f"event {event.seq}: a second verdict on attempt {name}")
        else:
            self.verdicts[name] = verdict


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
        again = verifier.verify(record.task, record.codes[attempt], seed=record.seed)
        row = ReplayRow(attempt, recorded.status.value, again.status.value, *_compare(recorded, again))
        rows.append(row)
        if on_row is not None:
            on_row(row)
    unjudged = tuple(attempt for attempt in record.codes if attempt not in record.verdicts)
    problems = [*record.problems, *_answer_problems(record), *_suspicion_problems(record, verifier)]
    return ReplayReport(tuple(rows), unjudged, tuple(problems))


def has_looked_for_proofs(path: Path) -> bool:
    """Whether some verdict of a trace had a prover, so that a replay needs one too.

    Raises:
        NotFoundError: there is no such file.
        TraceError: the chain is broken.
    """
    verdicts = [event.body.get("verdict") for event in read_trace(path) if event.kind == "verdict"]
    return any(isinstance(verdict, dict) and "prover" in verdict for verdict in verdicts)


def _read(path: Path) -> _Record:
    events = read_trace(path)
    header, task = next(events, None), next(events, None)
    if header is None or task is None or (header.kind, task.kind) != ("header", "task"):
        raise TraceError(f"{path}: no header or no task event to begin with; this is not the trace of a solve")
    version = _field(header, "format", int)
    if version != FORMAT_VERSION:
        raise TraceError(f"{path}: trace format {version} is not known, this version reads {FORMAT_VERSION}")
    record = _Record(_task(task), _field(header, "seed", int))
    for event in events:
        if event.kind in ("header", "task"):
            raise TraceError(f"event {event.seq}: a second {event.kind}; this is not the trace of one solve")
        record.take(event)
    return record


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


def _compare(recorded: Verdict, again: Verdict) -> tuple[tuple[str, ...], str]:
    """Names of the fields that differ, and what differs without being held against the trace."""
    before, after = replay_form(recorded), replay_form(again)
    differences = tuple(name for name in before if name != "prover" and before[name] != after[name])
    notes = []
    if recorded.prover is not None and recorded.status != Status.PROVED and differences == ("reason",):
        differences = ()
        notes.append("what was not proved is told in other words")
    if recorded.prover != again.prover:
        notes.append(f"the prover was {_named(recorded.prover)}, is {_named(again.prover)}")
    return differences, "; ".join(notes)


def _named(prover: Prover | None) -> str:
    return "none" if prover is None else prover.text


def _answer_problems(record: _Record) -> list[str]:
    if record.answer is None:
        return ["the trace has no answer: the run was interrupted"]
    attempt, status = record.answer
    if attempt is None:
        # Only a task that came to no attempt is answered without one.
        is_empty = status == Status.SPEC_SUSPECT or (status == Status.UNKNOWN and not record.codes)
        return [] if is_empty else [f"the answer says {status} and names no attempt"]
    verdict = record.verdicts.get(attempt)
    if verdict is None:
        return [f"the answer rests on attempt {attempt}, of which the trace holds no verdict"]
    if verdict.status != status:
        return [f"the answer says {status}, its attempt {attempt} was judged {verdict.status.value}"]
    return []


def _suspicion_problems(record: _Record, verifier: Verifier) -> list[str]:
    """A task that was answered with a suspicion alone must be suspected again; no code is needed for that."""
    if record.answer != (None, Status.SPEC_SUSPECT.value):
        return []
    again = verifier.verify(record.task, "", seed=record.seed).status
    if again == Status.SPEC_SUSPECT:
        return []
    return [f"the answer says {Status.SPEC_SUSPECT.value}, the task was judged {again.value} now"]
