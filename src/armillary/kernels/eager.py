"""The slow twin of the native kernels: the same arithmetic in plain torch operators, easy to read and to trust."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from armillary.kernels.grouped import GroupedMatrix, unpack
from armillary.kernels.interface import BLOCK_TOKENS, LayerCache, QueryRun, Rotation


class EagerKernels:
    """See :class:`armillary.kernels.interface.Kernels` for what each method computes."""

    name = "eager"

    def can_run(self, head_dim: int, widths: Sequence[int]) -> bool:
        """Whether heads are of even size, as rotary pairs need, and no width is 0; all else is computed."""
        return head_dim % 2 == 0 and all(width > 0 for width in widths)

    def linear(self, x: Tensor, parts: Sequence[GroupedMatrix], *, terms: int = 1) -> Tensor:
        """Integer products per group, summed over groups in float32."""
        out = torch.zeros(x.shape[0], sum(part.num_rows for part in parts))
        for _ in range(terms):
            q, scales = quantize_rows(x)
            out += torch.cat([_grouped_product(q, scales, part) for part in parts], dim=1)
            x = x - (q * scales[..., None]).view(x.shape)
        return out

    def rms_norm(self, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """One fused torch operator."""
        return functional.rms_norm(x, (x.shape[1],), weight, epsilon)

    def silu_mul(self, x: Tensor) -> Tensor:
        """Two torch operators."""
        gate, up = x.chunk(2, dim=1)
        return functional.silu(gate) * up

    def rotate_and_store(self, qkv: Tensor, bias: Tensor | None, cache: LayerCache, at: Rotation) -> None:
        """Index-put of rotated keys and of values."""
        num_kv_heads, head_dim = cache.keys.shape[1:3]
        if bias is not None:
            qkv += bias
        heads = qkv.view(qkv.shape[0], -1, head_dim)
        turned = heads[:, :-num_kv_heads]
        first, second = turned.chunk(2, dim=-1)
        cosines, sines = at.cosines[:, None], at.sines[:, None]
        turned.copy_(torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1))
        block, offset = at.slots // BLOCK_TOKENS, at.slots % BLOCK_TOKENS
        cache.keys[block, :, :, offset] = heads[:, -2 * num_kv_heads : -num_kv_heads]
        cache.values[block, :, offset] = heads[:, -num_kv_heads:]

    def attention(self, qkv: Tensor, num_heads: int, cache: LayerCache, runs: Sequence[QueryRun]) -> Tensor:
        """Gather each sequence's keys and values, then torch's own attention."""
        num_kv_heads, head_dim = cache.keys.shape[1:3]
        out = qkv.new_empty(qkv.shape[0], num_heads * head_dim)
        for run in runs:
            rows = slice(run.first_row, run.first_row + run.num_tokens)
            length = run.start + run.num_tokens
            table = run.block_table.long()
            keys = cache.keys[table].permute(1, 0, 3, 2).reshape(num_kv_heads, -1, head_dim)[:, :length]
            values = cache.values[table].permute(1, 0, 2, 3).reshape(num_kv_heads, -1, head_dim)[:, :length]
            queries = qkv[rows, : num_heads * head_dim].view(run.num_tokens, num_heads, head_dim).transpose(0, 1)
            visible = torch.arange(length) <= torch.arange(run.start, length)[:, None]
            result = functional.scaled_dot_product_attention(
                queries[None], keys[None], values[None], attn_mask=visible, enable_gqa=True
            )
            out[rows] = result[0].transpose(0, 1).reshape(run.num_tokens, -1)
        return out


def quantize_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Round each 32 columns of a row to int8 with one scale.

    Args:
        x: [M, K] float32.

    Returns:
        q [M, K / 32, 32] float32 holding integers, scales [M, K / 32].
    """
    groups = x.view(x.shape[0], -1, 32)
    peak = groups.abs().amax(-1)
    inverse = torch.where(peak > 0, 127.0 / peak, torch.zeros_like(peak))
    return (groups * inverse[..., None]).round(), peak / 127.0


def _grouped_product(rounded: Tensor, row_scales: Tensor, matrix: GroupedMatrix) -> Tensor:
    q, scales, minimums = unpack(matrix)
    per_group = rounded.view(rounded.shape[0], -1, matrix.group_size)
    weights = q.view(matrix.num_rows, -1, matrix.group_size).float() - matrix.zero
    spread = row_scales.repeat_interleave(CHUNK_SPLITS[matrix.group_size], dim=1)
    # Exact in float32: |sum| < 2^24 for 32 products of 8 bits.
    dots = torch.einsum("mgk,ngk->mng", per_group, weights)
    out = torch.einsum("mng,ng,mg->mn", dots, scales, spread)
    if minimums is not None:
        out = out + torch.einsum("ng,mg->mn", minimums, spread * per_group.sum(-1))
    return out


CHUNK_SPLITS = {32: 1, 16: 2}  # groups per 32 columns of activations
