from __future__ import annotations

import pytest

from armillary.core.shapes import ModelShape, blocks_for

SMOLLM2 = ModelShape(
    num_layers=30,
    hidden_size=576,
    num_heads=9,
    num_kv_heads=3,
    head_dim=64,
    ffn_size=1536,
    vocab_size=49152,
    max_context_tokens=8192,
)


def test_smollm2_135m_has_about_135_million_weights() -> None:
    assert SMOLLM2.num_matrix_parameters == 134_479_872


@pytest.mark.parametrize(("bytes_per_value", "expected"), [(4.0, 46080), (2.0, 23040), (1.0625, 12240)])
def test_a_token_leaves_keys_and_values_in_every_layer(bytes_per_value: float, expected: int) -> None:
    assert SMOLLM2.kv_bytes_per_token(bytes_per_value) == expected


@pytest.mark.parametrize(("num_tokens", "expected"), [(0, 0), (1, 1), (31, 1), (32, 1), (33, 2), (64, 2)])
def test_a_block_that_is_begun_counts(num_tokens: int, expected: int) -> None:
    assert blocks_for(num_tokens, 32) == expected
