"""Run one step's chunks through the decoder. Decides nothing: what runs was scheduled before."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from armillary.attention.kv_cache import KvCache
from armillary.engine.batch import Chunk
from armillary.models.decoder import Decoder


class DecoderRunner:
    """The engine's :class:`~armillary.engine.batch.Runner` over a decoder and its cache."""

    def __init__(self, decoder: Decoder, cache: KvCache) -> None:
        self._decoder = decoder
        self._cache = cache

    @torch.inference_mode()
    def step(self, chunks: Sequence[Chunk]) -> Tensor:
        """Run the chunks and return [len(chunks), vocab] float32 logits of their last tokens."""
        hidden = self._decoder.hidden(chunks, self._cache)
        last = torch.tensor([len(chunk.token_ids) for chunk in chunks]).cumsum(0) - 1
        return self._decoder.logits(hidden[last])

    def copy_block(self, source: int, target: int) -> None:
        """Copy one block's keys and values, all layers."""
        self._cache.copy_block(source, target)
