"""Weight matrices as unsigned integers in groups that share a scale, laid out for the kernels. Knows no file format.

``weight[n, k] = scale[n, k // group] * (q[n, k] - zero)``, or ``scale * q + minimum`` when there are minimums.

Layout (also in ``native/body.hpp``): tiles of 16 output rows, chunks of 32 columns. In one chunk, vector j of 64 bytes
holds columns 4j .. 4j+3 of each of the 16 rows. At 8 bits the 8 vectors follow each other. Below, vectors j and j+4
share 64 bytes (low and high nibbles), and each bit above the fourth is a plane of 8 masks of 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

TILE_ROWS = 16
CHUNK_COLUMNS = 32


@dataclass(frozen=True)
class GroupedMatrix:
    """One weight matrix in the kernels' layout.

    Attributes:
        weights: [tiles, chunks, 64 * bits] uint8.
        scales: [tiles, groups, 16] float16 or float32.
        minimums: like ``scales``, or None.
        num_rows: output features, a multiple of 16.
        num_columns: input features, a multiple of 32.
        bits: 4, 5, 6 or 8.
        group_size: 16 or 32 columns.
        zero: subtracted from q when there are no minimums.
    """

    weights: Tensor
    scales: Tensor
    minimums: Tensor | None
    num_rows: int
    num_columns: int
    bits: int
    group_size: int
    zero: int

    @property
    def num_bytes(self) -> int:
        """Bytes that one product reads."""
        parts = [self.weights, self.scales] + ([] if self.minimums is None else [self.minimums])
        return sum(part.numel() * part.element_size() for part in parts)


def pack(q: Tensor, scales: Tensor, minimums: Tensor | None, *, bits: int, zero: int) -> GroupedMatrix:
    """Lay a matrix out for the kernels.

    Args:
        q: [N, K] uint8 below ``2 ** bits``.
        scales: [N, K / group] float16 or float32; the group size follows from the shape.
        minimums: like ``scales``, or None.
        bits: 4, 5, 6 or 8.
        zero: value of q that stands for 0; ignored with minimums.
    """
    num_rows, num_columns = q.shape
    group_size = num_columns // scales.shape[1]
    assert num_rows % TILE_ROWS == 0, f"{num_rows} rows are no multiple of {TILE_ROWS}"
    assert num_columns % CHUNK_COLUMNS == 0, f"{num_columns} columns are no multiple of {CHUNK_COLUMNS}"
    assert group_size == 32 or (group_size == 16 and minimums is None), f"groups of {group_size}"
    tiles, chunks = num_rows // TILE_ROWS, num_columns // CHUNK_COLUMNS
    # [tiles, chunks, 8 vectors, 64 bytes]
    vectors = q.view(tiles, TILE_ROWS, chunks, 8, 4).permute(0, 2, 3, 1, 4).reshape(tiles, chunks, 8, 64)
    if bits == 8:
        weights = vectors.reshape(tiles, chunks, 512)
    else:
        nibbles = (vectors & 15)[:, :, :4] | ((vectors & 15)[:, :, 4:] << 4)
        planes = [_pack_bits((vectors >> (4 + plane)) & 1) for plane in range(bits - 4)]
        weights = torch.cat([nibbles.reshape(tiles, chunks, 256), *planes], dim=-1)
    return GroupedMatrix(
        weights.contiguous(),
        _pack_scales(scales),
        None if minimums is None else _pack_scales(minimums),
        num_rows,
        num_columns,
        bits,
        group_size,
        0 if minimums is not None else zero,
    )


def unpack(matrix: GroupedMatrix) -> tuple[Tensor, Tensor, Tensor | None]:
    """Inverse of :func:`pack`.

    Returns:
        q [N, K] uint8, scales [N, groups] float32, minimums [N, groups] float32 or None.
    """
    tiles, chunks = matrix.weights.shape[:2]
    if matrix.bits == 8:
        vectors = matrix.weights.view(tiles, chunks, 8, 64)
    else:
        nibbles = matrix.weights[:, :, :256].reshape(tiles, chunks, 4, 64)
        vectors = torch.cat([nibbles & 15, nibbles >> 4], dim=2)
        for plane in range(matrix.bits - 4):
            masks = matrix.weights[:, :, 256 + 64 * plane : 320 + 64 * plane]
            vectors = vectors | (_unpack_bits(masks).view(tiles, chunks, 8, 64) << (4 + plane))
    q = vectors.view(tiles, chunks, 8, TILE_ROWS, 4).permute(0, 3, 1, 2, 4).reshape(matrix.num_rows, matrix.num_columns)
    minimums = None if matrix.minimums is None else _unpack_scales(matrix.minimums)
    return q, _unpack_scales(matrix.scales), minimums


def dequantize(matrix: GroupedMatrix) -> Tensor:
    """The matrix as float32 [N, K]."""
    q, scales, minimums = unpack(matrix)
    groups = q.view(matrix.num_rows, -1, matrix.group_size).float()
    if minimums is None:
        values = (groups - matrix.zero) * scales[:, :, None]
    else:
        values = groups * scales[:, :, None] + minimums[:, :, None]
    return values.view(matrix.num_rows, matrix.num_columns)


def _pack_scales(scales: Tensor) -> Tensor:
    num_rows, groups = scales.shape
    return scales.view(num_rows // TILE_ROWS, TILE_ROWS, groups).transpose(1, 2).contiguous()


def _unpack_scales(packed: Tensor) -> Tensor:
    tiles, groups, _ = packed.shape
    return packed.transpose(1, 2).reshape(tiles * TILE_ROWS, groups).float()


def _pack_bits(bits: Tensor) -> Tensor:
    """[tiles, chunks, 8, 64] of 0 and 1 -> [tiles, chunks, 64] bytes, lowest bit first."""
    tiles, chunks = bits.shape[:2]
    weights = (1 << torch.arange(8)).to(torch.uint8)
    return (bits.view(tiles, chunks, 64, 8) * weights).sum(-1, dtype=torch.uint8)


def _unpack_bits(packed: Tensor) -> Tensor:
    """Inverse of ``_pack_bits``: [tiles, chunks, 64] -> [tiles, chunks, 512]."""
    shifts = torch.arange(8, dtype=torch.uint8)
    return ((packed[..., None] >> shifts) & 1).flatten(-2)
