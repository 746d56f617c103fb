"""Packing for the kernels keeps every integer and scale."""

from __future__ import annotations

import pytest
import torch

from armillary.kernels.grouped import dequantize, pack, unpack


@pytest.mark.parametrize("bits", [4, 5, 6, 8])
def test_packing_and_unpacking_gives_back_the_integers(bits: int) -> None:
    q = torch.randint(0, 2**bits, (32, 96), dtype=torch.uint8)
    scales = torch.rand(32, 3).half()
    unpacked, unpacked_scales, minimums = unpack(pack(q, scales, None, bits=bits, zero=0))
    assert torch.equal(unpacked, q)
    assert torch.equal(unpacked_scales, scales.float())
    assert minimums is None


def test_a_matrix_reads_its_bits_and_its_scales() -> None:
    matrix = pack(torch.zeros(16, 64, dtype=torch.uint8), torch.ones(16, 2).half(), None, bits=5, zero=16)
    assert matrix.num_bytes == 16 * 64 * 5 // 8 + 16 * 2 * 2


def test_minimums_take_the_place_of_the_zero() -> None:
    q = torch.full((16, 32), 3, dtype=torch.uint8)
    matrix = pack(q, torch.full((16, 1), 0.5), torch.full((16, 1), -1.0), bits=4, zero=8)
    assert torch.equal(dequantize(matrix), torch.full((16, 32), 0.5))
