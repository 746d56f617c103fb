"""Answer requests from a file of recorded candidates, and record what the file does not hold yet.

A candidate is found by the model's hash, the conversation, the sampling and its number: what the engine would write
again, bit for bit. Times are not recorded: whoever measures speed asks the model itself.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from armillary.core.errors import NotFoundError, UsageError
from armillary.core.messages import Event, Finished, ModelIdentity, Request, Token, Usage
from armillary.core.protocols import Generator
from armillary.core.values import dumps

FORMAT = 1
RECORDED_REASONS = ("stop", "length")


@dataclass(frozen=True, slots=True)
class Recording:
    """One finished candidate.

    Attributes:
        key: see :func:`key_of`.
        mean_logprob: mean natural log of its tokens' probabilities, or None where the model does not tell.
        num_prompt_tokens: of the conversation, whoever pays for it.
    """

    key: str
    text: str
    mean_logprob: float | None
    finish_reason: str
    num_prompt_tokens: int
    num_completion_tokens: int


class RecordedGenerator:
    """A ``Generator`` that looks into a file first; satisfies ``core.protocols.Generator``.

    Args:
        path: JSON lines; made when it is not there and something is to be recorded.
        model: whose candidates the file holds.
        open_source: starts the model itself when the file lacks a candidate; None where it must hold all.

    Raises:
        UsageError: the file is no recording, or one of another model.
    """

    def __init__(self, path: Path, model: ModelIdentity, open_source: Callable[[], Generator] | None = None) -> None:
        self._path = path
        self._model = model
        self._open_source = open_source
        self._source: Generator | None = None
        self._known = _read(path, model) if path.exists() else {}

    @property
    def model(self) -> ModelIdentity:
        """The model that wrote the candidates."""
        return self._model

    def stream(self, request: Request) -> Iterator[Event]:
        """Yield what is recorded, each candidate as one token, then what the model writes now.

        Raises:
            NotFoundError: a candidate is not recorded and there is no model to ask.
        """
        missing: list[int] = []
        for candidate in range(request.num_candidates):
            found = self._known.get(key_of(self._model, request, candidate))
            if found is None:
                missing.append(candidate)
                continue
            yield Token(candidate, found.text, logprob=found.mean_logprob)
            usage = Usage(0 if candidate else found.num_prompt_tokens, found.num_completion_tokens)
            yield Finished(candidate, "stop" if found.finish_reason == "stop" else "length", usage)
        for first, count in _runs(missing):
            yield from self._record(request, first, count)

    def _record(self, request: Request, first: int, count: int) -> Iterator[Event]:
        """Ask the model for neighbouring candidates; each is in the file once it is finished."""
        asked = replace(request, first_candidate=request.first_candidate + first, num_candidates=count)
        drafts = [_Draft() for _ in range(count)]
        # Only the first one of a request tells what the prompt cost; others may end before it.
        num_prompt_tokens = 0
        waiting: list[Finished] = []
        for event in self._require_source().stream(asked):
            drafts[event.candidate].take(event)
            candidate = first + event.candidate
            if isinstance(event, Token):
                yield replace(event, candidate=candidate)
                continue
            num_prompt_tokens = num_prompt_tokens or event.usage.prompt_tokens
            waiting.append(event)
            while waiting and num_prompt_tokens:
                end = waiting.pop()
                key = key_of(self._model, request, first + end.candidate)
                self._keep(drafts[end.candidate].finish(key, end, num_prompt_tokens))
            usage = event.usage if candidate == 0 else replace(event.usage, prompt_tokens=0)
            yield replace(event, candidate=candidate, usage=usage)

    def _require_source(self) -> Generator:
        if self._source is None:
            if self._open_source is None:
                raise NotFoundError(
                    f"{self._path} does not hold every candidate that is asked for",
                    hint="record them with the model at hand, or ask for fewer",
                )
            self._source = self._open_source()
            if self._source.model.sha256 != self._model.sha256:
                raise UsageError(f"the model is {self._source.model.name}, the recording is of {self._model.name}")
        return self._source

    def _keep(self, recording: Recording) -> None:
        if recording.finish_reason not in RECORDED_REASONS:
            return
        self._known[recording.key] = recording
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = [dumps(asdict(recording))]
        if not self._path.exists():
            lines.insert(
                0, dumps({"format": FORMAT, "model": {"name": self._model.name, "sha256": self._model.sha256}})
            )
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())


def key_of(model: ModelIdentity, request: Request, candidate: int) -> str:
    """SHA-256 over all that a candidate's text depends on; at temperature 0 neither seed nor number does."""
    sampling, number = request.sampling, request.first_candidate + candidate
    if sampling.temperature == 0:
        sampling, number = replace(sampling, seed=0), 0
    body = {
        "model": model.sha256,
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": {**asdict(sampling), "stop": list(sampling.stop)},
        "number": number,
    }
    return hashlib.sha256(dumps(body).encode()).hexdigest()  # type: ignore[arg-type]  # plain JSON, mypy sees `object`


@dataclass(slots=True)
class _Draft:
    texts: list[str] = field(default_factory=list)
    logprobs: list[float | None] = field(default_factory=list)

    def take(self, event: Event) -> None:
        if isinstance(event, Token):
            self.texts.append(event.text)
            self.logprobs.append(event.logprob)

    def finish(self, key: str, end: Finished, num_prompt_tokens: int) -> Recording:
        known = [value for value in self.logprobs if value is not None]
        mean = sum(known) / len(known) if known and len(known) == len(self.logprobs) else None
        return Recording(key, "".join(self.texts), mean, end.reason, num_prompt_tokens, end.usage.completion_tokens)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring numbers, as first one and count."""
    first = 0
    for place, number in enumerate(numbers):
        if place + 1 == len(numbers) or numbers[place + 1] != number + 1:
            yield numbers[first], place + 1 - first
            first = place + 1


def _read(path: Path, model: ModelIdentity) -> dict[str, Recording]:
    """All recordings of a file; a torn last line is left out, as a killed run leaves one."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    try:
        header: dict[str, Any] = json.loads(lines[0])
        recorded = header["model"]["sha256"]
        if header["format"] != FORMAT:
            raise UsageError(f"{path}: recordings of format {header['format']}, this version reads {FORMAT}")
        if recorded != model.sha256:
            raise UsageError(f"{path} holds candidates of {header['model']['name']}, not of {model.name}")
        found = {}
        for line in lines[1:]:
            if not line.endswith("\n"):
                _cut(path, len(line.encode()))
                break
            recording = Recording(**json.loads(line))
            found[recording.key] = recording
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is no file of recorded candidates: {error}", hint="move it away") from error
    return found


def _cut(path: Path, num_bytes: int) -> None:
    with suppress(OSError), path.open("r+b") as file:
        file.truncate(path.stat().st_size - num_bytes)
