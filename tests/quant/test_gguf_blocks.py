"""Repacked matrices hold exactly the weights of the file."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch

from armillary.kernels.grouped import dequantize
from armillary.quant.gguf_blocks import FORMATS, can_group, grouped_from_gguf


def random_blocks(kind: str, num_rows: int, num_columns: int) -> np.ndarray:
    """Bytes of a matrix with sensible scales and arbitrary integers."""
    rng = np.random.default_rng(7)
    form = FORMATS[kind]
    blocks = rng.integers(0, 256, (num_rows, num_columns // form.block_values, form.block_bytes), dtype=np.uint8)
    half = rng.normal(0, 0.01, (*blocks.shape[:2], 2)).astype(np.float16).view(np.uint8).reshape(*blocks.shape[:2], 4)
    if kind == "Q6_K":
        blocks[..., 208:] = half[..., :2]
    else:
        num_halves = 4 if kind in ("Q4_1", "Q5_1", "Q4_K", "Q5_K") else 2
        blocks[..., :num_halves] = half[..., :num_halves]
    return blocks.reshape(num_rows, -1)


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_a_repacked_matrix_dequantises_to_the_reference_values(kind: str) -> None:
    raw = random_blocks(kind, 32, 512)
    reference = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[kind])
    matrix = grouped_from_gguf(torch.from_numpy(raw.reshape(-1)), kind, 32)
    np.testing.assert_array_equal(dequantize(matrix).numpy(), reference.reshape(32, 512))


def test_only_known_kinds_and_whole_tiles_can_be_grouped() -> None:
    assert can_group("Q5_0", 896, 896)
    assert not can_group("F16", 896, 896)
    assert not can_group("Q5_0", 24, 896)
    assert not can_group("Q4_K", 896, 896 + 32)
