"""The families that the decoder runs: one row each. A new family of the same kind is a new row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from armillary.core.errors import ModelFileError, UnknownArchitectureError
from armillary.core.shapes import ModelShape


@dataclass(frozen=True, slots=True)
class Family:
    """What sets one family apart from the common pre-norm decoder with gated feed-forward layers.

    Attributes:
        has_interleaved_rotation: the file's query and key rows are ordered for pairs (2i, 2i + 1); they are reordered
            at load to pairs (i, i + D/2).
    """

    has_interleaved_rotation: bool


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "llama": Family(has_interleaved_rotation=True),
        "qwen2": Family(has_interleaved_rotation=False),
    }
)


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """All that the decoder must know beside its weights.

    Attributes:
        rope_theta: base of the rotary angles.
        rms_epsilon: added to the mean square.
    """

    family: Family
    shape: ModelShape
    rope_theta: float
    rms_epsilon: float


def read_config(metadata: Mapping[str, Any]) -> DecoderConfig:
    """Read a GGUF file's metadata.

    Raises:
        UnknownArchitectureError: the family is not in :data:`FAMILIES`.
        ModelFileError: a number is missing, or asks for a feature that no row describes.
    """
    name = str(metadata.get("general.architecture", ""))
    if name not in FAMILIES:
        raise UnknownArchitectureError(name, tuple(FAMILIES))

    def number(key: str, default: float | None = None) -> float:
        value = metadata.get(f"{name}.{key}", default)
        if not isinstance(value, int | float):
            raise ModelFileError(f"{name}.{key} is {value!r}, not a number")
        return value

    heads = int(number("attention.head_count"))
    hidden = int(number("embedding_length"))
    if heads < 1 or hidden % heads:
        raise ModelFileError(f"{hidden} channels do not divide into {heads} heads")
    head_dim = int(number("attention.key_length", hidden // heads))
    if int(number("rope.dimension_count", head_dim)) != head_dim:
        raise ModelFileError("partial rotary embeddings are not supported")
    if f"{name}.rope.scaling.type" in metadata and metadata[f"{name}.rope.scaling.type"] != "none":
        raise ModelFileError(f"rope scaling {metadata[f'{name}.rope.scaling.type']!r} is not supported")
    shape = ModelShape(
        num_layers=int(number("block_count")),
        hidden_size=hidden,
        num_heads=heads,
        num_kv_heads=int(number("attention.head_count_kv", heads)),
        head_dim=head_dim,
        ffn_size=int(number("feed_forward_length")),
        vocab_size=len(metadata.get("tokenizer.ggml.tokens", ())),
        max_context_tokens=int(number("context_length")),
    )
    if min(shape.num_layers, shape.num_kv_heads, shape.ffn_size, shape.vocab_size, shape.max_context_tokens) < 1:
        raise ModelFileError(f"a dimension of the model is below 1: {shape}")
    if heads % shape.num_kv_heads:
        raise ModelFileError(f"{heads} query heads do not divide into {shape.num_kv_heads} key heads")
    return DecoderConfig(
        FAMILIES[name], shape, number("rope.freq_base", 10_000.0), number("attention.layer_norm_rms_epsilon")
    )
