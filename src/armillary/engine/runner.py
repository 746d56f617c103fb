"""Run one step's chunks through the decoder. Decides nothing: what runs was scheduled before."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from armillary.attention.kv_cache import KvCache
from armillary.engine.batch import Chunk
from armillary.kernels.interface import QueryRun
from armillary.models.decoder import Decoder


class DecoderRunner:
    """The engine's :class:`~armillary.engine.batch.Runner` over a decoder and its cache."""

    def __init__(self, decoder: Decoder, cache: KvCache) -> None:
        self._decoder = decoder
        self._cache = cache

    @torch.inference_mode()
    def step(self, chunks: Sequence[Chunk]) -> Tensor:
        """Run the chunks and return [len(chunks), vocab] float32 logits of their last tokens."""
        runs: list[QueryRun] = []
        token_ids: list[int] = []
        for chunk in chunks:
            table = torch.tensor(chunk.block_table, dtype=torch.int32)
            runs.append(QueryRun(table, len(token_ids), len(chunk.token_ids), chunk.start))
            token_ids.extend(chunk.token_ids)
        hidden = self._decoder.hidden(torch.tensor(token_ids), runs, self._cache)
        last = torch.tensor([run.first_row + run.num_tokens - 1 for run in runs])
        return self._decoder.logits(hidden[last])

    def copy_block(self, source: int, target: int) -> None:
        """Copy one block's keys and values, all layers."""
        self._cache.copy_block(source, target)
