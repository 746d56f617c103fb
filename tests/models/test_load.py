"""A decoder is built from any sound file of a known family, and refuses what is not one."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf_files import VOCABULARY, write_gguf

from armillary.attention.kv_cache import KvCache
from armillary.core.errors import ModelFileError, UnknownArchitectureError
from armillary.engine.batch import Chunk
from armillary.kernels.eager import EagerKernels
from armillary.kernels.interface import Kernels
from armillary.kernels.native import NativeKernels, instruction_sets
from armillary.models.architectures import FAMILIES, read_config
from armillary.models.decoder import Decoder
from armillary.models.gguf import open_gguf
from armillary.models.load import load_decoder, rotation_order

HIDDEN, FFN, HEADS, KV_HEADS, LAYERS = 64, 96, 4, 2, 2
VOCAB_SIZE = len(VOCABULARY["tokenizer.ggml.tokens"])


def header(family: str = "llama", **changes: Any) -> dict[str, Any]:
    values = {
        "block_count": LAYERS,
        "embedding_length": HIDDEN,
        "feed_forward_length": FFN,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "context_length": 128,
        "rope.freq_base": 10_000.0,
    }
    return VOCABULARY | {f"{family}.{key}": value for key, value in (values | changes).items() if value is not None}


def weights(family: str = "llama") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)

    def matrix(*shape: int) -> np.ndarray:
        return (rng.normal(0, 1, shape) / shape[-1] ** 0.5).astype(np.float32)

    size = HIDDEN // HEADS
    tensors = {"token_embd.weight": matrix(VOCAB_SIZE, HIDDEN), "output_norm.weight": np.ones(HIDDEN, np.float32)}
    for layer in range(LAYERS):
        tensors |= {
            f"blk.{layer}.attn_norm.weight": np.ones(HIDDEN, np.float32),
            f"blk.{layer}.attn_q.weight": matrix(HEADS * size, HIDDEN),
            f"blk.{layer}.attn_k.weight": matrix(KV_HEADS * size, HIDDEN),
            f"blk.{layer}.attn_v.weight": matrix(KV_HEADS * size, HIDDEN),
            f"blk.{layer}.attn_output.weight": matrix(HIDDEN, HEADS * size),
            f"blk.{layer}.ffn_norm.weight": np.ones(HIDDEN, np.float32),
            f"blk.{layer}.ffn_gate.weight": matrix(FFN, HIDDEN),
            f"blk.{layer}.ffn_up.weight": matrix(FFN, HIDDEN),
            f"blk.{layer}.ffn_down.weight": matrix(HIDDEN, FFN),
        }
        if family == "qwen2":
            tensors |= {f"blk.{layer}.attn_{part}.bias": matrix(rows) for part, rows in sizes(size)}
    return tensors


def sizes(head_dim: int) -> tuple[tuple[str, int], ...]:
    return (("q", HEADS * head_dim), ("k", KV_HEADS * head_dim), ("v", KV_HEADS * head_dim))


def build(path: Path, family: str = "llama", kernels: Kernels | None = None, **changes: Any) -> Decoder:
    file = write_gguf(path / "model.gguf", header(family, **changes), weights(family), architecture=family)
    return load_decoder(open_gguf(file), precision="native", kernels=kernels or EagerKernels())


def last_logits(decoder: Decoder, token_ids: list[int], cuts: tuple[int, ...] = ()) -> torch.Tensor:
    cache = KvCache(decoder.config.shape, 4)
    edges = [0, *cuts, len(token_ids)]
    for start, end in pairwise(edges):
        hidden = decoder.hidden([Chunk(token_ids[start:end], start, [2, 0, 3])], cache)
    return decoder.logits(hidden[-1:])


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_small_model_of_each_family_runs(tmp_path: Path, family: str) -> None:
    logits = last_logits(build(tmp_path, family), [1, 2, 3])
    assert logits.shape == (1, VOCAB_SIZE)
    assert logits.isfinite().all()


@pytest.mark.parametrize("cuts", [(1,), (31,), (32,), (33,), (10, 40)])
def test_a_prompt_read_in_pieces_gives_the_same_logits(tmp_path: Path, cuts: tuple[int, ...]) -> None:
    decoder = build(tmp_path)
    token_ids = [(7 * i) % VOCAB_SIZE for i in range(50)]
    torch.testing.assert_close(last_logits(decoder, token_ids, cuts), last_logits(decoder, token_ids))


def test_the_order_of_earlier_tokens_matters(tmp_path: Path) -> None:
    decoder = build(tmp_path)
    assert not torch.allclose(last_logits(decoder, [1, 2, 3]), last_logits(decoder, [2, 1, 3]))


@pytest.mark.skipif(not instruction_sets(), reason="the native kernels were not built: no C++ compiler")
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_shape_that_the_native_kernels_cannot_run_is_left_to_their_twins(tmp_path: Path, family: str) -> None:
    # Heads of 16 channels are half a vector short; numbers from memory beyond them would come out.
    logits = last_logits(build(tmp_path, family, NativeKernels(1)), [1, 2, 3])
    torch.testing.assert_close(logits, last_logits(build(tmp_path, family), [1, 2, 3]))


def test_a_tensor_that_nobody_applies_is_refused(tmp_path: Path) -> None:
    tensors = weights() | {"rope_freqs.weight": np.ones(8, np.float32)}
    file = write_gguf(tmp_path / "m.gguf", header(), tensors)
    with pytest.raises(ModelFileError, match=r"rope_freqs\.weight"):
        load_decoder(open_gguf(file), precision="float32", kernels=EagerKernels())


def test_one_bias_alone_is_an_incomplete_file(tmp_path: Path) -> None:
    tensors = weights() | {"blk.0.attn_k.bias": np.ones(KV_HEADS * HIDDEN // HEADS, np.float32)}
    file = write_gguf(tmp_path / "m.gguf", header(), tensors)
    with pytest.raises(ModelFileError, match=r"blk\.0\.attn_q\.bias"):
        load_decoder(open_gguf(file), precision="float32", kernels=EagerKernels())


def test_biases_change_the_logits(tmp_path: Path) -> None:
    with_bias = build(tmp_path, "qwen2")
    assert all(layer.qkv_bias is not None for layer in with_bias.weights.layers)
    assert all(layer.qkv_bias is None for layer in build(tmp_path).weights.layers)


def test_rotation_order_turns_neighbours_into_halves() -> None:
    assert rotation_order(8, 4).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_float_matrices_count_their_bytes(tmp_path: Path) -> None:
    decoder = build(tmp_path)
    assert decoder.weights.bytes_per_token == 4 * decoder.config.shape.num_matrix_parameters


def test_an_unknown_family_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", header("mamba"), {}, architecture="mamba")
    with pytest.raises(UnknownArchitectureError, match=r"'mamba'.*llama, qwen2"):
        read_config(open_gguf(file).metadata)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"block_count": None}, "lacks 'llama.block_count'"),
        ({"embedding_length": "wide"}, "'llama.embedding_length' is text, expected a whole number"),
        ({"attention.head_count": 3}, "do not divide"),
        ({"attention.head_count": 0}, "head_count is 0"),
        ({"attention.head_count_kv": 3}, "do not divide"),
        ({"block_count": 0}, "block_count is 0"),
        ({"attention.key_length": 0}, "key_length is 0"),
        ({"attention.key_length": 15}, "even size"),
        ({"attention.value_length": 8}, "even size"),
        ({"embedding_length": 0}, "embedding_length is 0"),
        ({"context_length": float("inf")}, "is a float, expected a whole number"),
        ({"context_length": 128.5}, "is a float, expected a whole number"),
        ({"attention.layer_norm_rms_epsilon": float("nan")}, "epsilon is nan"),
        ({"rope.freq_base": True}, "'llama.rope.freq_base' is a boolean, expected a number"),
        ({"rope.dimension_count": 8}, "partial rotary"),
        ({"rope.scaling.type": "yarn"}, "'yarn'"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        build(tmp_path, **changes)


@pytest.mark.parametrize("tokens", [None, []])
def test_a_header_without_a_vocabulary_is_refused(tokens: list[str] | None) -> None:
    metadata = header() | {"general.architecture": "llama", "tokenizer.ggml.tokens": tokens}
    with pytest.raises(ModelFileError, match="no vocabulary"):
        read_config({key: value for key, value in metadata.items() if value is not None})


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    tensors = weights()
    del tensors["blk.1.ffn_up.weight"]
    file = write_gguf(tmp_path / "m.gguf", header(), tensors)
    with pytest.raises(ModelFileError, match=r"blk\.1\.ffn_up\.weight"):
        load_decoder(open_gguf(file), precision="float32", kernels=EagerKernels())


@pytest.mark.parametrize("name", ["blk.0.attn_k.weight", "token_embd.weight", "output_norm.weight"])
def test_a_tensor_of_another_shape_is_named(tmp_path: Path, name: str) -> None:
    tensors = weights()
    tensors[name] = tensors[name][: len(tensors[name]) // 2]
    file = write_gguf(tmp_path / "m.gguf", header(), tensors)
    with pytest.raises(ModelFileError, match=name):
        load_decoder(open_gguf(file), precision="float32", kernels=EagerKernels())
