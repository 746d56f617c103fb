"""The seams between packages: what a part needs from another, without its name. Only protocols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from armillary.core.messages import Event, Message, ModelIdentity, Request
from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import Json
from armillary.core.verdicts import Behaviour, Check, Verdict


class Generator(Protocol):
    """Anything that continues a conversation: our engine, or any OpenAI-compatible server."""

    @property
    def model(self) -> ModelIdentity:
        """The real model that answers."""
        ...

    def stream(self, request: Request) -> Iterator[Event]:
        """Yield the tokens of all candidates as they appear, and one ``Finished`` for each.

        Closing the iterator cancels what is still running.

        Raises:
            ContextLengthError: the prompt leaves no room for an answer.
        """
        ...


class Verifier(Protocol):
    """Anything that judges code against a task."""

    @property
    def sandbox_tier(self) -> str:
        """Strength of the jail that runs the code."""
        ...

    def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
        """Climb the ladder until the first counterexample or the end."""
        ...

    def behaviours(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> list[Behaviour]:
        """What each code does on shared generated inputs; equal exactly when all outputs are."""
        ...

    def telling_inputs(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> tuple[Json, ...]:
        """Small inputs on which the first of these codes differ, as tagged JSON; none where they behave alike."""
        ...

    def soft_checks(
        self, task: TaskSpec, code: str, examples: Sequence[Example], *, seed: int = 0
    ) -> tuple[Check, ...]:
        """One check for each example that a model wrote; such a check refutes nothing."""
        ...

    def last_steps(self, task: TaskSpec, code: str, arguments: Json, *, seed: int = 0) -> tuple[str, ...]:
        """What the last lines of a call worked with, for people and models; empty where nothing is known.

        ``arguments`` are tagged JSON, as in a counterexample.
        """
        ...


class Tokenizer(Protocol):
    """Text to token ids and back."""

    @property
    def vocab_size(self) -> int:
        """Number of token ids."""
        ...

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end an answer."""
        ...

    def encode(self, text: str, *, allow_special: bool = False) -> list[int]:
        """Token ids of ``text``; spelled-out control tokens count as plain text unless allowed."""
        ...

    def decode_bytes(self, token_ids: Sequence[int]) -> bytes:
        """The exact bytes of the tokens; control tokens give none."""
        ...

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """Render the model's own chat template, ready for the assistant's answer, and encode it.

        Raises:
            TemplateError: the template fails or asks for too much.
        """
        ...
