"""Keep the books of one solve: tokens and seconds spent, what is left, and why to stop. Decides nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from armillary.core.messages import Message, Usage
from armillary.core.tasks import Budget

MAX_ANSWER_TOKENS = 640
MIN_ANSWER_TOKENS = 48
BYTES_PER_TOKEN = 3
MESSAGE_OVERHEAD_TOKENS = 8

Clock = Callable[[], float]


class StopReason(StrEnum):
    """Why a search ended."""

    ACCEPTED = "accepted"
    NO_EVIDENCE = "no_evidence"
    UNDECIDED = "undecided"
    ROUNDS = "rounds"
    TOKENS = "tokens"
    SECONDS = "seconds"
    SPEC_SUSPECT = "spec_suspect"


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the next request may ask for.

    Attributes:
        num_candidates: how many of the wanted candidates fit; 0 when none does.
        max_tokens: tokens that each of them may write.
    """

    num_candidates: int
    max_tokens: int


def estimate_tokens(messages: tuple[Message, ...]) -> int:
    """Tokens of a prompt, from its bytes: no tokenizer is at hand. English and code take 3 to 4 bytes each."""
    num_bytes = sum(len(message.content.encode("utf-8", "replace")) for message in messages)
    return num_bytes // BYTES_PER_TOKEN + MESSAGE_OVERHEAD_TOKENS * len(messages)


class Ledger:
    """Tokens and seconds of one solve.

    Args:
        budget: what may be spent.
        clock: monotonic seconds; time counts from here on.
    """

    def __init__(self, budget: Budget, clock: Clock) -> None:
        self.budget = budget
        self.usage = Usage()
        self.checking_s = 0.0
        self._clock = clock
        self._start_s = clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the search began."""
        return self._clock() - self._start_s

    @property
    def remaining_tokens(self) -> int:
        """Tokens that may still be spent; never negative."""
        return max(0, self.budget.max_tokens - self.usage.total_tokens)

    @property
    def tokens_per_s(self) -> float:
        """Written tokens per second of model time: seconds spent checking are not counted."""
        generating_s = self.elapsed_s - self.checking_s
        return self.usage.completion_tokens / generating_s if generating_s > 0 else 0.0

    def spend(self, usage: Usage) -> None:
        """Book tokens."""
        self.usage = self.usage + usage

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Book the time inside the block as time in which the model stood still."""
        start_s = self._clock()
        try:
            yield
        finally:
            self.checking_s += self._clock() - start_s

    def is_out_of_time(self) -> bool:
        """Whether the seconds are spent."""
        return self.elapsed_s >= self.budget.max_seconds

    def allow(self, messages: tuple[Message, ...], num_candidates: int) -> Allowance:
        """Cut a request to what is left: shorter answers first, then fewer of them.

        The prompt is estimated, so the token budget can be overshot by that estimate's error, never by an answer.
        """
        free_tokens = self.remaining_tokens - estimate_tokens(messages)
        num_allowed = max(0, min(num_candidates, free_tokens // MIN_ANSWER_TOKENS))
        if num_allowed == 0:
            return Allowance(0, 0)
        return Allowance(num_allowed, min(MAX_ANSWER_TOKENS, free_tokens // num_allowed))
