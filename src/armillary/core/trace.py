"""A hash-chained log of every decision, one JSON object a line. Knows no event's meaning.

Line n holds ``{"seq", "time", "kind", "body", "previous", "hash"}``; ``hash`` is the SHA-256 of the line without it,
so a changed, missing or reordered line breaks the chain at a line that can be named. Lines that are missing at the end
leave no gap: whether a trace is finished is told by its last event.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType

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
        kind: ``header``, ``task``, ``proposal``, ``attempt``, ``verdict``, ``selection``, ``votes``, ``revision``,
            ``answer``; what each holds stands in docs/traces.md.
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
    """Append events; if there is a path, each is with the operating system before ``append`` returns.

    So a killed process loses no event; only ``close`` guards against a machine that loses power.

    Args:
        path: file to make, or None to keep the trace in memory only.
        listeners: called in order with each event after it was written; the live view is one.

    Raises:
        TraceError: the file is there already, so somebody else may be writing it, or cannot be made.
    """

    def __init__(self, path: Path | None = None, listeners: tuple[Listener, ...] = ()) -> None:
        self.path = path
        self.events: list[TraceEvent] = []
        self._listeners = listeners
        self._file = None if path is None else _open(path)

    def append(self, kind: str, body: dict[str, Json]) -> TraceEvent:
        """Write one event and return it.

        Raises:
            TraceError: the trace is closed, or its file cannot be written.
        """
        previous = self.events[-1].hash if self.events else GENESIS
        at = round(time.time(), 6)
        seq = len(self.events)
        event = TraceEvent(seq, at, kind, body, previous, event_hash(seq, at, kind, body, previous))
        if self._file is not None:
            self._write(self._file, f"{dumps(event_to_json(event))}\n".encode())
        elif self.path is not None:
            raise TraceError(f"the trace {self.path} is closed, the {kind} event came too late")
        self.events.append(event)
        for listener in self._listeners:
            listener(event)
        return event

    def _write(self, file: FileIO, line: bytes) -> None:
        try:
            while line:
                line = line[file.write(line) :]
        except OSError as error:
            # Half a line may be in the file: what came after it could not be read back.
            self._file = None
            file.close()
            raise TraceError(f"cannot write the trace {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Wait until the disk itself has everything, and close; a second call does nothing.

        Raises:
            TraceError: the disk did not take it.
        """
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            with file:
                os.fsync(file.fileno())
        except OSError as error:
            raise TraceError(f"cannot write the trace {self.path}: {error.strerror}") from error

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _open(path: Path) -> FileIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileIO(path, "x")
    except OSError as error:
        if isinstance(error, FileExistsError) and path.parent.is_dir():
            raise TraceError(f"{path} exists already", hint="a trace never overwrites; name another file") from error
        raise TraceError(f"cannot write the trace {path}: {error.strerror}") from error


def event_to_json(event: TraceEvent) -> dict[str, Json]:
    """The event's fields as they stand on its line."""
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
                event = _parse(line, f"{path}:{number}")
                if event.seq != number - 1 or event.previous != previous:
                    raise TraceError(f"{path}:{number}: the chain is broken: a line is missing, added or moved")
                if event.hash != event_hash(event.seq, event.time, event.kind, event.body, event.previous):
                    raise TraceError(f"{path}:{number}: the line was changed after it was written")
                if line.rstrip("\n") != dumps(event_to_json(event)):
                    raise TraceError(f"{path}:{number}: the line says the same in another spelling than was written")
                previous = event.hash
                yield event
        except UnicodeDecodeError as error:
            raise TraceError(f"{path}: not UTF-8 text: {error.reason}") from error


def _parse(line: str, place: str) -> TraceEvent:
    try:
        # Spellings such as NaN or 1e999 that JSON lacks or floats cannot hold fail in the canonical form.
        event = TraceEvent(**json.loads(line))
        fields = event_to_json(event)
        dumps(fields)
    except (ValueError, TypeError, RecursionError) as error:
        raise TraceError(
            f"{place}: not a trace event: {type(error).__name__}", hint="the file may have been cut short"
        ) from error
    for name, kinds in _FIELD_TYPES.items():
        if type(fields[name]) not in kinds:
            raise TraceError(f"{place}: not a trace event: {name} has the wrong type")
    return event


_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    "seq": (int,),
    "time": (float, int),
    "kind": (str,),
    "body": (dict,),
    "previous": (str,),
    "hash": (str,),
}
