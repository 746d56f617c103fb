"""Build a decoder from a GGUF file, in the file's own integers or in float32. Reads; computes nothing."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from armillary.core.errors import ModelFileError
from armillary.core.plans import Precision
from armillary.kernels.eager import EagerKernels
from armillary.kernels.grouped import GroupedMatrix
from armillary.kernels.interface import Kernels
from armillary.models.architectures import DecoderConfig, read_config
from armillary.models.decoder import Decoder, DecoderWeights, LayerWeights
from armillary.models.dequantize import unpack
from armillary.models.gguf import GgufFile
from armillary.models.linear import DenseLinear, GroupedLinear, Linear
from armillary.quant.gguf_blocks import can_group, grouped_from_gguf

# Rounding the input of the head to one int8 term is the largest single part of the distance from the exact model
# (docs/log.md). A second term costs no memory traffic, and the head runs for the last token of a chunk only.
HEAD_TERMS = 2


def load_decoder(gguf: GgufFile, *, precision: Precision, kernels: Kernels) -> Decoder:
    """Read all weights.

    Args:
        gguf: an open file.
        precision: ``native`` multiplies the file's integers in int8 through ``kernels``; ``float32`` dequantises all
            and computes everything with torch's own operators.
        kernels: for ``native``.

    Raises:
        UnknownArchitectureError: a family without a row in the table.
        ModelFileError: a tensor is missing, has another shape than the header promises, or would not be used.
    """
    config = read_config(gguf.metadata)
    shape = config.shape
    if precision == "float32" or not kernels.can_run(shape.head_dim, (shape.hidden_size, shape.ffn_size)):
        kernels = EagerKernels()
    loader = _Loader(gguf, config, kernels, precision)
    decoder = loader.decoder()
    # A tensor that nobody reads is a feature that nobody computes, such as scaled rotary frequencies.
    ignored = sorted(gguf.tensors.keys() - loader.used)
    if ignored:
        raise ModelFileError(f"{gguf.path.name} has tensors that this decoder does not apply: {', '.join(ignored[:3])}")
    return decoder


class _Loader:
    def __init__(self, gguf: GgufFile, config: DecoderConfig, kernels: Kernels, precision: Precision) -> None:
        self.gguf = gguf
        self.config = config
        self.kernels = kernels
        self.precision = precision
        self.used: set[str] = set()

    def decoder(self) -> Decoder:
        shape = self.config.shape
        head_name = "output.weight" if "output.weight" in self.gguf.tensors else "token_embd.weight"
        self.used.add("token_embd.weight")
        weights = DecoderWeights(
            embed=RowTable(self.gguf, "token_embd.weight", (shape.vocab_size, shape.hidden_size)),
            layers=tuple(self.layer(index) for index in range(shape.num_layers)),
            final_norm=self.vector("output_norm.weight", shape.hidden_size),
            head=self.linear((head_name,), (shape.vocab_size,), shape.hidden_size, terms=HEAD_TERMS),
        )
        return Decoder(self.config, weights, self.kernels)

    def layer(self, index: int) -> LayerWeights:
        shape, prefix = self.config.shape, f"blk.{index}."
        queries, keys = shape.num_heads * shape.head_dim, shape.num_kv_heads * shape.head_dim
        attention = tuple(f"{prefix}attn_{part}.weight" for part in "qkv")
        ffn = (f"{prefix}ffn_gate.weight", f"{prefix}ffn_up.weight")
        return LayerWeights(
            attention_norm=self.vector(f"{prefix}attn_norm.weight", shape.hidden_size),
            qkv=self.linear(attention, (queries, keys, keys), shape.hidden_size),
            qkv_bias=self.bias(prefix, (queries, keys, keys)),
            output=self.linear((f"{prefix}attn_output.weight",), (shape.hidden_size,), queries),
            ffn_norm=self.vector(f"{prefix}ffn_norm.weight", shape.hidden_size),
            gate_up=self.linear(ffn, (shape.ffn_size, shape.ffn_size), shape.hidden_size),
            down=self.linear((f"{prefix}ffn_down.weight",), (shape.hidden_size,), shape.ffn_size),
        )

    def linear(self, names: tuple[str, ...], rows: tuple[int, ...], columns: int, *, terms: int = 1) -> Linear:
        """Matrices that share their input; integers only if all of them can be multiplied as they are."""
        for name, num_rows in zip(names, rows, strict=True):
            self.check(name, (num_rows, columns))
        kinds = [self.gguf.tensors[name].kind for name in names]
        if self.precision == "native" and all(can_group(kind, n, columns) for kind, n in zip(kinds, rows, strict=True)):
            return GroupedLinear(self.kernels, tuple(self.grouped(name) for name in names), terms=terms)
        return DenseLinear(tuple(self.dense(name) for name in names))

    def grouped(self, name: str) -> GroupedMatrix:
        tensor = self.gguf.tensors[name]
        rows = self.rows(name)
        return grouped_from_gguf(torch.from_numpy(rows.reshape(-1)), tensor.kind, tensor.shape[0])

    def dense(self, name: str) -> Tensor:
        tensor = self.gguf.tensors[name]
        return torch.from_numpy(unpack(self.rows(name).reshape(-1), tensor.kind)).view(tensor.shape)

    def rows(self, name: str) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
        """[N, bytes] the packed rows, queries and keys in the order that rotates by halves."""
        num_rows = self.gguf.tensors[name].shape[0]
        packed = self.gguf.raw(name).reshape(num_rows, -1)
        if self.config.family.has_interleaved_rotation and name.endswith(("attn_q.weight", "attn_k.weight")):
            packed = packed[rotation_order(num_rows, self.config.shape.head_dim)]
        return np.array(packed)  # a copy: torch wants writable memory

    def bias(self, prefix: str, sizes: tuple[int, ...]) -> Tensor | None:
        names = [f"{prefix}attn_{part}.bias" for part in "qkv"]
        if not any(name in self.gguf.tensors for name in names):
            return None
        return torch.cat([self.vector(name, size) for name, size in zip(names, sizes, strict=True)])

    def vector(self, name: str, size: int) -> Tensor:
        self.check(name, (size,))
        return torch.from_numpy(np.array(unpack(self.gguf.raw(name), self.gguf.tensors[name].kind)))

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        if name not in self.gguf.tensors:
            raise ModelFileError(f"{self.gguf.path.name} has no tensor {name!r}", hint="the file is incomplete")
        found = self.gguf.tensors[name].shape
        if found != shape:
            raise ModelFileError(f"tensor {name!r} has shape {list(found)}, its header promises {list(shape)}")
        self.used.add(name)


def rotation_order(num_rows: int, head_dim: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Row order that turns pairs (2i, 2i + 1) of each head into pairs (i, i + D/2)."""
    return np.arange(num_rows).reshape(-1, head_dim // 2, 2).swapaxes(1, 2).reshape(-1)


class RowTable:
    """The embedding: unpacks just the rows that are asked for from the memory map."""

    def __init__(self, gguf: GgufFile, name: str, shape: tuple[int, int]) -> None:
        if name not in gguf.tensors or gguf.tensors[name].shape != shape:
            raise ModelFileError(f"{gguf.path.name} has no tensor {name!r} of shape {list(shape)}")
        self._kind = gguf.tensors[name].kind
        self._rows = gguf.raw(name).reshape(shape[0], -1)
        self._width = shape[1]

    def __call__(self, token_ids: Tensor) -> Tensor:
        """[M] int64 -> [M, hidden] float32."""
        packed = self._rows[token_ids.numpy()]
        return torch.from_numpy(unpack(packed.reshape(-1), self._kind)).view(-1, self._width)
