"""What the engine asks of the part that runs the model: chunks in, logits out.

Says nothing about weights, attention or how keys and values are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive tokens of one sequence, to be run in one step.

    Attributes:
        token_ids: at least one.
        start: position of ``token_ids[0]``; keys and values of all earlier positions are in the blocks already.
        block_table: block ids that cover positions 0 to ``start + len(token_ids) - 1``, in order.
    """

    token_ids: Sequence[int]
    start: int
    block_table: Sequence[int]


class Runner(Protocol):
    """A model with its key/value storage."""

    def step(self, chunks: Sequence[Chunk]) -> Tensor:
        """Run the chunks, write their keys and values, and return [len(chunks), vocab] float32 last-token logits."""
        ...

    def copy_block(self, source: int, target: int) -> None:
        """Copy the keys and values of one block, all layers."""
        ...
