"""A hash-chained log of every decision, one JSON object a line. Knows no event's meaning.

Line n holds ``{"seq", "time", "kind", "body", "previous", "hash"}``; ``hash`` is the SHA-256 of the line without it,
so a changed, missing or reordered line breaks the chain at a line that can be named.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from armillary.core.errors import NotFoundError, TraceError
from armillary.core.values import Json, dumps

GENESIS = "0" * 64
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One line of a trace.

    Attributes:
        seq: 0-based position.
        time: seconds since the epoch.
        kind: ``header``, ``task``, ``attempt``, ``verdict``, ``selection``, ``revision``, ``answer``.
    """

    seq: int
    time: float
    kind: str
    body: dict[str, Json]
    previous: str
    hash: str


Listener = Callable[[TraceEvent], None]


def event_hash(seq: int, at: float, kind: str, body: dict[str, Json], previous: str) -> str:
    """SHA-256 over the canonical JSON of all other fields."""
    line = dumps({"seq": seq, "time": at, "kind": kind, "body": body, "previous": previous})
    return hashlib.sha256(line.encode()).hexdigest()


class Trace:
    """Append events; each is on disk before ``append`` returns, if there is a path.

    Args:
        path: file to write, or None to keep the trace in memory only.
        listeners: called with each event after it was written; the live view is one.
    """

    def __init__(self, path: Path | None = None, listeners: tuple[Listener, ...] = ()) -> None:
        self.path = path
        self.events: list[TraceEvent] = []
        self._listeners = listeners
        self._file: IO[str] | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8")

    def append(self, kind: str, body: dict[str, Json]) -> TraceEvent:
        """Write one event and return it."""
        previous = self.events[-1].hash if self.events else GENESIS
        at = round(time.time(), 6)
        seq = len(self.events)
        event = TraceEvent(seq, at, kind, body, previous, event_hash(seq, at, kind, body, previous))
        if self._file is not None:
            self._file.write(dumps(event_to_json(event)) + "\n")
            self._file.flush()
        self.events.append(event)
        for listener in self._listeners:
            listener(event)
        return event

    def close(self) -> None:
        """Flush to the disk itself and close; a second call does nothing."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def event_to_json(event: TraceEvent) -> dict[str, Json]:
    """The event as it stands on its line."""
    return {
        "seq": event.seq,
        "time": event.time,
        "kind": event.kind,
        "body": event.body,
        "previous": event.previous,
        "hash": event.hash,
    }


def read_trace(path: Path) -> Iterator[TraceEvent]:
    """Yield the events of a trace in order, each checked against the chain.

    Raises:
        NotFoundError: there is no such file.
        TraceError: a line is not JSON, not an event, or does not fit the chain.
    """
    if not path.is_file():
        raise NotFoundError(f"no trace at {path}")
    previous = GENESIS
    with path.open(encoding="utf-8", errors="strict") as file:
        try:
            for number, line in enumerate(file, start=1):
                event = _parse(line, number)
                if event.seq != number - 1 or event.previous != previous:
                    raise TraceError(f"{path}:{number}: the chain is broken: a line is missing, added or moved")
                if event.hash != event_hash(event.seq, event.time, event.kind, event.body, event.previous):
                    raise TraceError(f"{path}:{number}: the line was changed after it was written")
                previous = event.hash
                yield event
        except UnicodeDecodeError as error:
            raise TraceError(f"{path}: not UTF-8 text: {error.reason}") from error


def _parse(line: str, number: int) -> TraceEvent:
    try:
        fields = json.loads(line)
        event = TraceEvent(**fields)
    except (json.JSONDecodeError, TypeError) as error:
        raise TraceError(
            f"line {number} is not a trace event: {error}", hint="the file may have been cut short"
        ) from error
    if not isinstance(event.body, dict):
        raise TraceError(f"line {number}: the event's body is not an object")
    return event
