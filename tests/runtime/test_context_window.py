"""What a model is shown of a conversation: all that fits, the oldest turns left out first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from armillary.core.errors import ContextLengthError, NotFoundError, RemoteError
from armillary.core.messages import Event, Finished, Message, ModelIdentity, Request, Token, Usage
from armillary.core.settings import load_settings
from armillary.runtime.context_window import (
    History,
    Prompt,
    Window,
    known_context_tokens,
    stream_fitting,
    user_message,
)
from armillary.runtime.conversation import Attachment, Turn

TURNS = tuple(Turn(f"q{number}", f"a{number}") for number in range(4))
QUESTION = Message("user", "last")


class Silent:
    """A model that is never asked, and cannot count."""

    model = ModelIdentity("silent")

    def stream(self, request: Request) -> Iterator[Event]:
        raise AssertionError("nobody asks")


class Letters:
    """One token per letter, and 10 per message."""

    vocab_size = 1
    end_ids = frozenset[int]()

    def encode(self, text: str, *, allow_special: bool = False) -> list[int]:
        return [0] * len(text)

    def decode_bytes(self, token_ids: Sequence[int]) -> bytes:
        return b""

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        return self.encode("".join(f"{message.content:10}" + 10 * " " for message in messages))


class Counting(Silent):
    """As silent, but with a tokenizer."""

    tokenizer = Letters()


def shown(prompt: Prompt) -> list[str]:
    return [message.content for message in prompt.messages]


def test_all_is_shown_when_nobody_knows_the_context() -> None:
    window = Window(Silent(), context_tokens=None, max_answer_tokens=512)
    prompt = window.fit(History("be brief", TURNS[:2]), QUESTION)
    assert shown(prompt) == ["be brief", "q0", "a0", "q1", "a1", "last"]
    assert [message.role for message in prompt.messages] == ["system", *["user", "assistant"] * 2, "user"]
    assert prompt.num_left_out == 0


@pytest.mark.parametrize(
    ("context_tokens", "num_left_out"), [(210, 0), (209, 1), (170, 1), (169, 2), (50, 4), (49, 4), (1, 4)]
)
def test_the_oldest_turns_are_left_out_exactly(context_tokens: int, num_left_out: int) -> None:
    window = Window(Counting(), context_tokens=context_tokens, max_answer_tokens=10)
    prompt = window.fit(History("be brief", TURNS), QUESTION)
    assert window.is_exact
    assert prompt.num_left_out == num_left_out
    turns = [text for turn in TURNS[num_left_out:] for text in (turn.question, turn.answer)]
    assert shown(prompt) == ["be brief", *turns, "last"]
    assert prompt.num_tokens == 20 * len(prompt.messages)


def test_without_a_tokenizer_tokens_are_estimated() -> None:
    window = Window(Silent(), context_tokens=60, max_answer_tokens=10)
    prompt = window.fit(History("", TURNS), QUESTION)
    assert not window.is_exact
    assert 0 < prompt.num_left_out < 4
    assert prompt.num_tokens <= 50


def test_a_long_answer_takes_at_most_half_of_the_context() -> None:
    window = Window(Counting(), context_tokens=120, max_answer_tokens=5000)
    assert window.fit(History("", TURNS), QUESTION).num_left_out == 3


class Refusing:
    """Refuses prompts of more than so many messages, at once as our engine does or with the first event."""

    model = ModelIdentity("refusing")

    def __init__(self, error: Exception, *, max_messages: int, at_once: bool) -> None:
        self.num_tries = 0
        self.is_closed = False
        self._error = error
        self._max_messages = max_messages
        self._at_once = at_once

    def stream(self, request: Request) -> Iterator[Event]:
        self.num_tries += 1
        is_refused = len(request.messages) > self._max_messages
        if is_refused and self._at_once:
            raise self._error
        return self._events(is_refused)

    def _events(self, is_refused: bool) -> Iterator[Event]:
        if is_refused:
            raise self._error
        try:
            yield Token(0, "yes")
            yield Finished(0, "stop", Usage(1, 1))
        finally:
            self.is_closed = True


ERRORS = [
    (ContextLengthError(num_tokens=9, limit=8), True),
    (RemoteError("the server answered 400: the request exceeds the available context size"), False),
    (RemoteError("the server answered 413: prompt is too long"), False),
]


def streamed(model: Refusing, window: Window, told: list[int]) -> list[Event]:
    return list(
        stream_fitting(
            model,
            window,
            History("be brief", TURNS),
            QUESTION,
            request_for=Request,
            on_prompt=lambda prompt: told.append(prompt.num_left_out),
        )
    )


@pytest.mark.parametrize(("error", "at_once"), ERRORS)
def test_a_refused_prompt_is_tried_with_fewer_turns_and_that_is_learned(error: Exception, at_once: bool) -> None:
    model = Refusing(error, max_messages=6, at_once=at_once)
    window = Window(model, context_tokens=None, max_answer_tokens=8)
    told: list[int] = []
    assert len(streamed(model, window, told)) == 2
    assert told == [0, 1, 2]
    streamed(model, window, told)
    assert told == [0, 1, 2, 2]


@pytest.mark.parametrize(("error", "at_once"), ERRORS)
def test_a_question_that_is_too_long_alone_is_an_error(error: Exception, at_once: bool) -> None:
    model = Refusing(error, max_messages=1, at_once=at_once)
    told: list[int] = []
    with pytest.raises(type(error)):
        streamed(model, Window(model, context_tokens=None, max_answer_tokens=8), told)
    assert told == [0, 1, 2, 3, 4]


def test_a_refusal_for_another_reason_is_not_tried_again() -> None:
    model = Refusing(RemoteError("the server answered 400: no such model"), max_messages=0, at_once=False)
    with pytest.raises(RemoteError, match="no such model"):
        streamed(model, Window(model, context_tokens=None, max_answer_tokens=8), [])
    assert model.num_tries == 1


def test_leaving_the_stream_closes_the_models() -> None:
    model = Refusing(RemoteError(""), max_messages=99, at_once=False)
    window = Window(model, context_tokens=None, max_answer_tokens=8)
    events = stream_fitting(model, window, History(), QUESTION, request_for=Request, on_prompt=lambda prompt: None)
    next(events)
    events.close()
    assert model.is_closed


class Listed(Silent):
    """A stream that has nothing to close."""

    def stream(self, request: Request) -> Iterator[Event]:
        return iter([Finished(0, "stop", Usage())])


def test_a_stream_that_cannot_be_closed_is_fine() -> None:
    window = Window(Listed(), context_tokens=None, max_answer_tokens=8)
    events = stream_fitting(Listed(), window, History(), QUESTION, request_for=Request, on_prompt=lambda prompt: None)
    assert list(events) == [Finished(0, "stop", Usage())]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (Attachment("a.py", "x = 1\n"), "a.py:\n```\nx = 1\n```\n\nWhy?"),
        (Attachment("a.py", "x = 1"), "a.py:\n```\nx = 1\n```\n\nWhy?"),
        (Attachment("a.md", "```\n````x\n"), "a.md:\n`````\n```\n````x\n`````\n\nWhy?"),
        (Attachment("a\n\x1b.md", ""), "a\\n\\x1b.md:\n```\n```\n\nWhy?"),
    ],
)
def test_a_file_stands_before_the_question_in_a_fence_that_nothing_inside_ends(file: Attachment, text: str) -> None:
    assert user_message("Why?", (file,)) == Message("user", text)


def test_a_question_alone_is_itself() -> None:
    assert user_message(" Why?\n") == Message("user", " Why?\n")


def test_a_known_model_tells_its_context(tmp_path: Path) -> None:
    settings = load_settings({"home": str(tmp_path)})
    assert known_context_tokens(settings, "smollm2-135m") == 8192
    with pytest.raises(NotFoundError):
        known_context_tokens(settings, str(tmp_path / "nothing.gguf"))


@pytest.mark.model
def test_a_file_tells_its_context(smollm2_path: Path) -> None:
    assert known_context_tokens(load_settings({"models.default": str(smollm2_path)})) == 8192


def test_a_server_does_not_tell_its_context() -> None:
    assert known_context_tokens(load_settings({"remote.url": "http://127.0.0.1:9/v1"})) is None
