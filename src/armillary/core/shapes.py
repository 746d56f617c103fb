"""Arithmetic on a model's shape: parameters, bytes, operations. No tensors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The numbers that decide what a decoder costs.

    Attributes:
        num_layers: transformer blocks.
        hidden_size: width of the residual stream.
        num_heads: query heads (H).
        num_kv_heads: key/value heads (G).
        head_dim: size of one head (D).
        ffn_size: width of the gated feed-forward layer.
        vocab_size: rows of the output head.
        max_context_tokens: positions that the model was trained for.
    """

    num_layers: int
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    ffn_size: int
    vocab_size: int
    max_context_tokens: int

    @property
    def num_matrix_parameters(self) -> int:
        """Weights read for one token: all layers and the output head, without norms and biases."""
        qkv = self.hidden_size * self.head_dim * (self.num_heads + 2 * self.num_kv_heads)
        out = self.hidden_size * self.head_dim * self.num_heads
        ffn = 3 * self.hidden_size * self.ffn_size
        return self.num_layers * (qkv + out + ffn) + self.vocab_size * self.hidden_size

    def kv_bytes_per_token(self, bytes_per_value: float = 4.0) -> int:
        """Bytes of keys and values that one token leaves in the cache."""
        return int(2 * self.num_layers * self.num_kv_heads * self.head_dim * bytes_per_value)


def blocks_for(num_tokens: int, block_size: int) -> int:
    """KV blocks that hold ``num_tokens`` tokens."""
    return -(-num_tokens // block_size)
