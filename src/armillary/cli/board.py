"""What is known about every candidate of a running solve, from its tokens and trace events. Draws nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from armillary.core.messages import Token
from armillary.core.trace import TraceEvent
from armillary.core.verdicts import Level, Status, Verdict, verdict_from_json

State = Literal["writing", "testing", "accepted", "refuted", "undecided"]


@dataclass(slots=True)
class Row:
    """One candidate.

    Attributes:
        parent: the attempt that it revises, or empty.
        note: what was found out about it.
    """

    id: str
    state: State = "writing"
    num_tokens: int = 0
    parent: str = ""
    note: str = ""
    is_chosen: bool = False

    @property
    def title(self) -> str:
        """Its id, and whose revision it is."""
        return f"{self.id} from {self.parent}" if self.parent else self.id


class Board:
    """Follows one solve; feed it every token and every trace event.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.rows: dict[str, Row] = {}
        self.model = ""
        self.first_verdict_s: float | None = None
        self._clock = clock
        self._start_s = clock()
        self._first_token_s: float | None = None
        self._last_token_s = 0.0
        self._num_tokens = 0

    @property
    def tokens_per_s(self) -> float:
        """Tokens over the time from the first to the latest one; tests in between count."""
        if self._first_token_s is None or self._last_token_s <= self._first_token_s:
            return 0.0
        return self._num_tokens / (self._last_token_s - self._first_token_s)

    @property
    def headline(self) -> str:
        """Model, speed and time to the first verdict, in one line."""
        verdict = "none yet" if self.first_verdict_s is None else f"{self.first_verdict_s:.1f} s"
        return f"{self.model or 'loading the model'} | {self.tokens_per_s:.0f} tokens/s | first verdict: {verdict}"

    def on_token(self, token: Token) -> None:
        """Count one token of one candidate."""
        row = self._row(f"a{token.candidate}")
        row.num_tokens += 1
        self._num_tokens += 1
        self._last_token_s = self._clock()
        if self._first_token_s is None:
            self._first_token_s = self._last_token_s

    def on_level(self, level: Level) -> None:
        """Note which level of the ladder the candidate under test has reached."""
        for row in self.rows.values():
            if row.state == "testing":
                row.note = level

    def on_event(self, event: TraceEvent) -> None:
        """Take in one event of the trace; kinds that change no candidate are passed over."""
        body: dict[str, Any] = event.body
        if event.kind == "header":
            self.model = body["model"]["name"]
            self._start_s = self._clock()
        elif event.kind == "attempt":
            row = self._row(body["id"])
            row.state = "testing"
            row.num_tokens = body["tokens"]
            row.parent = body["parent"] or ""
        elif event.kind == "verdict":
            self._judge(self._row(body["attempt"]), verdict_from_json(body["verdict"]))
        elif event.kind == "answer":
            for row in self.rows.values():
                row.is_chosen = row.id == body["attempt"]

    def _judge(self, row: Row, verdict: Verdict) -> None:
        if self.first_verdict_s is None:
            self.first_verdict_s = self._clock() - self._start_s
        row.state = _state(verdict)
        row.note = " ".join(_note(verdict).split())

    def _row(self, name: str) -> Row:
        return self.rows.setdefault(name, Row(name))


def _state(verdict: Verdict) -> State:
    if verdict.is_accepted:
        return "accepted"
    return "refuted" if verdict.status is Status.REFUTED else "undecided"


def _note(verdict: Verdict) -> str:
    found = verdict.counterexample
    if found is not None:
        return f"{found.call} -> {found.actual}, expected {found.expected}"
    if verdict.is_accepted and verdict.reason:
        return f"{verdict.status.value}: {verdict.reason}"
    return verdict.reason or verdict.status.value
