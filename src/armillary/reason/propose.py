"""Ask a language model for candidate functions and hand over each one as soon as it is finished.

Neither judges nor chooses; what the model may see of a task is decided here (never the reference).
"""

from __future__ import annotations

import re
from collections import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from armillary.core.messages import Event, Finished, FinishReason, Message, Request, Token, Usage
from armillary.core.protocols import Generator
from armillary.core.tasks import Example, TaskSpec
from armillary.verify.extract import extract_code
from armillary.verify.rendering import render, render_call

SYSTEM_PROMPT = "You are an expert Python programmer. You write short, correct, self-contained Python 3.11 code."
IN_STEPS = "Write the steps as short comments first, each followed by its code. "
MAX_SHOWN_ITEMS = 12
MAX_ITEM_CHARS = 300
# A token of code has 3 to 4 characters; few words have more than 16.
CHARS_PER_TOKEN = 16
SPARE_CHARS = 4_096

OnToken = Callable[[Token], None]


@dataclass(frozen=True, slots=True)
class Draft:
    """One finished candidate, not yet judged.

    Attributes:
        candidate: its number within the whole search.
        text: everything that the model wrote.
        code: the program in it, or empty; nobody looks for it in a candidate that was cancelled.
        num_streamed_tokens: its token events; a server may put several tokens into one.
        mean_logprob: mean natural log of the tokens' probabilities, or None where a token came without.
        usage: its last event's; the tokens that it wrote and those of a prompt that it paid for.
        error: what went wrong when the reason is ``error``.
    """

    candidate: int
    text: str
    code: str
    finish_reason: FinishReason
    num_streamed_tokens: int
    mean_logprob: float | None
    usage: Usage
    error: str = ""


@runtime_checkable
class SupportsClose(Protocol):
    """An iterator that holds something which wants to be let go."""

    def close(self) -> None:
        """Cancel what is still running."""
        ...


def first_messages(task: TaskSpec, *, in_steps: bool = False) -> tuple[Message, ...]:
    """The conversation that asks for a first answer: signature, the user's words, examples and properties.

    ``in_steps`` asks for the steps of the solution, as comments, before the code.
    """
    parts = [statement(task)]
    examples = [_example_line(task, item) for item in task.examples if item.origin == "user"]
    parts += _listed("It must give:", examples)
    parts += _listed("For all valid inputs, these Python expressions must hold:", _properties(task))
    parts.append(
        f"Answer with one ```python block that holds the complete function `{task.entry_point}` and its imports. "
        f"{IN_STEPS if in_steps else ''}No tests, no explanation."
    )
    return (Message("system", SYSTEM_PROMPT), Message("user", "\n\n".join(parts)))


def max_answer_chars(max_tokens: int) -> int:
    """Characters that an answer of so many tokens may have; one that goes on is cut there, whatever its tokens are."""
    return max_tokens * CHARS_PER_TOKEN + SPARE_CHARS


def propose(
    generator: Generator,
    request: Request,
    entry_point: str,
    *,
    first_candidate: int = 0,
    on_token: OnToken | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> abc.Generator[Draft, None, None]:
    """Stream one request and yield its candidates in the order in which they finish.

    The model stands still between two drafts. Closing the iterator cancels the candidates that are not finished. A
    candidate that goes on beyond :func:`max_answer_chars` is cut there and ends as ``length``.

    Args:
        generator: the model.
        request: what it is asked, and how often.
        entry_point: name of the function to find in what it writes.
        first_candidate: number of the request's candidate 0 within the search; tokens and drafts carry it.
        on_token: called with every token as it appears.
        should_stop: asked after every token; true cancels what is not finished.
    """
    events = generator.stream(request)
    max_chars = max_answer_chars(request.sampling.max_tokens)
    parts = [_Partial(first_candidate + index, max_chars) for index in range(request.num_candidates)]
    try:
        for event in events:
            part = parts[event.candidate]
            if isinstance(event, Finished):
                if not part.is_finished:
                    yield part.finish(event, entry_point)
                continue
            if not part.is_finished:
                token = part.add(event)
                if on_token is not None:
                    on_token(token)
                if part.is_overlong:
                    yield part.cut(entry_point)
            if should_stop() or all(part.is_finished for part in parts):
                return
    finally:
        _close(events)


@dataclass(slots=True)
class _Partial:
    candidate: int
    chars_left: int
    texts: list[str] = field(default_factory=list)
    logprobs: list[float | None] = field(default_factory=list)
    is_finished: bool = False

    @property
    def is_overlong(self) -> bool:
        return self.chars_left < 0

    def add(self, token: Token) -> Token:
        """The token as it counts: with its number within the search, and no more text than still fits."""
        taken = replace(token, candidate=self.candidate, text=token.text[: self.chars_left])
        # A token without text counts too, or there could be tokens without end.
        self.chars_left -= max(1, len(token.text))
        self.texts.append(taken.text)
        self.logprobs.append(taken.logprob)
        return taken

    def cut(self, entry_point: str) -> Draft:
        return self.finish(Finished(self.candidate, "length", Usage(0, len(self.texts))), entry_point)

    def finish(self, end: Finished, entry_point: str) -> Draft:
        self.is_finished = True
        text = "".join(self.texts)
        known = [value for value in self.logprobs if value is not None]
        mean = sum(known) / len(known) if known and len(known) == len(self.logprobs) else None
        code = "" if end.reason == "cancelled" else extract_code(text, entry_point)
        return Draft(self.candidate, text, code, end.reason, len(self.texts), mean, end.usage, end.error)


def _close(events: Iterator[Event]) -> None:
    if isinstance(events, SupportsClose):
        events.close()


def statement(task: TaskSpec) -> str:
    """What the user wants, with the function's signature."""
    if re.search(rf"^\s*def\s+{re.escape(task.entry_point)}\s*\(", task.prompt, re.MULTILINE):
        return f"Complete this Python function:\n\n```python\n{task.prompt.strip()}\n```"
    return f"Write the Python function `{_signature(task)}`.\n\n{task.prompt.strip()}"


def _signature(task: TaskSpec) -> str:
    parameters = ", ".join(
        f"{item.name}: {item.annotation}" if item.annotation else item.name for item in task.parameters
    )
    returns = f" -> {task.returns}" if task.returns else ""
    return f"def {task.entry_point}({parameters}){returns}"


def _example_line(task: TaskSpec, example: Example) -> str:
    call = render_call(task.entry_point, example.arguments)
    return f"{call} raises {example.raises}" if example.raises else f"{call} == {render(example.expected)}"


def _properties(task: TaskSpec) -> list[str]:
    condition = " and ".join(f"({item.text})" for item in task.requires)
    suffix = f"    # whenever {condition}" if condition else ""
    held = [f"{item.text}{suffix}" for item in (*task.ensures, *task.laws) if item.origin == "user"]
    return held + [f"raises {name} when {text}" for name, text in task.raises]


def _listed(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    shown = [f"- {clip(line, MAX_ITEM_CHARS)}" for line in lines[:MAX_SHOWN_ITEMS]]
    return ["\n".join((title, *shown))]


def clip(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text, its middle left out when it is longer."""
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"
