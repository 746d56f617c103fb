"""All that the engine knows about one candidate, in one object. Runs nothing and owns no block.

The blocks in its table are counted by the block manager; while it runs, only the scheduler changes ``block_table`` and
``num_computed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from armillary.core.messages import FinishReason, Sampling
from armillary.engine.random_stream import RandomStream
from armillary.engine.text_stream import TextState, TextStream


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A moment in a sequence's life that :meth:`SequenceState.restore` can go back to."""

    token_ids: tuple[int, ...]
    num_computed: int
    num_draws: int
    text: TextState
    finish_reason: FinishReason | None


@dataclass(slots=True, eq=False)
class SequenceState:
    """One candidate of a request.

    Attributes:
        candidate: index within the request; a lower one is older.
        sampling: how its tokens are chosen.
        token_ids: prompt and answer so far.
        num_prompt_tokens: how many of them are prompt.
        random: its own random numbers.
        text: decoder of the answer, with what is held back.
        seen_ids: every id in ``token_ids``, for the repetition penalty.
        num_computed: tokens, from the first, whose keys and values are in the blocks.
        block_table: KV blocks in order of position.
        finish_reason: None while it runs.
    """

    candidate: int
    sampling: Sampling
    token_ids: list[int]
    num_prompt_tokens: int
    random: RandomStream
    text: TextStream
    seen_ids: set[int]
    num_computed: int = 0
    block_table: list[int] = field(default_factory=list)
    finish_reason: FinishReason | None = None

    @classmethod
    def begin(
        cls, candidate: int, prompt_ids: Sequence[int], sampling: Sampling, *, first_candidate: int = 0
    ) -> SequenceState:
        """A candidate that has written nothing yet; its random numbers are those of ``first_candidate + candidate``."""
        return cls(
            candidate=candidate,
            sampling=sampling,
            token_ids=list(prompt_ids),
            num_prompt_tokens=len(prompt_ids),
            random=RandomStream(sampling.seed, first_candidate + candidate),
            text=TextStream(sampling.stop),
            seen_ids=set(prompt_ids),
        )

    @property
    def num_uncomputed(self) -> int:
        """Tokens that the model has not read yet; 1 while decoding."""
        return len(self.token_ids) - self.num_computed

    @property
    def num_completion_tokens(self) -> int:
        """Tokens written so far, an end token included."""
        return len(self.token_ids) - self.num_prompt_tokens

    def append(self, token_id: int) -> None:
        """Add a token that was chosen."""
        self.token_ids.append(token_id)
        self.seen_ids.add(token_id)

    def checkpoint(self) -> Checkpoint:
        """Remember this moment; O(tokens)."""
        return Checkpoint(
            tuple(self.token_ids), self.num_computed, self.random.num_draws, self.text.state, self.finish_reason
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go back, or sideways, to a moment of this sequence; what follows is as if nothing had happened since.

        Keys and values stay where they are; those of tokens that differ are computed again.
        """
        num_common = _num_common(self.token_ids, checkpoint.token_ids)
        self.num_computed = min(self.num_computed, checkpoint.num_computed, num_common)
        self.token_ids[:] = checkpoint.token_ids
        self.seen_ids = set(checkpoint.token_ids)
        self.random.num_draws = checkpoint.num_draws
        self.text.state = checkpoint.text
        self.finish_reason = checkpoint.finish_reason


def _num_common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the common beginning."""
    length = min(len(left), len(right))
    return next((i for i in range(length) if left[i] != right[i]), length)
