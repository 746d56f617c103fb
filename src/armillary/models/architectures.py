"""The families that the decoder runs: one row each. A new family of the same kind is a new row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from armillary.core.errors import ModelFileError, UnknownArchitectureError
from armillary.core.shapes import ModelShape
from armillary.models.gguf import read_value, wrong_type

Number = TypeVar("Number", int, float)


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
        ModelFileError: a value is missing, of the wrong type, or asks for a feature that no row describes.
    """
    name = read_value(metadata, "general.architecture", str) or ""
    if name not in FAMILIES:
        raise UnknownArchitectureError(name, tuple(FAMILIES))

    numbers = _Numbers(metadata, name)
    number, count = numbers.number, numbers.count
    heads, hidden = count("attention.head_count"), count("embedding_length")
    if hidden % heads:
        raise ModelFileError(f"{hidden} channels do not divide into {heads} heads")
    shape = ModelShape(
        num_layers=count("block_count"),
        hidden_size=hidden,
        num_heads=heads,
        num_kv_heads=count("attention.head_count_kv", heads),
        head_dim=count("attention.key_length", hidden // heads),
        ffn_size=count("feed_forward_length"),
        vocab_size=len(read_value(metadata, "tokenizer.ggml.tokens", list) or ()),
        max_context_tokens=count("context_length"),
    )
    if shape.vocab_size < 1:
        raise ModelFileError("the file has no vocabulary")
    if heads % shape.num_kv_heads:
        raise ModelFileError(f"{heads} query heads do not divide into {shape.num_kv_heads} key heads")
    if count("attention.value_length", shape.head_dim) != shape.head_dim or shape.head_dim % 2:
        raise ModelFileError(f"heads of {shape.head_dim} channels: keys and values must be of one, even size")
    if count("rope.dimension_count", shape.head_dim) != shape.head_dim:
        raise ModelFileError("partial rotary embeddings are not supported")
    scaling = read_value(metadata, f"{name}.rope.scaling.type", str)
    if scaling not in (None, "none"):
        raise ModelFileError(f"rope scaling {scaling!r} is not supported")
    return DecoderConfig(
        FAMILIES[name], shape, number("rope.freq_base", 10_000.0), number("attention.layer_norm_rms_epsilon")
    )


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The family's own numbers in the metadata."""

    metadata: Mapping[str, Any]
    family: str

    def number(self, name: str, default: float | None = None) -> float:
        key = f"{self.family}.{name}"
        value: float | None = self.metadata.get(key, default)
        if value is not None and type(value) not in (int, float):
            raise wrong_type(key, value, "a number")
        return _positive(key, value)

    def count(self, name: str, default: int | None = None) -> int:
        key = f"{self.family}.{name}"
        value = read_value(self.metadata, key, int)
        return _positive(key, default if value is None else value)


def _positive(key: str, value: Number | None) -> Number:
    if value is None:
        raise ModelFileError(f"the metadata lacks {key!r}")
    if not 0 < value < float("inf"):
        raise ModelFileError(f"{key} is {value!r}, not a positive number")
    return value
