"""Take GGUF blocks apart into the integers, scales and minimums that the kernels multiply with. Rounds no weight.

The integers are the file's own. Scales that are a product of two levels (K blocks) are kept in float32, which holds
them exactly; single half-precision scales stay half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from armillary.kernels.grouped import GroupedMatrix, pack


@dataclass(frozen=True)
class Split:
    """The parts of a matrix; see :func:`armillary.kernels.grouped.pack`."""

    q: Tensor
    scales: Tensor
    minimums: Tensor | None
    bits: int
    zero: int


@dataclass(frozen=True)
class BlockFormat:
    """One GGUF tensor type.

    Attributes:
        block_bytes: bytes of one block.
        block_values: values in it.
        split: [N, blocks, block_bytes] uint8 to its parts.
    """

    block_bytes: int
    block_values: int
    split: Callable[[Tensor], Split]


def grouped_from_gguf(raw: Tensor, kind: str, num_rows: int) -> GroupedMatrix:
    """Repack a matrix.

    Args:
        raw: [bytes] uint8, the rows' blocks one after another.
        kind: a key of :data:`FORMATS`.
        num_rows: output features; a multiple of 16.
    """
    form = FORMATS[kind]
    parts = form.split(raw.view(num_rows, -1, form.block_bytes))
    return pack(parts.q.view(num_rows, -1), parts.scales, parts.minimums, bits=parts.bits, zero=parts.zero)


def can_group(kind: str, num_rows: int, num_columns: int) -> bool:
    """Whether the kernels can multiply with such a matrix as it is."""
    return kind in FORMATS and num_rows % 16 == 0 and num_columns % FORMATS[kind].block_values == 0


def _half(raw: Tensor) -> Tensor:
    """[..., 2] bytes -> [...] float16."""
    return raw.contiguous().view(torch.float16).squeeze(-1)


def _nibbles(raw: Tensor) -> Tensor:
    """[..., n] bytes -> [..., 2n]: all low nibbles, then all high ones."""
    return torch.cat([raw & 15, raw >> 4], dim=-1)


def _bits(raw: Tensor) -> Tensor:
    """[..., n] bytes -> [..., 8n] of 0 and 1, lowest bit first."""
    return ((raw[..., None] >> torch.arange(8, dtype=torch.uint8)) & 1).flatten(-2)


def _unflatten(raw: Tensor, *sizes: int) -> Tensor:
    """Split the last dimension."""
    return raw.reshape(*raw.shape[:-1], *sizes)


def _q4_0(blocks: Tensor) -> Split:
    return Split(_nibbles(blocks[..., 2:]), _half(blocks[..., :2]), None, 4, 8)


def _q4_1(blocks: Tensor) -> Split:
    return Split(_nibbles(blocks[..., 4:]), _half(blocks[..., :2]), _half(blocks[..., 2:4]), 4, 0)


def _q5_0(blocks: Tensor) -> Split:
    q = _nibbles(blocks[..., 6:]) | (_bits(blocks[..., 2:6]) << 4)
    return Split(q, _half(blocks[..., :2]), None, 5, 16)


def _q5_1(blocks: Tensor) -> Split:
    q = _nibbles(blocks[..., 8:]) | (_bits(blocks[..., 4:8]) << 4)
    return Split(q, _half(blocks[..., :2]), _half(blocks[..., 2:4]), 5, 0)


def _q8_0(blocks: Tensor) -> Split:
    return Split(blocks[..., 2:] ^ 128, _half(blocks[..., :2]), None, 8, 128)


def _k_scales(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Scales and minimums of the 8 groups of a Q4_K or Q5_K block: [N, blocks * 8] each."""
    packed = blocks[..., 4:16]
    low, middle, high = packed[..., :4], packed[..., 4:8], packed[..., 8:]
    levels = torch.cat([low & 63, (high & 15) | ((low >> 6) << 4)], dim=-1).float()
    floors = torch.cat([middle & 63, (high >> 4) | ((middle >> 6) << 4)], dim=-1).float()
    scales = _half(blocks[..., :2]).float()[..., None] * levels
    minimums = _half(blocks[..., 2:4]).float()[..., None] * -floors
    return scales.flatten(1), minimums.flatten(1)


def _q4_k(blocks: Tensor) -> Split:
    q = _nibbles(_unflatten(blocks[..., 16:], 4, 32))
    return Split(q, *_k_scales(blocks), 4, 0)


def _q5_k(blocks: Tensor) -> Split:
    low = _unflatten(_nibbles(_unflatten(blocks[..., 48:], 4, 32)), 2, 32).flatten(-3, -2)
    # Bit g of byte l of the high plane belongs to value l of group g.
    high = _unflatten(_bits(blocks[..., 16:48]), 32, 8).transpose(-1, -2)
    return Split(low | (high << 4), *_k_scales(blocks), 5, 0)


def _q6_k(blocks: Tensor) -> Split:
    low = _unflatten(blocks[..., :128], 2, 64)  # two halves of 128 values
    high = _unflatten(blocks[..., 128:192], 2, 32)
    planes = [(high >> shift) & 3 for shift in (0, 2, 4, 6)]
    nibbles = [low[..., :32] & 15, low[..., 32:] & 15, low[..., :32] >> 4, low[..., 32:] >> 4]
    q = torch.cat([nibble | (plane << 4) for nibble, plane in zip(nibbles, planes, strict=True)], dim=-1)
    levels = blocks[..., 192:208].contiguous().view(torch.int8).float()
    scales = _half(blocks[..., 208:]).float()[..., None] * levels
    return Split(q, scales.flatten(1), None, 6, 32)


FORMATS = MappingProxyType(
    {
        "Q4_0": BlockFormat(18, 32, _q4_0),
        "Q4_1": BlockFormat(20, 32, _q4_1),
        "Q5_0": BlockFormat(22, 32, _q5_0),
        "Q5_1": BlockFormat(24, 32, _q5_1),
        "Q8_0": BlockFormat(34, 32, _q8_0),
        "Q4_K": BlockFormat(144, 256, _q4_k),
        "Q5_K": BlockFormat(176, 256, _q5_k),
        "Q6_K": BlockFormat(210, 256, _q6_k),
    }
)
