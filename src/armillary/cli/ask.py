"""``armillary ask``: one question, one answer, printed as it appears. Verifies nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from armillary.cli.inputs import STDIN, read_text
from armillary.cli.options import takes
from armillary.cli.output import emit, keeping, say, shown
from armillary.core.errors import ArmillaryError, ExitCode, UsageError
from armillary.core.messages import Event, Finished, Message, Request, Sampling, Token
from armillary.core.settings import load_settings
from armillary.core.values import Json
from armillary.runtime import stack


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """What ``armillary ask`` takes."""

    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The question, or - to read it from stdin.")]
    model: Annotated[str | None, typer.Option(help="Registry name or path of a model.")] = None
    remote: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None
    system: Annotated[str, typer.Option(help="System message.")] = ""
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token.")] = 0.0
    seed: Annotated[int, typer.Option(min=0, help="Fixes the random choices.")] = 0
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens to write at most.")] = 512
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False


@takes(AskOptions)
def command(options: AskOptions) -> int:
    """Ask the model and print its answer as it appears; the cost goes to stderr."""
    request = _request(options)
    settings = load_settings({"models.default": options.model, "remote.url": options.remote})
    answer = _Answer(echo=not options.as_json)
    with keeping(lambda: f"{answer.num_tokens} tokens of the answer were written"):
        generator = stack.generator_for(settings)
        finished = answer.read(generator.stream(request))
    if options.as_json:
        emit({**answer.to_json(finished), "model": {"name": generator.model.name, "sha256": generator.model.sha256}})
    say(f"{generator.model.name}: {answer.summary(finished)}")
    return ExitCode.OK


def _request(options: AskOptions) -> Request:
    question = read_text(STDIN) if options.prompt == STDIN else options.prompt
    if not question.strip():
        raise UsageError("the question is empty")
    system = (Message("system", options.system),) if options.system else ()
    return Request(
        (*system, Message("user", question)),
        Sampling(temperature=options.temperature, seed=options.seed, max_tokens=options.max_tokens),
    )


class _Answer:
    """Collects one candidate's text and its times; prints the text as it comes if ``echo``."""

    def __init__(self, *, echo: bool) -> None:
        self.num_tokens = 0
        self._echo = echo
        self._text: list[str] = []
        self._start_s = 0.0
        self._first_token_s = 0.0
        self._elapsed_s = 0.0

    def read(self, events: Iterator[Event]) -> Finished:
        self._start_s = time.perf_counter()
        finished: Finished | None = None
        try:
            for event in events:
                if isinstance(event, Finished):
                    finished = event
                else:
                    self._take(event)
        finally:
            if self._echo and self._text:
                print(flush=True)
        self._elapsed_s = time.perf_counter() - self._start_s
        if finished is None or finished.reason == "error":
            raise ArmillaryError(f"the model stopped: {finished.error if finished else 'the stream ended early'}")
        return finished

    def _take(self, token: Token) -> None:
        if not self.num_tokens:
            self._first_token_s = time.perf_counter() - self._start_s
        self.num_tokens += 1
        self._text.append(token.text)
        if self._echo:
            print(shown(token.text), end="", flush=True)

    @property
    def tokens_per_s(self) -> float:
        """Speed after the first token."""
        decode_s = self._elapsed_s - self._first_token_s
        return (self.num_tokens - 1) / decode_s if self.num_tokens > 1 and decode_s > 0 else 0.0

    def summary(self, finished: Finished) -> str:
        usage = finished.usage
        cut = " (cut at max tokens)" if finished.reason == "length" else ""
        return (
            f"{usage.prompt_tokens} + {usage.completion_tokens} tokens{cut}, first after {self._first_token_s:.2f} s, "
            f"then {self.tokens_per_s:.1f} tokens/s"
        )

    def to_json(self, finished: Finished) -> dict[str, Json]:
        return {
            "text": "".join(self._text),
            "finish_reason": finished.reason,
            "prompt_tokens": finished.usage.prompt_tokens,
            "completion_tokens": finished.usage.completion_tokens,
            "first_token_s": round(self._first_token_s, 4),
            "elapsed_s": round(self._elapsed_s, 4),
            "tokens_per_s": round(self.tokens_per_s, 2),
        }
