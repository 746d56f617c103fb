"""Keep the books of one solve: tokens and seconds spent, what is left, and why to stop. Decides nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from armillary.core.messages import Message, Usage
from armillary.core.tasks import Budget
from armillary.core.values import Json
from armillary.reason.lease import CoreLease, Holder

MAX_ANSWER_TOKENS = 640
MIN_ANSWER_TOKENS = 48
BYTES_PER_TOKEN = 3
MESSAGE_OVERHEAD_TOKENS = 8
TIME_DIGITS = 6
HOLDERS: tuple[Holder, ...] = ("model", "verifier")


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
        lease: measures who has the cores, by its own clock; time counts from here on.

    Attributes:
        load_s: seconds that the model had the cores before: to be loaded, where the caller measured that.
    """

    def __init__(self, budget: Budget, lease: CoreLease) -> None:
        self.budget = budget
        self.usage = Usage()
        self.load_s = lease.held_s("model")
        self._lease = lease
        self._start_s = lease.clock()
        self._held_s = {holder: lease.held_s(holder) for holder in HOLDERS}
        self._lap_s = dict(self._held_s)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the search began."""
        return self._lease.clock() - self._start_s

    @property
    def remaining_tokens(self) -> int:
        """Tokens that may still be spent; never negative."""
        return max(0, self.budget.max_tokens - self.usage.total_tokens)

    @property
    def tokens_per_s(self) -> float:
        """Written tokens per second of model time: seconds spent checking are not counted."""
        generating_s = self.elapsed_s - self.spent_s("verifier")
        return self.usage.completion_tokens / generating_s if generating_s > 0 else 0.0

    def spend(self, usage: Usage) -> None:
        """Book tokens."""
        self.usage = self.usage + usage

    def spent_s(self, holder: Holder) -> float:
        """Seconds of this solve in which somebody had the cores."""
        return self._lease.held_s(holder) - self._held_s[holder]

    def lap(self) -> dict[str, Json]:
        """Seconds since the solve began, and those that each had the cores since the last lap; for the trace."""
        now_s = {holder: self._lease.held_s(holder) for holder in HOLDERS}
        spent: dict[str, Json] = {
            f"{holder}_s": round(now_s[holder] - self._lap_s[holder], TIME_DIGITS) for holder in HOLDERS
        }
        self._lap_s = now_s
        return {"at_s": round(self.elapsed_s, TIME_DIGITS), **spent}

    def cores(self) -> dict[str, Json]:
        """Who had the cores for how long in all, how often they changed hands, and what overlap was measured."""
        return {
            **{f"{holder}_s": round(self.spent_s(holder), 3) for holder in HOLDERS},
            "overlap_s": round(self._lease.overlap_s, 3),
            "num_handovers": self._lease.num_handovers,
        }

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
