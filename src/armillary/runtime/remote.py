"""Let any OpenAI-compatible server stand in for our engine: ``/v1/chat/completions``, streamed.

One request per candidate, one after the other, because many servers ignore ``n``. Token ids are not known here. All
stop strings are applied here, because a server takes only a few, and an answer longer than its tokens can be is cut,
because a server need not heed ``max_tokens``.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from armillary.core.errors import RemoteAuthError, RemoteError
from armillary.core.messages import Event, Finished, FinishReason, ModelIdentity, Request, Token, Usage

if TYPE_CHECKING:
    from armillary.engine.text_stream import TextStream

MAX_LINE_BYTES = 1 << 20
MAX_ERROR_BYTES = 1 << 16
MAX_ERROR_CHARS = 300
MAX_BILLED_TOKENS = 10**9
# More are refused by OpenAI's own server, and by others that follow it.
MAX_STOP_STRINGS = 4
BUSY_STATUSES = (429, 503)
FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
}


@dataclass(frozen=True, slots=True)
class RemoteLimits:
    """How long a server may keep us waiting.

    Attributes:
        connect_s: to accept a connection.
        silence_s: between two pieces of an answer.
        answer_s: for one whole answer.
        num_retries: tries after a first one that met a busy server.
        backoff_s: wait before the first retry, doubled each time; ``Retry-After`` counts when it is longer.
        max_wait_s: longest wait before one retry.
    """

    connect_s: float = 10.0
    silence_s: float = 120.0
    answer_s: float = 600.0
    num_retries: int = 3
    backoff_s: float = 0.5
    max_wait_s: float = 30.0


class RemoteGenerator:
    """A ``Generator`` whose model runs elsewhere.

    Args:
        base_url: up to and including ``/v1``.
        model: name that the server knows the model by.
        key: sent as bearer token when not empty; never part of an error, never logged.
        sleep: waits between retries.

    Raises:
        RemoteAuthError: the key cannot be sent at all.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str = "",
        limits: RemoteLimits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not (key.isascii() and key.isprintable()):
            raise RemoteAuthError("the key holds characters that no HTTP header may carry", hint="set remote.key")
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._model = model
        self._key = key
        self._limits = limits or RemoteLimits()
        self._sleep = sleep

    @property
    def model(self) -> ModelIdentity:
        """The name that was asked for; a remote model has no hash that we could check."""
        return ModelIdentity(self._model)

    def stream(self, request: Request) -> Iterator[Event]:
        """Yield the events of all candidates, one candidate after the other.

        What goes wrong after the server has agreed to answer is that candidate's ``Finished("error")``. Closing the
        iterator closes the connection. Candidates that are not finished after ``request.max_seconds`` end as
        ``Finished("cancelled")``; the server's silence is bounded by the time that was left when it was asked.

        Raises:
            RemoteAuthError: the server does not accept the key.
            RemoteError: the server cannot be reached, refuses the request or stays busy.
        """
        deadline_s = time.monotonic() + (math.inf if request.max_seconds is None else request.max_seconds)
        headers = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        with httpx.Client(headers=headers) as client:
            for candidate in range(request.num_candidates):
                yield from self._stream_candidate(client, request, candidate, deadline_s)

    def _stream_candidate(
        self, client: httpx.Client, request: Request, candidate: int, deadline_s: float
    ) -> Iterator[Event]:
        from armillary.engine.text_stream import TextStream
        from armillary.reason.propose import max_answer_chars

        body = json.dumps(_request_to_json(self._model, request, candidate)).encode()
        max_chars = max_answer_chars(request.sampling.max_tokens)
        answer = _Answer(candidate, TextStream(request.sampling.stop), max_chars)
        try:
            with closing(self._open(client, body, deadline_s)) as response:
                yield from answer.read(response, min(deadline_s, time.monotonic() + self._limits.answer_s))
        except (httpx.HTTPError, _ProtocolError) as error:
            if time.monotonic() >= deadline_s:
                yield from answer.end("cancelled")
                return
            broken = "the connection broke: " if isinstance(error, httpx.HTTPError) else ""
            yield from answer.end("error", self._shown(f"{broken}{str(error) or type(error).__name__}"))

    def _open(self, client: httpx.Client, body: bytes, deadline_s: float) -> httpx.Response:
        """Send the request until the server is not busy; an open response with status 200."""
        wait_s = self._limits.backoff_s
        num_retries = 0
        while True:
            response = self._send(client, body, deadline_s)
            if response.status_code == httpx.codes.OK:
                return response
            try:
                if response.status_code not in BUSY_STATUSES or num_retries == self._limits.num_retries:
                    raise self._refusal(response, deadline_s)
            finally:
                response.close()
            wait_s = max(wait_s, _retry_after_s(response))
            self._sleep(min(wait_s, self._limits.max_wait_s, max(0.0, deadline_s - time.monotonic())))
            num_retries += 1
            wait_s = self._limits.backoff_s * 2**num_retries

    def _send(self, client: httpx.Client, body: bytes, deadline_s: float) -> httpx.Response:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise _ProtocolError("no time is left to ask")
        timeout = httpx.Timeout(min(self._limits.silence_s, left_s), connect=min(self._limits.connect_s, left_s))
        try:
            return client.send(client.build_request("POST", self._url, content=body, timeout=timeout), stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if time.monotonic() >= deadline_s:
                raise _ProtocolError("the server did not answer in time") from error
            problem = self._shown(str(error) or type(error).__name__)
            raise RemoteError(
                f"cannot reach {_without_password(self._url)}: {problem}",
                hint="check remote.url and that the server runs",
            ) from error

    def _refusal(self, response: httpx.Response, deadline_s: float) -> RemoteError:
        status = response.status_code
        text = self._shown(_error_text(response, deadline_s))
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return RemoteAuthError(f"the server does not accept the key ({status}): {text}", hint="set remote.key")
        return RemoteError(f"the server answered {status}: {text}")

    def _shown(self, text: str) -> str:
        """One bounded line of real characters without the key, which a careless server may echo."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        text = text.replace(self._key, "***") if self._key else text
        return " ".join(text.split())[:MAX_ERROR_CHARS]


class _ProtocolError(Exception):
    """The server sent something that is no event of a chat completion, or nothing in time."""


@dataclass(slots=True)
class _Answer:
    """What one candidate has sent so far."""

    candidate: int
    text: TextStream
    chars_left: int
    num_pieces: int = 0
    reason: FinishReason | None = None
    num_prompt_tokens: int = 0
    num_billed_tokens: int | None = None

    def read(self, response: httpx.Response, deadline_s: float) -> Iterator[Event]:
        """Yield tokens up to a stop string, the longest length or the end of the stream, then the last event."""
        for line in _lines(response, deadline_s):
            payload = _payload(line)
            if payload is None:
                continue
            if payload == "[DONE]":
                self.reason = self.reason or "stop"
                break
            yield from self._take(_parse(payload))
            if self._is_over():
                self.reason = "stop" if self.text.is_stopped else "length"
                break
        if self.reason is None:
            raise _ProtocolError("the stream was cut before its end")
        yield from self.end(self.reason)

    def end(self, reason: FinishReason, problem: str = "") -> Iterator[Event]:
        """What was held back, then the last event; without a bill that makes sense every piece counts as one token."""
        rest = self.text.flush()
        if rest:
            yield Token(self.candidate, rest)
        num_tokens = self.num_pieces if self.num_billed_tokens is None else self.num_billed_tokens
        yield Finished(self.candidate, reason, Usage(self.num_prompt_tokens, num_tokens), problem)

    def _is_over(self) -> bool:
        return self.text.is_stopped or self.chars_left < 0

    def _take(self, chunk: dict[str, Any]) -> Iterator[Token]:
        if "error" in chunk:
            raise _ProtocolError(f"the server failed under way: {_message_of(chunk)}")
        bill = chunk.get("usage")
        if isinstance(bill, dict):
            self.num_prompt_tokens = _count(bill.get("prompt_tokens")) or 0
            self.num_billed_tokens = _count(bill.get("completion_tokens"))
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            raise _ProtocolError("a stream event has no choices")
        for choice in choices:
            if not isinstance(choice, dict):
                raise _ProtocolError("a choice is not an object")
            yield from self._tokens(choice)
            if self._is_over():
                return
            self._note_end(choice.get("finish_reason"))

    def _tokens(self, choice: dict[str, Any]) -> Iterator[Token]:
        delta = choice.get("delta")
        text = delta.get("content") if isinstance(delta, dict) else None
        if not text:
            return
        if not isinstance(text, str):
            raise _ProtocolError("a piece of the answer is not text")
        for piece, logprob in _split_by_logprobs(text, choice.get("logprobs")):
            fitting = piece[: self.chars_left]
            # A token without text counts too, or there could be tokens without end.
            self.chars_left -= max(1, len(piece))
            self.num_pieces += 1
            # A lone half of a surrogate pair, which JSON can carry, becomes U+FFFD.
            yield Token(self.candidate, self.text.push(fitting.encode("utf-8", "surrogatepass")), logprob=logprob)
            if self._is_over():
                return

    def _note_end(self, reason: object) -> None:
        if reason is None:
            return
        if not isinstance(reason, str) or reason not in FINISH_REASONS:
            raise _ProtocolError(f"the server ended the answer: {reason}")
        self.reason = FINISH_REASONS[reason]


def _request_to_json(model: str, request: Request, candidate: int) -> dict[str, Any]:
    sampling = request.sampling
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed + request.first_candidate + candidate,
    }
    # Not every server knows these; one that does not refuses the request, so they are sent only when they matter.
    optional: dict[str, Any] = {
        "stop": list(sampling.stop[:MAX_STOP_STRINGS]),
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty if sampling.repetition_penalty != 1.0 else None,
        "logprobs": sampling.num_logprobs > 0,
        "top_logprobs": sampling.num_logprobs,
    }
    return body | {name: value for name, value in optional.items() if value}


def _lines(response: httpx.Response, deadline_s: float) -> Iterator[bytes]:
    """Split at line feeds only: JSON text may hold other characters that Python takes for line ends."""
    rest = b""
    for block in response.iter_bytes():
        if time.monotonic() > deadline_s:
            raise _ProtocolError("the answer took too long")
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        if len(rest) > MAX_LINE_BYTES:
            raise _ProtocolError(f"a line of the stream is longer than {MAX_LINE_BYTES} bytes")
    if rest:
        yield rest


def _payload(line: bytes) -> str | None:
    """What follows ``data:``; None for comments, other fields and the blank lines between events."""
    name, _, value = line.rstrip(b"\r").partition(b":")
    if name != b"data":
        if name.lstrip()[:1] in (b"{", b"<"):
            raise _ProtocolError("the server did not answer with a stream of events")
        return None
    try:
        return value.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise _ProtocolError(f"a stream event is not UTF-8 text: {error.reason}") from error


def _parse(payload: str) -> dict[str, Any]:
    try:
        chunk = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise _ProtocolError(f"a stream event is not JSON: {type(error).__name__}") from error
    if not isinstance(chunk, dict):
        raise _ProtocolError("a stream event is not an object")
    return chunk


def _count(value: object) -> int | None:
    """A number of tokens, or None for what cannot be one."""
    return value if type(value) is int and 0 <= value <= MAX_BILLED_TOKENS else None


def _split_by_logprobs(text: str, logprobs: object) -> list[tuple[str, float | None]]:
    """One piece per token where the server tells tokens apart and they spell the text; else the text as one piece."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not all(isinstance(item, dict) for item in content):
        return [(text, None)]
    pieces = [(str(item.get("token")), _logprob(item.get("logprob"))) for item in content]
    return pieces if "".join(piece for piece, _ in pieces) == text else [(text, None)]


def _logprob(value: object) -> float | None:
    return float(value) if isinstance(value, float | int) and math.isfinite(value) else None


def _retry_after_s(response: httpx.Response) -> float:
    """Seconds that the server asks for; 0 when it gives none or a date, which the doubling wait covers well enough."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _error_text(response: httpx.Response, deadline_s: float) -> str:
    """The server's own words from its error body, one line."""
    raw = b""
    try:
        for block in response.iter_bytes():
            raw += block
            if len(raw) > MAX_ERROR_BYTES or time.monotonic() >= deadline_s:
                break
    except httpx.HTTPError:
        return response.reason_phrase
    try:
        text = _message_of(json.loads(raw))
    except (ValueError, RecursionError):
        text = raw.decode("utf-8", "replace")
    return text if text.strip() else response.reason_phrase


def _message_of(body: Any) -> str:
    """The message in any of the usual envelopes: ``{"error": {"message"}}``, ``{"error": text}``, ``{"message"}``."""
    if not isinstance(body, dict):
        return str(body)
    error = body.get("error", body)
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return str(error)


def _without_password(url: str) -> str:
    """The URL as it may be shown."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
