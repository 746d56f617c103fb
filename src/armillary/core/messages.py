"""What goes into a model and what comes out, event by event. Knows no tokenizer and no engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen; a property of the request.

    Attributes:
        temperature: 0 means greedy.
        top_k: keep the k likeliest tokens; 0 keeps all.
        top_p: keep the smallest set whose probability reaches this.
        min_p: drop tokens less likely than this share of the likeliest one.
        repetition_penalty: divides positive and multiplies negative logits of tokens already seen; 1 is off.
        seed: the candidate with number ``i`` draws from a stream derived from ``(seed, i)``.
        stop: strings that end the text; they are not part of it.
        max_tokens: tokens to write at most, per candidate.
        num_logprobs: alternatives reported beside each token; 0 reports none.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    max_tokens: int = 512
    num_logprobs: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """Ask for ``num_candidates`` independent continuations of one conversation.

    Attributes:
        first_candidate: number of the first one; asking for 4 and then, from number 4, for 4 more, gives what asking
            for 8 does. Events count from 0 all the same.
        max_seconds: wall clock for the whole request, from its first event on; what is not finished by then ends as
            ``Finished("cancelled")``. None sets no limit.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    num_candidates: int = 1
    first_candidate: int = 0
    max_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were paid for."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Token:
    """One step of one candidate.

    Attributes:
        candidate: index below ``Request.num_candidates``.
        text: what may be shown; empty while a multi-token character or a possible stop string is held back.
        token_id: the model's id, or None from a server that does not tell.
        logprob: natural log of the token's probability before temperature and truncation, or None.
        alternatives: the likeliest tokens with their logprobs, best first.
    """

    candidate: int
    text: str
    token_id: int | None = None
    logprob: float | None = None
    alternatives: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """A candidate's last event; a prompt that candidates share is counted on candidate 0 only."""

    candidate: int
    reason: FinishReason
    usage: Usage
    error: str = ""


Event: TypeAlias = Token | Finished


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """The real model behind an answer.

    Attributes:
        name: registry name or path.
        sha256: hash of the weights file, or empty for a remote model.
    """

    name: str
    sha256: str = ""
