"""The decoder: token ids in, hidden states and logits out, keys and values left in a paged cache.

Knows no file format, no scheduling and no sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from armillary.attention.kv_cache import KvCache
from armillary.kernels.interface import BLOCK_TOKENS, Kernels, LayerCache, QueryRun, Rotation
from armillary.models.architectures import DecoderConfig
from armillary.models.linear import Linear


@dataclass(frozen=True)
class LayerWeights:
    """One transformer block.

    Attributes:
        attention_norm: [hidden].
        qkv: hidden -> (H + 2G) * D.
        qkv_bias: [(H + 2G) * D] or None.
        output: H * D -> hidden.
        ffn_norm: [hidden].
        gate_up: hidden -> 2 * ffn.
        down: ffn -> hidden.
    """

    attention_norm: Tensor
    qkv: Linear
    qkv_bias: Tensor | None
    output: Linear
    ffn_norm: Tensor
    gate_up: Linear
    down: Linear


@dataclass(frozen=True)
class DecoderWeights:
    """A whole model.

    Attributes:
        embed: [M] int64 -> [M, hidden] float32.
        layers: in order.
        final_norm: [hidden].
        head: hidden -> vocab.
    """

    embed: Callable[[Tensor], Tensor]
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Linear

    @property
    def bytes_per_token(self) -> int:
        """Bytes of weights that one decoded token reads."""
        parts = [part for layer in self.layers for part in (layer.qkv, layer.output, layer.gate_up, layer.down)]
        return sum(part.num_bytes for part in parts) + self.head.num_bytes


class Span(Protocol):
    """Consecutive tokens of one sequence.

    Attributes:
        token_ids: at least one.
        start: position of the first.
        block_table: blocks that cover positions 0 .. start + len(token_ids) - 1.
    """

    @property
    def token_ids(self) -> Sequence[int]:
        """Ids of the tokens to read, in the order of positions."""
        ...

    @property
    def start(self) -> int:
        """Position of the first token, counted from 0."""
        ...

    @property
    def block_table(self) -> Sequence[int]:
        """Cache blocks of the whole sequence, in the order of positions."""
        ...


class Decoder:
    """Pre-norm decoder with grouped-query attention, rotary positions and gated feed-forward layers.

    Args:
        config: shape and constants.
        weights: in whatever precision; the residual stream is float32.
        kernels: what computes everything but the products of dense weights.
    """

    def __init__(self, config: DecoderConfig, weights: DecoderWeights, kernels: Kernels) -> None:
        self.config = config
        self.weights = weights
        self._kernels = kernels
        size = config.shape.head_dim
        self._frequencies = 1.0 / config.rope_theta ** (torch.arange(0, size, 2, dtype=torch.float64) / size)

    def hidden(self, spans: Sequence[Span], cache: KvCache) -> Tensor:
        """Run all layers over the tokens of one step.

        Args:
            spans: M tokens in all.
            cache: keys and values of earlier positions; those of this step are written.

        Returns:
            [M, hidden] float32, before the final norm.
        """
        runs = query_runs(spans)
        at = self._rotation(runs)
        x = self.weights.embed(torch.tensor([token for span in spans for token in span.token_ids]))
        for layer, layer_cache in zip(self.weights.layers, cache.layers, strict=True):
            x = self._layer(x, layer, layer_cache, at, runs)
        return x

    def logits(self, hidden: Tensor) -> Tensor:
        """[M, hidden] -> [M, vocab] float32."""
        return self.weights.head(self._norm(hidden, self.weights.final_norm))

    def _layer(
        self, x: Tensor, layer: LayerWeights, cache: LayerCache, at: Rotation, runs: Sequence[QueryRun]
    ) -> Tensor:
        # 1. attention
        qkv = layer.qkv(self._norm(x, layer.attention_norm))
        self._kernels.rotate_and_store(qkv, layer.qkv_bias, cache, at)
        x = x + layer.output(self._kernels.attention(qkv, self.config.shape.num_heads, cache, runs))
        # 2. feed-forward
        gate_up = layer.gate_up(self._norm(x, layer.ffn_norm))
        return x + layer.down(self._kernels.silu_mul(gate_up))

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return self._kernels.rms_norm(x, weight, self.config.rms_epsilon)

    def _rotation(self, runs: Sequence[QueryRun]) -> Rotation:
        places = [torch.arange(run.start, run.start + run.num_tokens) for run in runs]
        blocks = torch.cat([run.block_table[place // BLOCK_TOKENS] for run, place in zip(runs, places, strict=True)])
        positions = torch.cat(places)
        angles = positions[:, None] * self._frequencies
        return Rotation(
            angles.cos().float(), angles.sin().float(), blocks.long() * BLOCK_TOKENS + positions % BLOCK_TOKENS
        )


def query_runs(spans: Sequence[Span]) -> list[QueryRun]:
    """The spans as runs of rows, one after another."""
    runs: list[QueryRun] = []
    first_row = 0
    for span in spans:
        table = torch.tensor(span.block_table, dtype=torch.int32)
        runs.append(QueryRun(table, first_row, len(span.token_ids), span.start))
        first_row += len(span.token_ids)
    return runs
