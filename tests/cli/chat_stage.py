"""Who plays in the tests of a chat: a model that follows a script, and a user at a keyboard."""

from __future__ import annotations

import readline
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from fake_server import chunk, send, start

from armillary.core.messages import Event, Finished, Message, ModelIdentity, Request, Token, Usage
from armillary.runtime.conversation import Conversation, Turn

Act = str | BaseException | Finished


class Actor:
    """A model that plays one act per question: an answer, or a beginning and then an exception or an odd end."""

    def __init__(self, *acts: Act) -> None:
        self.model = ModelIdentity("actor", "cd" * 32)
        self.requests: list[Request] = []
        self._acts = iter(acts)

    @property
    def seen(self) -> list[list[str]]:
        """The contents of the messages of each request."""
        return [[message.content for message in request.messages] for request in self.requests]

    def stream(self, request: Request) -> Iterator[Event]:
        self.requests.append(request)
        act = next(self._acts)
        if isinstance(act, str):
            yield Token(0, act)
            yield Finished(0, "stop", Usage(10, 1))
            return
        yield Token(0, "Par")
        yield Token(0, "tial")
        if isinstance(act, BaseException):
            raise act
        yield act


class Exact(Actor):
    """A model with a tokenizer: one token per letter."""

    class tokenizer:
        @staticmethod
        def encode_chat(messages: Sequence[Message]) -> list[int]:
            return [0] * sum(len(message.content) for message in messages)


class Keyboard:
    """What a user does at the prompts of a chat on a terminal, one thing after the other."""

    def __init__(self, *acts: str | BaseException) -> None:
        self.prompts: list[str] = []
        self._acts = iter(acts)

    def __call__(self, prompt: str = "") -> str:
        self.prompts.append(prompt)
        act = next(self._acts)
        if isinstance(act, BaseException):
            raise act
        if act:
            readline.add_history(act)
        return act


def turns_of(path: Path) -> tuple[Turn, ...]:
    with Conversation.resume(path) as conversation:
        return conversation.turns


def holding(was_released: threading.Event) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply that begins an answer and then keeps silent."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        send(handler, chunk("Once \x1b[31mupon"))
        was_released.wait(60)

    return reply
