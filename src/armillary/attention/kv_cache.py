"""Storage of keys and values in blocks of 32 tokens, all layers. Which block belongs to whom is not known here."""

from __future__ import annotations

import torch

from armillary.core.shapes import ModelShape
from armillary.kernels.interface import BLOCK_TOKENS, LayerCache


class KvCache:
    """Keys and values of a whole model; memory is taken from the system when a block is first written.

    Args:
        shape: of the model.
        num_blocks: blocks in the pool.
    """

    def __init__(self, shape: ModelShape, num_blocks: int) -> None:
        heads, size = shape.num_kv_heads, shape.head_dim
        self.num_blocks = num_blocks
        self.layers = tuple(
            LayerCache(
                torch.empty(num_blocks, heads, size, BLOCK_TOKENS), torch.empty(num_blocks, heads, BLOCK_TOKENS, size)
            )
            for _ in range(shape.num_layers)
        )

    def copy_block(self, source: int, target: int) -> None:
        """Copy one block's keys and values in every layer."""
        for layer in self.layers:
            layer.keys[target].copy_(layer.keys[source])
            layer.values[target].copy_(layer.values[source])
