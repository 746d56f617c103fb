"""Derive a trace's decisions again: who was chosen and why, what the model's own tests added, when the search stopped.

Verdicts are taken from the trace (``verify.replay`` derives those), behaviours are computed again in the jail, and what
the model said is taken word for word. A decision rests on the derived ones before it, never on what the trace says of
them. Not derived, since they are facts of that run: the texts, the times, and that tokens or seconds were spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from armillary.core.errors import TaskFormatError, TraceError, ValueCodecError
from armillary.core.forms import exactly, number
from armillary.core.protocols import Verifier
from armillary.core.tasks import Example, task_from_json
from armillary.core.trace import TraceEvent, read_trace
from armillary.core.values import Json, decode, dumps
from armillary.core.verdicts import Behaviour, Status, verdict_from_json
from armillary.reason.budget import StopReason
from armillary.reason.decisions import Decisions, leaders_of, settles
from armillary.reason.events import RULES, answer_to_json, hearing_to_json, revision_to_json, selection_to_json
from armillary.reason.propose import clip
from armillary.reason.select import Attempt, Selection
from armillary.reason.soft_tests import Answer
from armillary.verify.replay import ReplayReport, ReplayRow, replay

# Why a search ended although it had more to decide: facts, which a replay takes as they stand.
FACTS = (StopReason.TOKENS.value, StopReason.SECONDS.value)
TOO_EARLY = "there was nothing to decide on yet"
MAX_SHOWN_CHARS = 120
OTHER_RULES = (
    "its decisions were taken by other rules than this version's ({theirs}, here {ours}): "
    "where they differ, that is told and not held against the trace"
)
NO_CONFIDENCE = (
    "it does not tell how sure the model was: where that alone could decide, the choice is taken as it stands"
)
NO_ANSWERS = "it does not hold what the model said of its own answers: the votes are taken as they stand"


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision, derived again.

    Attributes:
        seq: number of the event that holds it, or that follows from it.
        about: the decision in a few words, as the trace has it.
        differences: what comes out otherwise, such as ``chosen was a0, is a1``; empty when nothing does.
    """

    seq: int
    about: str
    differences: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """Whether the same decision came out."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class DecisionReport:
    """All decisions of a trace.

    Attributes:
        notes: what could not be derived, and why.
        is_binding: whether the trace was written under the rules that derived it again.
    """

    rows: tuple[DecisionRow, ...]
    notes: tuple[str, ...] = ()
    is_binding: bool = True

    @property
    def matches(self) -> bool:
        """Whether every decision that can be held against the trace came out the same."""
        return not self.is_binding or all(row.matches for row in self.rows)


@dataclass(frozen=True, slots=True)
class TraceReport:
    """All that a replay found."""

    verdicts: ReplayReport
    decisions: DecisionReport

    @property
    def matches(self) -> bool:
        """Whether every verdict came out the same, and every decision that can be held against the trace."""
        return self.verdicts.matches and self.decisions.matches


def replay_trace(
    path: Path,
    verifier: Verifier,
    *,
    on_verdict: Callable[[ReplayRow], None] | None = None,
    on_decision: Callable[[DecisionRow], None] | None = None,
) -> TraceReport:
    """Derive first the verdicts of a trace again, then its decisions; see :func:`replay_decisions`."""
    return TraceReport(replay(path, verifier, on_row=on_verdict), replay_decisions(path, verifier, on_row=on_decision))


def replay_decisions(
    path: Path, verifier: Verifier, *, on_row: Callable[[DecisionRow], None] | None = None
) -> DecisionReport:
    """Take every decision of a trace again, as far as the trace goes.

    Args:
        path: a trace that ``verify.replay`` could read.
        verifier: runs the code; built like the one that wrote the trace.
        on_row: told each decision as soon as it is derived.

    Raises:
        NotFoundError: there is no such file.
        TraceError: the chain is broken, or an event does not have the form that a solve writes.
    """
    events = list(read_trace(path))
    if [event.kind for event in events[:2]] != ["header", "task"]:
        raise TraceError(f"{path}: no header or no task event to begin with; this is not the trace of a solve")
    header, task = events[:2]
    with _reading(task):
        decisions = Decisions(task_from_json(task.body), verifier, exactly(header.body["seed"], int))
    walk = _Walk(decisions, _stop_of(events), _is_cut(events))
    rows = []
    for event in events[2:]:
        with _reading(event):
            for row in walk.take(event):
                rows.append(row)
                if on_row is not None:
                    on_row(row)
    rules = header.body.get("rules", 0)
    notes = [OTHER_RULES.format(theirs=rules, ours=RULES)] if rules != RULES else []
    return DecisionReport(tuple(rows), (*notes, *walk.notes), rules == RULES)


def _stop_of(events: Sequence[TraceEvent]) -> str:
    last = events[-1]
    return str(last.body.get("stopped_by", "")) if last.kind == "answer" else ""


def _is_cut(events: Sequence[TraceEvent]) -> bool:
    """Whether the first proposals may have ended for another reason than a choice: nothing was asked after it."""
    is_revised = any(event.kind == "votes" or event.body.get("round") for event in events)
    return not is_revised and _stop_of(events) in (*FACTS, StopReason.SPEC_SUSPECT, "")


@contextmanager
def _reading(event: TraceEvent) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, ValueError, TaskFormatError, ValueCodecError) as error:
        raise TraceError(f"event {event.seq}: not a sound {event.kind}: {error!r}") from error


@dataclass(slots=True)
class _Walk:
    """Goes through a trace once.

    Attributes:
        stopped_by: why the run ended, as the trace tells it; empty when it was interrupted.
        is_cut: whether the first proposals may have ended because tokens or seconds were spent.
        drafts: attempts without their verdict yet.
        round_start: attempts before the current round of revisions.
        num_requested: first proposals that were asked for.
        selection: the last one that was derived.
        votes: what a hearing added, until a selection used it.
        incumbent: the attempt that would be the answer now.
    """

    decisions: Decisions
    stopped_by: str
    is_cut: bool
    attempts: list[Attempt] = field(default_factory=list)
    drafts: dict[str, dict[str, Any]] = field(default_factory=dict)
    round_start: int = 0
    num_rounds: int = 0
    num_requested: int = 0
    selection: Selection | None = None
    votes: Mapping[Behaviour, float] | None = None
    is_heard: bool = False
    incumbent: Attempt | None = None
    notes: dict[str, None] = field(default_factory=dict)

    def take(self, event: TraceEvent) -> Iterator[DecisionRow]:
        seq, body = event.seq, dict[str, Any](event.body)
        match event.kind:
            case "proposal" if exactly(body["round"], int) == 0:
                yield from self._proposal(seq, body)
            case "proposal":
                yield self._request(seq, body)
            case "attempt":
                self.drafts[exactly(body["id"], str)] = body
            case "verdict":
                self._verdict(body)
            case "selection":
                yield from self._selection(seq, body)
            case "votes":
                yield self._votes(seq, body)
            case "revision":
                yield self._revision(seq, body)
            case "answer":
                yield self._answer(seq, body)

    def _proposal(self, seq: int, body: dict[str, Any]) -> Iterator[DecisionRow]:
        self.num_requested += exactly(body["num_candidates"], int)
        if self.attempts:
            settled = ("the attempts were settled",) if self.decisions.is_settled(self.attempts) else ()
            yield DecisionRow(seq, f"more proposals after {len(self.attempts)}", settled)

    def _request(self, seq: int, body: dict[str, Any]) -> DecisionRow:
        about = f"revision of {body['parent']}"
        if self.incumbent is None:
            return DecisionRow(seq, about, (TOO_EARLY,))
        stop = self.decisions.reason_to_stop(self.incumbent, self.attempts, self.num_rounds)
        self.num_rounds += 1
        self.round_start = len(self.attempts)
        if stop is not None:
            return DecisionRow(seq, about, (f"the search had come to its end: {stop}",))
        parent = self.decisions.to_revise(self.incumbent, self._with_trust(self.attempts, body["parent"]))
        return DecisionRow(seq, about, _differences({"parent": parent.id}, body))

    def _verdict(self, body: dict[str, Any]) -> None:
        draft = self.drafts[exactly(body["attempt"], str)]
        logprob = draft.get("mean_logprob")
        if "mean_logprob" not in draft:
            self.notes[NO_CONFIDENCE] = None
        self.attempts.append(
            Attempt(
                id=draft["id"],
                round=exactly(draft["round"], int),
                parent=draft["parent"],
                code=exactly(draft["code"], str),
                verdict=verdict_from_json(body["verdict"]),
                num_tokens=exactly(draft["tokens"], int),
                mean_logprob=None if logprob is None else number(logprob),
            )
        )

    def _with_trust(self, attempts: Sequence[Attempt], chosen: str | None) -> list[Attempt]:
        """The attempts; where the trace holds no confidences, the one that it names is trusted to have had the best."""
        if NO_CONFIDENCE not in self.notes:
            return list(attempts)
        return [replace(item, mean_logprob=0.0) if item.id == chosen else item for item in attempts]

    def _selection(self, seq: int, body: dict[str, Any]) -> Iterator[DecisionRow]:
        about = f"choice of {body['chosen']}"
        attempts = self._with_trust(self.attempts[self.round_start :], body["chosen"])
        if not attempts:
            yield DecisionRow(seq, about, (TOO_EARLY,))
            return
        if self.selection is None:
            yield self._end_of_proposals(seq)
        if self.num_rounds and self.incumbent:
            self.selection = self.decisions.best_revision(self.incumbent, attempts)
        else:
            self.selection = self.decisions.choose(attempts, self.votes)
            self.incumbent, self.votes = self.selection.chosen, None
        derived = selection_to_json(self.selection, is_settled=settles(self.selection))
        yield DecisionRow(seq, about, _differences(derived, body))

    def _end_of_proposals(self, seq: int) -> DecisionRow:
        is_over = (
            self.is_cut
            or self.num_requested >= self.decisions.task.budget.num_candidates
            or self.decisions.is_settled(self.attempts)
        )
        differences = () if is_over else ("the attempts were not settled",)
        return DecisionRow(seq, f"no more proposals after {len(self.attempts)}", differences)

    def _votes(self, seq: int, body: dict[str, Any]) -> DecisionRow:
        about = f"{_counted(body['tests'], 'test')} by the model on {_counted(body['inputs'], 'input')}"
        if self.selection is None or self.is_heard:
            return DecisionRow(seq, about, ("it was heard already" if self.is_heard else TOO_EARLY,))
        self.is_heard = True
        leaders = leaders_of(self.selection, self.attempts)
        if "answers" in body:
            answers = [_answer_of(item) for item in body["answers"]]
            hearing = self.decisions.hear(leaders, body["inputs"], answers)
        else:
            self.notes[NO_ANSWERS] = None
            hearing = self.decisions.weigh(leaders, [_test_of(item) for item in body["tests"]])
        self.votes = hearing.gains
        derived = hearing_to_json(hearing) | {"inputs": list(self.decisions.telling_inputs(leaders))}
        return DecisionRow(seq, about, _differences(derived, body))

    def _revision(self, seq: int, body: dict[str, Any]) -> DecisionRow:
        about = f"{body['revision']} {'instead' if body['accepted'] else 'not instead'} of {body['incumbent']}"
        if self.incumbent is None or self.selection is None:
            return DecisionRow(seq, about, (TOO_EARLY,))
        derived = revision_to_json(self.incumbent, self.selection.chosen)
        if derived["accepted"]:
            self.incumbent = self.selection.chosen
        return DecisionRow(seq, about, _differences(derived, body))

    def _answer(self, seq: int, body: dict[str, Any]) -> DecisionRow:
        about = f"answer {body['attempt'] or 'without an attempt'}, {body['status']}"
        if self.incumbent is None:
            # The verdict on the task alone, which ``verify.replay`` derives.
            return DecisionRow(seq, about, _differences({"attempt": None}, body))
        verdict, evidence = self.decisions.conclude(self.incumbent, self.attempts)
        derived = answer_to_json(self.incumbent, verdict, evidence) | {"stopped_by": self._stop(self.incumbent)}
        return DecisionRow(seq, about, (*_differences(derived, body), *self._unheard()))

    def _stop(self, incumbent: Attempt) -> str | None:
        if any(attempt.verdict.status == Status.SPEC_SUSPECT for attempt in self.attempts):
            return StopReason.SPEC_SUSPECT
        if self.stopped_by in FACTS:
            return self.stopped_by
        return self.decisions.reason_to_stop(incumbent, self.attempts, self.num_rounds)

    def _unheard(self) -> tuple[str, ...]:
        """What the model should have said of its answers, or had said; older traces hold no hearing without result."""
        if self.votes:
            return ("the model was heard, and nothing was chosen by it",)
        is_owed = self.selection is not None and not self.num_rounds and self.decisions.needs_hearing(self.selection)
        if not is_owed or self.is_heard or self.is_cut or NO_CONFIDENCE in self.notes:
            return ()
        return ("accepted attempts differ, and the model was not heard",)


def _answer_of(item: Any) -> Answer:
    place, text, num_tokens, finish_reason = item
    return Answer(exactly(place, int), exactly(text, str), exactly(num_tokens, int), exactly(finish_reason, str))


def _test_of(item: Any) -> tuple[Example, int]:
    arguments, expected, raises, count = item
    example = Example(exactly(decode(arguments), tuple), decode(expected), exactly(raises, str), origin="model")
    return example, exactly(count, int)


def _differences(derived: Mapping[str, Json], body: Mapping[str, Any]) -> tuple[str, ...]:
    """What of a decision comes out otherwise; fields that the trace is too old to hold are passed over."""
    return tuple(
        f"{name} was {_short(body[name])}, is {_short(value)}"
        for name, value in derived.items()
        if name in body and dumps(body[name]) != dumps(value)
    )


def _counted(items: Sequence[Json], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def _short(value: Json) -> str:
    return clip(value if isinstance(value, str) else dumps(value), MAX_SHOWN_CHARS)
