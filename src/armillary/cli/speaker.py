"""Ask a model one question of a conversation, print its answer as it appears, and keep what Ctrl-C leaves of it.

What ``ask`` and ``chat`` share. Reads no input and writes no file.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as Stream
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from armillary.cli.output import say, shown
from armillary.core.messages import Event, Finished, Request, Sampling, Token, Usage
from armillary.core.protocols import Generator
from armillary.core.settings import Settings
from armillary.core.values import Json
from armillary.runtime import stack
from armillary.runtime.context_window import (
    History,
    Prompt,
    Window,
    known_context_tokens,
    stream_fitting,
    user_message,
)
from armillary.runtime.conversation import Attachment, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerOptions:
    """What every command takes that asks a model in words."""

    model: Annotated[str | None, typer.Option(help="Registry name or path of a model.")] = None
    remote: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None
    system: Annotated[str | None, typer.Option(help="System message.")] = None
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token.")] = 0.0
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0, help="Only the likeliest tokens of this probability.")] = 1.0
    seed: Annotated[int, typer.Option(min=0, help="Fixes the random choices.")] = 0
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens to write at most.")] = 512
    context_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens that the model reads at most, if it cannot tell.")
    ] = None

    @property
    def sampling(self) -> Sampling:
        """How tokens are chosen."""
        return Sampling(temperature=self.temperature, top_p=self.top_p, seed=self.seed, max_tokens=self.max_tokens)


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of one question.

    Attributes:
        turn: question and answer; its reason is ``cancelled`` after Ctrl-C.
        error: what went wrong with the model, or empty.
        cut: why the answer ended before its end, or empty.
        num_left_out: turns that were not shown to the model.
        first_token_s: from asking to the first token.
        elapsed_s: from asking to the end.
        num_tokens: pieces that arrived.
    """

    turn: Turn
    error: str
    cut: str
    num_left_out: int
    first_token_s: float
    elapsed_s: float
    num_tokens: int

    @property
    def is_worth_keeping(self) -> bool:
        """Whether there is an answer, be it empty or a part."""
        return bool(self.turn.answer) or self.turn.reason in ("stop", "length")

    @property
    def tokens_per_s(self) -> float:
        """Speed after the first token."""
        decode_s = self.elapsed_s - self.first_token_s
        return (self.num_tokens - 1) / decode_s if self.num_tokens > 1 and decode_s > 0 else 0.0

    @property
    def summary(self) -> str:
        """One line about the cost."""
        usage = self.turn.usage
        cut = f" ({self.cut})" if self.cut else ""
        return (
            f"{self.turn.model.name}: {usage.prompt_tokens} + {usage.completion_tokens} tokens{cut}, "
            f"first after {self.first_token_s:.2f} s, then {self.tokens_per_s:.1f} tokens/s"
        )

    def to_json(self) -> dict[str, Json]:
        """Answer, cost and the real model."""
        turn = self.turn
        return {
            "text": turn.answer,
            "finish_reason": turn.reason,
            "error": self.error,
            "prompt_tokens": turn.usage.prompt_tokens,
            "completion_tokens": turn.usage.completion_tokens,
            "num_left_out": self.num_left_out,
            "first_token_s": round(self.first_token_s, 4),
            "elapsed_s": round(self.elapsed_s, 4),
            "tokens_per_s": round(self.tokens_per_s, 2),
            "model": {"name": turn.model.name, "sha256": turn.model.sha256},
        }


@dataclass(frozen=True, slots=True)
class Speaker:
    """A model and how it is asked."""

    generator: Generator
    window: Window
    sampling: Sampling

    def ask(
        self,
        history: History,
        question: str,
        files: Sequence[Attachment] = (),
        *,
        echo: bool = True,
        num_earlier: int = 0,
    ) -> Reply:
        """Ask, and print the answer as it comes; Ctrl-C ends the answer, not this call.

        Args:
            history: what was said before.
            question: the user's own words.
            files: what goes along.
            echo: whether to print the answer.
            num_earlier: answers to the same question before this one; each is drawn from randomness of its own.

        Raises:
            ContextLengthError: the question alone is too long.
            RemoteError: a server refused.
        """
        prompts: list[Prompt] = []
        answer = _Answer(echo=echo, before_first=lambda: _note_left_out(prompts[-1], self.window))
        finished = answer.read(
            stream_fitting(
                self.generator,
                self.window,
                history,
                user_message(question, files),
                request_for=lambda messages: Request(messages, self.sampling, first_candidate=num_earlier),
                on_prompt=prompts.append,
            )
        )
        usage = finished.usage
        if finished.reason == "cancelled" and prompts and self.window.is_exact:
            usage = replace(usage, prompt_tokens=prompts[-1].num_tokens)
        return Reply(
            Turn(question, answer.text, tuple(files), finished.reason, self.generator.model, usage),
            error=finished.error,
            cut=self._cut(finished),
            num_left_out=prompts[-1].num_left_out if prompts else 0,
            first_token_s=answer.first_token_s,
            elapsed_s=answer.elapsed_s,
            num_tokens=answer.num_tokens,
        )

    def _cut(self, finished: Finished) -> str:
        if finished.reason != "length":
            return ""
        is_context_full = self.window.is_exact and finished.usage.completion_tokens < self.sampling.max_tokens
        return "cut at the end of the context" if is_context_full else "cut at max tokens"


def open_speaker(settings: Settings, options: SpeakerOptions, model: str | None = None) -> Speaker:
    """Load the model that the settings name, or another one.

    Raises:
        NotFoundError: no such model here.
        ModelFileError: its file is damaged.
    """
    generator = stack.generator_for(settings, model) if model else stack.generator_for(settings)
    known = [known_context_tokens(settings, model), options.context_tokens]
    limits = [limit for limit in known if limit is not None]
    window = Window(generator, context_tokens=min(limits, default=None), max_answer_tokens=options.max_tokens)
    return Speaker(generator, window, options.sampling)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let no impatient second Ctrl-C interrupt what the first one left to do: tidying up, and keeping the answer."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        # None stands for a handler that was not set by Python, and cannot be put back.
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def _note_left_out(prompt: Prompt, window: Window) -> None:
    if not prompt.num_left_out:
        return
    turns = "1 turn is" if prompt.num_left_out == 1 else f"{prompt.num_left_out} turns are"
    context = f"a context of {window.context_tokens} tokens" if window.context_tokens else "the model's context"
    counted = "" if window.is_exact else ", as estimated"
    say(f"the oldest {turns} left out of what the model reads: the conversation outgrew {context}{counted}")


class _Answer:
    """Collects one candidate's text and its times; prints the text as it comes if ``echo``."""

    def __init__(self, *, echo: bool, before_first: Callable[[], None]) -> None:
        self.num_tokens = 0
        self.first_token_s = 0.0
        self.elapsed_s = 0.0
        self._echo = echo
        self._before_first = before_first
        self._text: list[str] = []
        self._start_s = time.perf_counter()

    @property
    def text(self) -> str:
        return "".join(self._text)

    def read(self, events: Stream[Event, None, None]) -> Finished:
        finished: Finished | None = None
        try:
            for event in events:
                if isinstance(event, Finished):
                    finished = event
                else:
                    self._take(event)
        except KeyboardInterrupt:
            finished = Finished(0, "cancelled", Usage(0, self.num_tokens))
        finally:
            with undisturbed():
                events.close()
            self.elapsed_s = time.perf_counter() - self._start_s
            if self._echo and self._text:
                print(flush=True)
        return finished or Finished(0, "error", Usage(0, self.num_tokens), "the stream ended early")

    def _take(self, token: Token) -> None:
        if not self.num_tokens:
            self.first_token_s = time.perf_counter() - self._start_s
            self._before_first()
        self.num_tokens += 1
        self._text.append(token.text)
        if self._echo:
            print(shown(token.text), end="", flush=True)
