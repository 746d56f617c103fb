"""Decide which tokens of which sequences run in the next step, and who gets KV blocks. Runs no model, draws no token.

Serves one request at a time: its prompt is read once by candidate 0, whose blocks all candidates then share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from armillary.core.errors import CacheFullError
from armillary.core.plans import Plan
from armillary.core.shapes import blocks_for
from armillary.engine.batch import Chunk
from armillary.engine.block_manager import BlockManager
from armillary.engine.sequence import SequenceState


@dataclass(frozen=True, slots=True)
class Step:
    """What to run next.

    Attributes:
        sequences: owner of each chunk.
        chunks: consecutive tokens each.
        copies: ``(source, target)`` blocks to copy, in this order, before the chunks run.
    """

    sequences: tuple[SequenceState, ...]
    chunks: tuple[Chunk, ...]
    copies: tuple[tuple[int, int], ...]


class Scheduler:
    """Who runs, who waits, and whose blocks are taken when they run out.

    Every running sequence contributes the tokens that the model has not read yet: one while it decodes, a part of its
    history when it starts or comes back. Older candidates go first; when blocks run out the youngest is set back to
    the prompt blocks that it shares, and reads its own answer again later.

    Args:
        plan: sizes of pool, block, batch and prefill chunk.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._blocks = BlockManager(plan.num_blocks)
        self._unborn: list[SequenceState] = []
        self._waiting: deque[SequenceState] = deque()
        self._running: list[SequenceState] = []

    @property
    def num_free_blocks(self) -> int:
        """Blocks that no sequence holds."""
        return self._blocks.num_free

    @property
    def has_work(self) -> bool:
        """Whether a sequence runs or waits."""
        return bool(self._running or self._waiting)

    def check_fits(self, num_tokens: int) -> None:
        """Refuse a sequence that could not run even alone.

        Args:
            num_tokens: prompt and answer at their longest.

        Raises:
            CacheFullError: it needs more blocks than the pool has.
        """
        # The last token is written but never read back, so it needs no place.
        needed = blocks_for(num_tokens - 1, self._plan.block_size)
        if needed > self._plan.num_blocks:
            raise CacheFullError(
                f"prompt and answer of up to {num_tokens} tokens need {needed} KV blocks,"
                f" the pool has {self._plan.num_blocks}",
                hint="lower max_tokens, shorten the prompt or give the cache more memory",
            )

    def submit(self, candidates: Sequence[SequenceState]) -> None:
        """Queue the candidates of one request, all with the same prompt and oldest first."""
        assert not self.has_work, "one request at a time"
        first, *self._unborn = candidates
        self._waiting.append(first)

    def schedule(self) -> Step:
        """Choose the next step and reserve its blocks; ends with at least one chunk while there is work."""
        self._admit()
        sequences: list[SequenceState] = []
        chunks: list[Chunk] = []
        copies: list[tuple[int, int]] = []
        prefill_budget = self._plan.prefill_chunk_tokens
        for sequence in tuple(self._running):
            is_decoding = sequence.num_uncomputed == 1
            num_tokens = 1 if is_decoding else min(sequence.num_uncomputed, prefill_budget)
            # An older sequence of this very step may have taken this one's place.
            if num_tokens == 0 or sequence not in self._running or not self._make_room(sequence, num_tokens):
                continue
            if not is_decoding:
                prefill_budget -= num_tokens
            copies += self._reserve(sequence, num_tokens)
            sequences.append(sequence)
            chunks.append(self._chunk(sequence, num_tokens))
        assert chunks or not self.has_work, "the oldest sequence always fits: check_fits saw to it"
        return Step(tuple(sequences), tuple(chunks), tuple(copies))

    def commit(self, step: Step) -> list[tuple[int, SequenceState]]:
        """Record that a step has run.

        Returns:
            ``(chunk, sequence)`` for each sequence that now needs a token, drawn from that chunk's logits. The end of
            the prompt is the one chunk that serves several: there the other candidates are born.
        """
        ready: list[tuple[int, SequenceState]] = []
        for index, (sequence, chunk) in enumerate(zip(step.sequences, step.chunks, strict=True)):
            sequence.num_computed += len(chunk.token_ids)
            if sequence.num_uncomputed == 0:
                ready += [(index, owner) for owner in (sequence, *self._fork_unborn(sequence))]
        return ready

    def finish(self, sequence: SequenceState) -> None:
        """Free what a running or waiting sequence holds, so that others can start."""
        (self._running if sequence in self._running else self._waiting).remove(sequence)
        self._set_back(sequence, keep=0)

    def clear(self) -> None:
        """Drop every sequence, running or waiting, and free the blocks that they hold."""
        self._unborn = []
        for sequence in (*self._running, *self._waiting):
            self.finish(sequence)

    def _fork_unborn(self, parent: SequenceState) -> list[SequenceState]:
        """Let the other candidates share the blocks of the one that has read the prompt."""
        born, self._unborn = self._unborn, []
        for sequence in born:
            sequence.block_table = self._blocks.fork(parent.block_table)
            sequence.num_computed = parent.num_computed
        self._waiting.extend(born)
        return born

    def _admit(self) -> None:
        """Start waiting sequences while the batch and the pool have room."""
        num_promised = 0
        while self._waiting and len(self._running) < self._plan.max_batch_sequences:
            sequence = self._waiting[0]
            num_promised += self._num_missing(sequence, len(sequence.token_ids))
            # One block per running sequence stays free, or the newcomer would be set back at once.
            if self._running and not self._blocks.can_allocate(num_promised + len(self._running)):
                return
            self._running.append(self._waiting.popleft())

    def _make_room(self, sequence: SequenceState, num_tokens: int) -> bool:
        """Take blocks from younger sequences until the tokens fit; False if the sequence itself had to give way."""
        while not self._blocks.can_allocate(self._num_missing(sequence, sequence.num_computed + num_tokens)):
            victim = self._choose_victim(sequence)
            self._set_back(victim, keep=self._num_prompt_blocks(victim))
            if victim in self._running:
                self._running.remove(victim)
                self._waiting.appendleft(victim)
            if victim is sequence:
                return False
        return True

    def _choose_victim(self, sequence: SequenceState) -> SequenceState:
        """The youngest sequence with blocks beyond the shared prompt, or else the one that asks."""
        younger = self._running[self._running.index(sequence) + 1 :]
        for victim in (*reversed(self._waiting), *reversed(younger)):
            if len(victim.block_table) > self._num_prompt_blocks(victim):
                return victim
        return sequence

    def _set_back(self, sequence: SequenceState, *, keep: int) -> None:
        """Forget all but the first ``keep`` blocks of a sequence."""
        self._blocks.free(sequence.block_table, keep=keep)
        sequence.num_computed = min(sequence.num_computed, keep * self._plan.block_size)

    def _num_prompt_blocks(self, sequence: SequenceState) -> int:
        """Blocks full of prompt; every candidate holds them to its end, so that they cost the later ones nothing."""
        return sequence.num_prompt_tokens // self._plan.block_size

    def _num_missing(self, sequence: SequenceState, end: int) -> int:
        """Blocks to allocate before the sequence can write its positions up to ``end``."""
        num_blocks = blocks_for(end, self._plan.block_size)
        first_written = sequence.num_computed // self._plan.block_size
        num_copies = sum(self._blocks.is_shared(block) for block in sequence.block_table[first_written:num_blocks])
        return num_copies + max(0, num_blocks - len(sequence.block_table))

    def _reserve(self, sequence: SequenceState, num_tokens: int) -> list[tuple[int, int]]:
        """Allocate what :meth:`_num_missing` counted; returns the blocks to copy."""
        table = sequence.block_table
        num_blocks = blocks_for(sequence.num_computed + num_tokens, self._plan.block_size)
        first_written = sequence.num_computed // self._plan.block_size
        written = range(first_written, min(num_blocks, len(table)))
        copies = [copy for index in written if (copy := self._blocks.make_writable(table, index)) is not None]
        table += self._blocks.allocate(max(0, num_blocks - len(table)))
        return copies

    def _chunk(self, sequence: SequenceState, num_tokens: int) -> Chunk:
        start = sequence.num_computed
        end = start + num_tokens
        num_blocks = blocks_for(end, self._plan.block_size)
        return Chunk(tuple(sequence.token_ids[start:end]), start, tuple(sequence.block_table[:num_blocks]))
