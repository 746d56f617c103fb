"""Turn packed GGUF tensors into float32, bit for bit as the format defines it.

Vectorised NumPy; the slow twin of every kernel that multiplies packed weights. Packs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from armillary.core.errors import ModelFileError
from armillary.models.gguf import KINDS, Bytes, GgufFile

Floats = npt.NDArray[np.float32]
Unpacker = Callable[[Bytes], Floats]

VALUES_AT_ONCE = 1 << 18
_SIZES = {kind.name: (kind.block_size, kind.block_bytes) for kind in KINDS.values()}


def dequantize(gguf: GgufFile, name: str) -> Floats:
    """The tensor as a new float32 array of its own shape.

    Raises:
        ModelFileError: there is no such tensor, or its packing is one that Armillary does not unpack.
    """
    packed = gguf.raw(name)
    tensor = gguf.tensors[name]
    return unpack(packed, tensor.kind).reshape(tensor.shape)


def unpack(packed: Bytes, kind: str) -> Floats:
    """Unpack a run of whole blocks.

    Args:
        packed: uint8, the bytes of whole blocks.
        kind: name of the packing.

    Returns:
        float32, one-dimensional, in the order of the blocks.

    Raises:
        ModelFileError: an unknown packing, or bytes that are no whole number of blocks.
    """
    if kind not in UNPACKERS:
        raise ModelFileError(f"tensors of type {kind} cannot be unpacked", hint=f"known: {', '.join(UNPACKERS)}")
    block_size, block_bytes = _SIZES[kind]
    if packed.size % block_bytes:
        raise ModelFileError(f"{packed.size} bytes are no whole number of {kind} blocks of {block_bytes}")
    blocks = packed.reshape(-1, block_bytes)
    values = np.empty((len(blocks), block_size), np.float32)
    unpacker = UNPACKERS[kind]
    # In slices that stay in the cache, because the temporaries are several times the size of the blocks.
    step = max(1, VALUES_AT_ONCE // block_size)
    with np.errstate(invalid="ignore", over="ignore"):  # scales of a damaged file may be infinite: data, not a warning
        for start in range(0, len(blocks), step):
            part = unpacker(blocks[start : start + step])
            values[start : start + step] = part.reshape(-1, block_size)
    return values.reshape(-1)


def _numbers(packed: Bytes, dtype: str) -> npt.NDArray[Any]:
    return np.ascontiguousarray(packed).view(dtype)


def _half(packed: Bytes) -> Floats:
    """Columns of little-endian halves, widened: [N, 2 m] bytes to [N, m]."""
    return _numbers(packed, "<f2").astype(np.float32)


def _nibbles(packed: Bytes) -> Bytes:
    """All low nibbles of a row, then all high ones: [..., n] to [..., 2 n]."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


def _fifth_bits(packed: Bytes) -> Bytes:
    """One bit per value, lowest first, moved to the place of bit 4: [N, 4] to [N, 32]."""
    return np.unpackbits(packed, axis=-1, bitorder="little") << np.uint8(4)


def _q4_0(blocks: Bytes) -> Floats:
    return _half(blocks[:, :2]) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Bytes) -> Floats:
    return _half(blocks[:, :2]) * _nibbles(blocks[:, 4:]).astype(np.float32) + _half(blocks[:, 2:4])


def _q5_0(blocks: Bytes) -> Floats:
    values = _nibbles(blocks[:, 6:]) | _fifth_bits(blocks[:, 2:6])
    return _half(blocks[:, :2]) * (values.astype(np.float32) - 16)


def _q5_1(blocks: Bytes) -> Floats:
    values = _nibbles(blocks[:, 8:]) | _fifth_bits(blocks[:, 4:8])
    return _half(blocks[:, :2]) * values.astype(np.float32) + _half(blocks[:, 2:4])


def _q8_0(blocks: Bytes) -> Floats:
    return _half(blocks[:, :2]) * _numbers(blocks[:, 2:], "i1").astype(np.float32)


def _k_scales(packed: Bytes) -> tuple[Floats, Floats]:
    """Eight 6-bit scales and eight 6-bit minima from the 12 bytes of a K block: [N, 12] to twice [N, 8, 1].

    Bytes 0-3 hold scales 0-3 and bytes 4-7 minima 0-3 in their low six bits; the two high bits of those eight bytes
    belong to scales and minima 4-7, whose low nibbles are the nibbles of bytes 8-11.
    """
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, (third & 15) | (first >> 6 << 4)], axis=-1)
    minima = np.concatenate([second & 63, (third >> 4) | (second >> 6 << 4)], axis=-1)
    return scales.astype(np.float32)[..., None], minima.astype(np.float32)[..., None]


def _k_affine(blocks: Bytes, values: Bytes) -> Floats:
    """Apply a K block's two levels of scales and minima to [N, 8, 32] values."""
    scales, minima = _k_scales(blocks[:, 4:16])
    scale = _half(blocks[:, :2])[..., None] * scales
    minimum = _half(blocks[:, 2:4])[..., None] * minima
    return scale * values.astype(np.float32) - minimum


def _q4_k(blocks: Bytes) -> Floats:
    return _k_affine(blocks, _nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32))


def _q5_k(blocks: Bytes) -> Floats:
    low = _nibbles(blocks[:, 48:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    # Bit g of byte j is the fifth bit of value j in group g.
    high = (blocks[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None]) & np.uint8(1)
    return _k_affine(blocks, low | high << np.uint8(4))


def _q6_k(blocks: Bytes) -> Floats:
    # Two halves of 128 values; in each, 64 bytes of nibbles and 32 bytes with four times two high bits.
    low = _nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, 2, 4, 32)
    pairs = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None]
    values = (low | (pairs & 3) << 4).astype(np.float32) - 32
    scale = _half(blocks[:, 208:]) * _numbers(blocks[:, 192:208], "i1").astype(np.float32)
    return scale[..., None] * values.reshape(-1, 16, 16)


def _bf16(blocks: Bytes) -> Floats:
    return (_numbers(blocks, "<u2").astype(np.uint32) << 16).view(np.float32)


UNPACKERS: MappingProxyType[str, Unpacker] = MappingProxyType(
    {
        "F32": lambda blocks: _numbers(blocks, "<f4").astype(np.float32),
        "F16": _half,
        "BF16": _bf16,
        "Q4_0": _q4_0,
        "Q4_1": _q4_1,
        "Q5_0": _q5_0,
        "Q5_1": _q5_1,
        "Q8_0": _q8_0,
        "Q4_K": _q4_k,
        "Q5_K": _q5_k,
        "Q6_K": _q6_k,
    }
)
