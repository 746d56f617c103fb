"""Read GGUF files strictly: metadata as plain values, tensors as byte ranges on a read-only memory map.

Every count, length and offset is checked against the file's size before it is used, so a hostile header can make
nothing larger than a small multiple of the file itself. Writes nothing, and knows no model family.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from armillary.core.errors import ModelFileError, NotFoundError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_DIMENSIONS = 4
DEFAULT_ALIGNMENT = 32
PULL_AGAIN = "the file is truncated or damaged; pull it again"

Bytes = npt.NDArray[np.uint8]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class TensorKind:
    """How the numbers of one tensor type are packed: blocks of ``block_size`` values in ``block_bytes`` bytes."""

    name: str
    block_size: int
    block_bytes: int


KINDS = MappingProxyType(
    {
        number: TensorKind(name, block_size, block_bytes)
        for number, name, block_size, block_bytes in (
            (0, "F32", 1, 4),
            (1, "F16", 1, 2),
            (2, "Q4_0", 32, 18),
            (3, "Q4_1", 32, 20),
            (6, "Q5_0", 32, 22),
            (7, "Q5_1", 32, 24),
            (8, "Q8_0", 32, 34),
            (10, "Q2_K", 256, 84),
            (11, "Q3_K", 256, 110),
            (12, "Q4_K", 256, 144),
            (13, "Q5_K", 256, 176),
            (14, "Q6_K", 256, 210),
            (24, "I8", 1, 1),
            (25, "I16", 1, 2),
            (26, "I32", 1, 4),
            (27, "I64", 1, 8),
            (28, "F64", 1, 8),
            (30, "BF16", 1, 2),
        )
    }
)

STRING, ARRAY = 8, 9
SCALARS = MappingProxyType(
    {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "|b1", 10: "<u8", 11: "<i8", 12: "<f8"}
)

TYPE_NAMES: Mapping[type, str] = MappingProxyType(
    {
        str: "text",
        bool: "a boolean",
        int: "a whole number",
        float: "a float",
        list: "an array of text",
        np.ndarray: "an array of numbers",
    }
)


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of the file.

    Attributes:
        shape: row-major, outermost first: a matrix is (out_features, in_features).
        kind: name of the packing, such as ``F32`` or ``Q4_K``.
        offset: first byte, counted from the start of the file.
        num_bytes: bytes of the packed values.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    offset: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class GgufFile:
    """An open GGUF file.

    Attributes:
        metadata: numbers, booleans and text as Python values, arrays of text as lists, arrays of numbers as
            read-only one-dimensional NumPy arrays.
        tensors: by name, in the file's order.
    """

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]
    _bytes: Bytes = field(repr=False, compare=False)

    @property
    def architecture(self) -> str:
        """Name of the model family, such as ``llama``."""
        return self.require("general.architecture", str)

    @property
    def num_bytes(self) -> int:
        """Size of the whole file, header and tensors."""
        return self._bytes.size

    def require(self, key: str, kind: type[Value]) -> Value:
        """A metadata value that must be there and of exactly this Python type.

        Raises:
            ModelFileError: the key is missing or holds something else.
        """
        value = read_value(self.metadata, key, kind)
        if value is None:
            raise ModelFileError(f"{self.path}: the metadata lacks {key!r}")
        return value

    def raw(self, name: str) -> Bytes:
        """The packed bytes of a tensor: a read-only view [num_bytes] on the memory map.

        Raises:
            ModelFileError: there is no tensor of that name.
        """
        if name not in self.tensors:
            raise ModelFileError(f"{self.path}: there is no tensor {name!r}")
        tensor = self.tensors[name]
        return self._bytes[tensor.offset : tensor.offset + tensor.num_bytes]


def read_value(metadata: Mapping[str, Any], key: str, kind: type[Value]) -> Value | None:
    """A metadata value of exactly this Python type, or None if the key is not there.

    Raises:
        ModelFileError: it is of another type.
    """
    value = metadata.get(key)
    if value is not None and type(value) is not kind:
        raise wrong_type(key, value, TYPE_NAMES[kind])
    return value


def read_numbers(metadata: Mapping[str, Any], key: str) -> npt.NDArray[Any] | None:
    """A metadata array of whole numbers, or None if the key is not there.

    Raises:
        ModelFileError: it is of another type.
    """
    values = read_value(metadata, key, np.ndarray)
    if values is not None and values.dtype.kind not in "iu":
        raise wrong_type(key, values, "an array of whole numbers")
    return values


def wrong_type(key: str, value: Any, wanted: str) -> ModelFileError:
    """What to tell of a metadata value that has the wrong type."""
    found = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else TYPE_NAMES[type(value)]
    return ModelFileError(f"the metadata's {key!r} is {found}, expected {wanted}")


def open_gguf(path: Path) -> GgufFile:
    """Map a GGUF file and read its header.

    Raises:
        NotFoundError: there is no such file.
        ModelFileError: the file is not GGUF, is truncated, or its header contradicts itself or the file's size.
    """
    if not path.is_file():
        raise NotFoundError(f"no model file at {path}")
    try:
        mapped = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path}: cannot be read: {error}", hint=PULL_AGAIN) from error
    header = _Header(path, mapped)
    num_tensors, num_values = header.preamble()
    metadata = header.metadata(num_values)
    return GgufFile(path, metadata, header.tensors(num_tensors, metadata), mapped)


class _Header:
    """A cursor over the header; each method reads one part and moves on."""

    def __init__(self, path: Path, mapped: Bytes) -> None:
        self.path = path
        self.bytes = mapped
        self.view = mapped.data
        self.position = 0

    def fail(self, message: str) -> ModelFileError:
        return ModelFileError(f"{self.path}: {message}", hint=PULL_AGAIN)

    def take(self, num_bytes: int) -> int:
        """Move over ``num_bytes`` and return where they began."""
        start = self.position
        if num_bytes > len(self.view) - start:
            raise self.fail(f"the header needs {start + num_bytes} bytes, the file has {len(self.view)}")
        self.position = start + num_bytes
        return start

    def count(self, what: str, item_bytes: int) -> int:
        """Read how many items follow; refuse more than the rest of the file could hold."""
        number = self.uint64()
        if number * item_bytes > len(self.view) - self.position:
            raise self.fail(
                f"the header promises {number} {what}, at least {self.position + number * item_bytes} bytes, "
                f"the file has {len(self.view)}"
            )
        return number

    def uint32(self) -> int:
        return int(struct.unpack_from("<I", self.view, self.take(4))[0])

    def uint64(self) -> int:
        return int(struct.unpack_from("<Q", self.view, self.take(8))[0])

    def text(self) -> str:
        num_bytes = self.count("bytes of text", 1)
        start = self.take(num_bytes)
        try:
            return str(self.view[start : start + num_bytes], "utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"text at byte {start} is not UTF-8: {error.reason}") from error

    def preamble(self) -> tuple[int, int]:
        start = self.take(4)
        magic = bytes(self.view[start : start + 4])
        if magic != MAGIC:
            raise ModelFileError(f"{self.path}: not a GGUF file: it begins with {magic!r}, not {MAGIC!r}")
        version = self.uint32()
        if version not in VERSIONS:
            known = " and ".join(map(str, VERSIONS))
            raise ModelFileError(
                f"{self.path}: GGUF version {version} is unknown", hint=f"known: {known}, little-endian"
            )
        # A tensor takes at least an empty name, one dimension, its type and its offset.
        num_tensors = self.count("tensors", 8 + 4 + 8 + 4 + 8)
        return num_tensors, self.count("metadata values", 8 + 4 + 1)

    def metadata(self, num_values: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for _ in range(num_values):
            key = self.text()
            if key in values:
                raise self.fail(f"metadata key {key!r} stands twice")
            values[key] = self.value(self.uint32(), key)
        return values

    def value(self, kind: int, key: str) -> Any:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            return self.array(self.uint32(), key)
        return self.numbers(kind, 1, key)[0].item()

    def array(self, kind: int, key: str) -> Any:
        if kind == STRING:
            return [self.text() for _ in range(self.count(f"texts in {key!r}", 8))]
        if kind == ARRAY:
            raise self.fail(f"{key!r} holds arrays of arrays, which no known model needs")
        return self.numbers(kind, self.count(f"numbers in {key!r}", 1), key)

    def numbers(self, kind: int, length: int, key: str) -> npt.NDArray[Any]:
        if kind not in SCALARS:
            raise self.fail(f"{key!r} has the unknown value type {kind}")
        dtype = np.dtype(SCALARS[kind])
        start = self.take(length * dtype.itemsize)
        return self.bytes[start : self.position].view(dtype)

    def tensors(self, num_tensors: int, metadata: dict[str, Any]) -> dict[str, TensorInfo]:
        alignment = read_value(metadata, "general.alignment", int)
        alignment = DEFAULT_ALIGNMENT if alignment is None else alignment
        if alignment <= 0 or alignment & (alignment - 1):
            raise self.fail(f"the alignment {alignment!r} is no power of two")
        listed = [self.tensor() for _ in range(num_tensors)]
        base = -(-self.position // alignment) * alignment
        tensors: dict[str, TensorInfo] = {}
        for tensor in listed:
            if tensor.name in tensors:
                raise self.fail(f"tensor {tensor.name!r} stands twice")
            if tensor.offset % alignment:
                raise self.fail(f"tensor {tensor.name!r} begins at {tensor.offset}, no multiple of {alignment}")
            placed = TensorInfo(tensor.name, tensor.shape, tensor.kind, base + tensor.offset, tensor.num_bytes)
            tensors[tensor.name] = placed
        self.check_places(tensors)
        return tensors

    def tensor(self) -> TensorInfo:
        """Read one entry; its offset still counts from the start of the tensor area."""
        name = self.text()
        num_dimensions = self.uint32()
        if not 1 <= num_dimensions <= MAX_DIMENSIONS:
            raise self.fail(f"tensor {name!r} has {num_dimensions} dimensions, allowed are 1 to {MAX_DIMENSIONS}")
        shape = tuple(self.uint64() for _ in range(num_dimensions))[::-1]
        number = self.uint32()
        if number not in KINDS:
            known = ", ".join(kind.name for kind in KINDS.values())
            raise ModelFileError(f"{self.path}: tensor {name!r} has the unknown type {number}", hint=f"known: {known}")
        kind = KINDS[number]
        if shape[-1] % kind.block_size:
            raise self.fail(f"tensor {name!r}: rows of {shape[-1]} do not divide into blocks of {kind.block_size}")
        num_bytes = math.prod(shape) // kind.block_size * kind.block_bytes
        if num_bytes == 0:
            raise self.fail(f"tensor {name!r} is empty")
        return TensorInfo(name, shape, kind.name, self.uint64(), num_bytes)

    def check_places(self, tensors: dict[str, TensorInfo]) -> None:
        """Every tensor lies inside the file and no two share a byte."""
        for tensor in tensors.values():
            end = tensor.offset + tensor.num_bytes
            if end > len(self.view):
                raise self.fail(f"tensor {tensor.name!r} ends at byte {end}, the file has {len(self.view)}")
        ordered = sorted(tensors.values(), key=lambda tensor: tensor.offset)
        for before, after in pairwise(ordered):
            if before.offset + before.num_bytes > after.offset:
                raise self.fail(f"tensors {before.name!r} and {after.name!r} overlap at byte {after.offset}")
