"""A decoder of a few thousand random weights in a real file: every reader of GGUF runs it, in milliseconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf_files import VOCABULARY, write_gguf

CONTEXT_TOKENS = 2048
HIDDEN, FFN, HEADS, KV_HEADS, LAYERS = 32, 64, 4, 2, 2
VOCAB_SIZE = len(VOCABULARY["tokenizer.ggml.tokens"])


def write_tiny_decoder(path: Path, family: str = "llama", *, has_own_head: bool = False) -> Path:
    """Write it.

    Args:
        path: the new file.
        family: ``llama`` or ``qwen2``, which has biases.
        has_own_head: whether the output matrix is another than the embedding.
    """
    numbers = {
        "block_count": LAYERS,
        "embedding_length": HIDDEN,
        "feed_forward_length": FFN,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "context_length": CONTEXT_TOKENS,
        "rope.freq_base": 10_000.0,
    }
    metadata = VOCABULARY | {f"{family}.{key}": value for key, value in numbers.items()}
    return write_gguf(path, metadata, _tensors(family, has_own_head=has_own_head), architecture=family)


def _tensors(family: str, *, has_own_head: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)

    def random(*shape: int) -> np.ndarray:
        return (rng.normal(0, 1, shape) / shape[-1] ** 0.5).astype(np.float32)

    keys = KV_HEADS * HIDDEN // HEADS
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (VOCAB_SIZE, HIDDEN)}
    if has_own_head:
        shapes["output.weight"] = (VOCAB_SIZE, HIDDEN)
    for layer in range(LAYERS):
        in_layer = {
            "attn_q.weight": (HIDDEN, HIDDEN),
            "attn_k.weight": (keys, HIDDEN),
            "attn_v.weight": (keys, HIDDEN),
            "attn_output.weight": (HIDDEN, HIDDEN),
            "ffn_gate.weight": (FFN, HIDDEN),
            "ffn_up.weight": (FFN, HIDDEN),
            "ffn_down.weight": (HIDDEN, FFN),
        }
        if family == "qwen2":
            in_layer |= {"attn_q.bias": (HIDDEN,), "attn_k.bias": (keys,), "attn_v.bias": (keys,)}
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in in_layer.items()}
    norms = ["output_norm", *(f"blk.{layer}.{part}_norm" for layer in range(LAYERS) for part in ("attn", "ffn"))]
    return {name: random(*shape) for name, shape in shapes.items()} | {
        f"{name}.weight": 1 + random(HIDDEN) for name in norms
    }
