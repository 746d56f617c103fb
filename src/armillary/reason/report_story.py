"""Read a trace back as the story that a report tells: who tried what, when, and why one attempt won. Judges nothing.

A trace that ends early is told as far as it goes. Where the clock was set back, a span of time is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from armillary.core.errors import TaskFormatError, TraceError, ValueCodecError
from armillary.core.forms import exactly, number
from armillary.core.tasks import TaskSpec, task_from_json
from armillary.core.trace import FORMAT_VERSION, TraceEvent, read_trace
from armillary.core.verdicts import Verdict, verdict_from_json
from armillary.reason.evidence import Evidence, evidence_from_json
from armillary.reason.report_spans import Cores, Span, Work, cores_of, spans_of, spent_s
from armillary.reason.report_votes import votes_of


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt as the trace tells it.

    Attributes:
        number: position among the attempts, which is also its name on the page; ids may be anything.
        parent: number of the earlier attempt that it revises, or None.
        text: what the model said, of which ``code`` was taken.
        error: what the model failed with, or empty.
        model_s: seconds in which the model wrote, from the event before.
        checking_s: seconds in which it was checked, until its verdict.
    """

    number: int
    id: str
    round: int
    parent: int | None
    code: str
    text: str
    finish_reason: str
    error: str
    num_tokens: int
    verdict: Verdict | None = None
    model_s: float = 0.0
    checking_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """How the run ended.

    Attributes:
        attempt: id of the attempt that is the answer, or None.
        evidence: how much speaks for it; None in traces of 0.1 and where nothing was tried.
        cores: who had them for how long; None in traces of 0.1.
    """

    attempt: str | None
    status: str
    why: str
    stopped_by: str
    prompt_tokens: int
    completion_tokens: int
    evidence: Evidence | None = None
    cores: Cores | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """All that a report tells.

    Attributes:
        header: as the trace spells it.
        proposals: requests to the model, as the trace spells them.
        decisions: selections, the model's votes and revisions, in order.
        others: events of kinds that are not known here.
        answer: None when the run was interrupted.
        note: what is wrong with the end of the trace, or empty.
    """

    path: Path
    header: dict[str, Any]
    task: TaskSpec
    attempts: tuple[Tried, ...]
    proposals: tuple[TraceEvent, ...]
    decisions: tuple[TraceEvent, ...]
    others: tuple[TraceEvent, ...]
    answer: Answered | None
    spans: tuple[Span, ...]
    num_events: int
    started_at: float
    last_hash: str
    note: str = ""

    @property
    def chosen(self) -> Tried | None:
        """The attempt that is the answer; in an interrupted run the last one that was chosen, if any."""
        if self.answer:
            name = self.answer.attempt
        else:
            name = _last_choice(self.decisions, {attempt.id for attempt in self.attempts if attempt.round == 0})
        return next((attempt for attempt in self.attempts if attempt.id == name), None)

    def total_s(self, work: Work) -> float:
        """Seconds spent on one kind of work."""
        return sum(span.length_s for span in self.spans if span.work == work)


def _last_choice(decisions: Sequence[TraceEvent], first_proposals: set[str]) -> str | None:
    """The incumbent at the end of the decisions; a choice among revisions only counts once it was accepted."""
    choice = None
    for event in decisions:
        if event.kind == "selection" and event.body["chosen"] in first_proposals:
            choice = str(event.body["chosen"])
        elif event.kind == "revision":
            choice = str(event.body["revision"] if event.body["accepted"] else event.body["incumbent"])
    return choice


def read_story(path: Path) -> Story:
    """Read a trace.

    Raises:
        NotFoundError: there is no such file.
        TraceError: the chain is broken before its last line, or the events are not those of a solve.
    """
    events, note = _read(path)
    if [event.kind for event in events[:2]] != ["header", "task"]:
        raise TraceError(f"{path}: no header or no task event to begin with; this is not the trace of a solve")
    header = events[0].body
    if header.get("format") != FORMAT_VERSION:
        raise TraceError(f"{path}: trace format {header.get('format')!r} is not known")
    with _reading(events[1]):
        teller = _Teller(task_from_json(events[1].body))
    for before, event in pairwise(events[1:]):
        with _reading(event):
            teller.take(event, spent_s(before, event))
    with _reading(events[0]):
        spans = spans_of(events)
    return Story(
        path=path,
        header=header,
        task=teller.task,
        attempts=tuple(teller.attempts),
        proposals=tuple(teller.proposals),
        decisions=tuple(teller.decisions),
        others=tuple(teller.others),
        answer=teller.answer,
        spans=spans,
        num_events=len(events),
        started_at=float(events[0].time),
        last_hash=events[-1].hash,
        note=note,
    )


def _read(path: Path) -> tuple[list[TraceEvent], str]:
    """The sound events, and what is wrong with a last line that was cut in the writing."""
    events: list[TraceEvent] = []
    try:
        events.extend(read_trace(path))
    except TraceError as error:
        if len(events) < 2 or not _is_cut_short(path, len(events)):
            raise
        return events, f"The last line was cut short while it was written and is left out: {error.message}"
    return events, ""


def _is_cut_short(path: Path, num_sound: int) -> bool:
    content = path.read_bytes()
    return not content.endswith(b"\n") and content.count(b"\n") == num_sound


@contextmanager
def _reading(event: TraceEvent) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, ValueError, OverflowError, TaskFormatError, ValueCodecError) as error:
        raise TraceError(f"event {event.seq}: not a sound {event.kind}: {error!r}") from error


@dataclass(slots=True)
class _Teller:
    """Takes the events one by one."""

    task: TaskSpec
    attempts: list[Tried] = field(default_factory=list)
    proposals: list[TraceEvent] = field(default_factory=list)
    decisions: list[TraceEvent] = field(default_factory=list)
    others: list[TraceEvent] = field(default_factory=list)
    answer: Answered | None = None

    def take(self, event: TraceEvent, spent_s: dict[Work, float]) -> None:
        body: dict[str, Any] = event.body
        match event.kind:
            case "proposal":
                self.proposals.append(_checked_proposal(event))
            case "attempt":
                self.attempts.append(self._attempt(body, spent_s.get("model", 0.0)))
            case "verdict":
                verdict = verdict_from_json(body["verdict"])
                self._judge(exactly(body["attempt"], str), verdict, spent_s.get("checking", 0.0))
            case "selection":
                for cluster in exactly(body["clusters"], list):
                    _require_texts(*exactly(cluster, list))
                _require_texts(body["chosen"], body["why"])
                number(body.get("share", 0))
                self.decisions.append(event)
            case "revision":
                _require_texts(body["incumbent"], body["revision"], body["why"])
                exactly(body["accepted"], bool)
                self.decisions.append(event)
            case "votes":
                votes_of(self.task.entry_point, body)
                self.decisions.append(event)
            case "answer":
                self.answer = _answered(body)
            case _:
                self.others.append(event)

    def _attempt(self, body: dict[str, Any], model_s: float) -> Tried:
        return Tried(
            number=len(self.attempts),
            id=exactly(body["id"], str),
            round=exactly(body["round"], int),
            parent=self._find(body["parent"]),
            code=exactly(body["code"], str),
            text=exactly(body["text"], str),
            finish_reason=exactly(body["finish_reason"], str),
            error=exactly(body.get("error", ""), str),
            num_tokens=exactly(body["tokens"], int),
            model_s=model_s,
        )

    def _find(self, name: Any) -> int | None:
        """The last attempt of that name so far: a parent comes before its child, so no tree runs in a circle."""
        return next((attempt.number for attempt in reversed(self.attempts) if attempt.id == name), None)

    def _judge(self, name: str, verdict: Verdict, checking_s: float) -> None:
        number = self._find(name)
        if number is None:
            raise ValueError(f"no attempt {name!r} stands before it")
        self.attempts[number] = replace(self.attempts[number], verdict=verdict, checking_s=checking_s)


def _require_texts(*values: Any) -> None:
    for value in values:
        exactly(value, str)


def _checked_proposal(event: TraceEvent) -> TraceEvent:
    body: Any = event.body
    for role, content in body["messages"]:
        _require_texts(role, content)
    exactly(body["sampling"], dict)
    exactly(body["round"], int)
    exactly(body["num_candidates"], int)
    return event


def _answered(body: dict[str, Any]) -> Answered:
    usage = exactly(body.get("usage", {}), dict)
    return Answered(
        attempt=None if body["attempt"] is None else exactly(body["attempt"], str),
        status=exactly(body["status"], str),
        why=exactly(body.get("why", ""), str),
        stopped_by=exactly(body.get("stopped_by", ""), str),
        prompt_tokens=exactly(usage.get("prompt_tokens", 0), int),
        completion_tokens=exactly(usage.get("completion_tokens", 0), int),
        evidence=None if body.get("evidence") is None else evidence_from_json(body["evidence"]),
        cores=cores_of(body),
    )
