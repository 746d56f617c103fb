"""How a model will be run on this machine: frozen before the engine starts. Chooses nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Precision = Literal["float32", "native"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The engine's fixed choices.

    Attributes:
        num_threads: threads for matrix products; the cores that are really free, unless the user said otherwise.
        precision: ``native`` keeps the file's own integers and multiplies in int8; ``float32`` dequantises.
        block_size: tokens per KV block.
        num_blocks: KV blocks in the pool.
        max_context_tokens: tokens one sequence may hold.
        max_batch_sequences: sequences decoded together.
        prefill_chunk_tokens: prompt tokens per step.
        reasons: one line per choice, for people.
    """

    num_threads: int
    precision: Precision
    block_size: int
    num_blocks: int
    max_context_tokens: int
    max_batch_sequences: int
    prefill_chunk_tokens: int
    reasons: tuple[str, ...] = ()
