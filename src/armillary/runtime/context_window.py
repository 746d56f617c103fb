"""Show a model as much of a conversation as its context holds. Keeps nothing and prints nothing.

The system message and the last question are always shown; of the turns before, the oldest are left out first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from armillary.core.errors import ContextLengthError, RemoteError
from armillary.core.messages import Event, Message, Request
from armillary.core.protocols import Generator, Tokenizer
from armillary.core.settings import Settings
from armillary.reason.budget import estimate_tokens
from armillary.reason.propose import SupportsClose
from armillary.runtime.conversation import Attachment, Turn
from armillary.verify.rendering import visible

MIN_FENCE = 3
# Servers say it in their own words; none of them has a code of its own for it.
TOO_LONG = re.compile(r"the server answered 4\d\d: .*(context|too long|too many tokens)", re.IGNORECASE)


@runtime_checkable
class HasTokenizer(Protocol):
    """A generator that can count tokens exactly; our engine is one."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer by which the model itself counts."""
        ...


@dataclass(frozen=True, slots=True)
class History:
    """What was said before the question.

    Attributes:
        system: system message, or empty.
        turns: oldest first.
    """

    system: str = ""
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one request shows.

    Attributes:
        num_left_out: turns of the history that are not shown.
        num_tokens: of the messages, counted or estimated.
    """

    messages: tuple[Message, ...]
    num_left_out: int
    num_tokens: int


class Window:
    """How much a model reads at once. Learns from refusals, since not every server tells.

    Args:
        generator: counts exactly if it has a tokenizer, else tokens are estimated.
        context_tokens: of prompt and answer together; None if nobody knows.
        max_answer_tokens: kept free for the answer, as far as half of the context.
    """

    def __init__(self, generator: Generator, *, context_tokens: int | None, max_answer_tokens: int) -> None:
        self.context_tokens = context_tokens
        self.is_exact = isinstance(generator, HasTokenizer)
        self.count: Callable[[tuple[Message, ...]], int] = estimate_tokens
        if isinstance(generator, HasTokenizer):
            tokenizer = generator.tokenizer
            self.count = lambda messages: len(tokenizer.encode_chat(messages))
        self._max_prompt_tokens = (
            None if context_tokens is None else context_tokens - min(max_answer_tokens, context_tokens // 2)
        )

    def fit(self, history: History, question: Message) -> Prompt:
        """The newest turns that fit between the system message and the question; none if even these do not fit."""
        num_turns = len(history.turns)
        num_left_out = bisect_left(
            range(num_turns), True, key=lambda number: self._holds(_messages(history, number, question))
        )
        messages = _messages(history, num_left_out, question)
        return Prompt(messages, num_left_out, self.count(messages))

    def shrink_below(self, num_tokens: int) -> None:
        """Take it that a prompt of so many tokens was too long."""
        self._max_prompt_tokens = num_tokens - 1

    def _holds(self, messages: tuple[Message, ...]) -> bool:
        return self._max_prompt_tokens is None or self.count(messages) <= self._max_prompt_tokens


def stream_fitting(
    generator: Generator,
    window: Window,
    history: History,
    question: Message,
    *,
    request_for: Callable[[tuple[Message, ...]], Request],
    on_prompt: Callable[[Prompt], None],
) -> abc.Generator[Event, None, None]:
    """Stream the answer to a question; a prompt that is refused as too long is tried again with fewer turns.

    Args:
        generator: the model.
        window: shrinks when the model refuses.
        history: what was said before.
        question: the last message.
        request_for: the request that carries the messages.
        on_prompt: told what is shown, before each try.

    Raises:
        ContextLengthError: system message and question alone are too long.
        RemoteError: a server refused for another reason, or these alone.
    """
    while True:
        prompt = window.fit(history, question)
        on_prompt(prompt)
        has_begun = False
        try:
            events = generator.stream(request_for(prompt.messages))
            try:
                for event in events:
                    has_begun = True
                    yield event
            finally:
                if isinstance(events, SupportsClose):
                    events.close()
        except (ContextLengthError, RemoteError) as error:
            if has_begun or not _is_about_length(error) or prompt.num_left_out == len(history.turns):
                raise
            window.shrink_below(prompt.num_tokens)
        else:
            return


def user_message(question: str, files: Sequence[Attachment] = ()) -> Message:
    """The question below its files, each named and in a fence that is longer than any fence inside."""
    return Message("user", "\n\n".join([*map(_fenced, files), question]))


def known_context_tokens(settings: Settings, model: str | None = None) -> int | None:
    """Tokens that a local model was trained to read; None for a remote one.

    Raises:
        NotFoundError: no such model here.
        ModelFileError: its file is damaged.
    """
    if settings["remote.url"]:
        return None
    from armillary.models.architectures import read_config
    from armillary.models.gguf import open_gguf
    from armillary.models.hub import local_path
    from armillary.models.registry import known_models
    from armillary.runtime.stack import models_folder

    name = model or settings["models.default"]
    for entry in known_models():
        if entry.name == name:
            return entry.context_tokens
    return read_config(open_gguf(local_path(name, models_folder(settings))).metadata).shape.max_context_tokens


def _messages(history: History, num_left_out: int, question: Message) -> tuple[Message, ...]:
    messages = [Message("system", history.system)] if history.system else []
    for turn in history.turns[num_left_out:]:
        messages += [user_message(turn.question, turn.files), Message("assistant", turn.answer)]
    return (*messages, question)


def _is_about_length(error: ContextLengthError | RemoteError) -> bool:
    return isinstance(error, ContextLengthError) or TOO_LONG.match(str(error)) is not None


def _fenced(file: Attachment) -> str:
    longest = max(map(len, re.findall("`+", file.text)), default=0)
    fence = "`" * max(MIN_FENCE, longest + 1)
    end = "" if file.text.endswith("\n") or not file.text else "\n"
    return f"{visible(file.name)}:\n{fence}\n{file.text}{end}{fence}"
