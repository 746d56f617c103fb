"""Our unpacking equals the format's own reference, bit for bit."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf_files import write_gguf

from armillary.core.errors import ModelFileError
from armillary.models import dequantize as module
from armillary.models.dequantize import UNPACKERS, dequantize, unpack
from armillary.models.gguf import KINDS, open_gguf

BLOCK_BYTES = {kind.name: kind.block_bytes for kind in KINDS.values()}


def reference(packed: np.ndarray, kind: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return gguf.quants.dequantize(packed, gguf.GGMLQuantizationType[kind]).reshape(-1)


def bits(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint32)


@pytest.mark.parametrize("kind", UNPACKERS)
def test_random_blocks_unpack_as_in_the_reference(kind: str) -> None:
    packed = np.random.default_rng(3).integers(0, 256, (64, 4 * BLOCK_BYTES[kind]), dtype=np.uint8)
    np.testing.assert_array_equal(bits(unpack(packed.reshape(-1), kind)), bits(reference(packed, kind)))


@pytest.mark.parametrize("kind", UNPACKERS)
def test_slices_do_not_change_the_values(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = np.random.default_rng(4).integers(0, 256, 7 * BLOCK_BYTES[kind], dtype=np.uint8)
    whole = unpack(packed, kind)
    monkeypatch.setattr(module, "VALUES_AT_ONCE", 1)
    np.testing.assert_array_equal(bits(unpack(packed, kind)), bits(whole))


def test_a_tensor_comes_in_its_own_shape(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    file = open_gguf(write_gguf(tmp_path / "m.gguf", tensors={"t": values}))
    np.testing.assert_array_equal(dequantize(file, "t"), values)


def test_nothing_unpacks_to_nothing() -> None:
    assert unpack(np.empty(0, np.uint8), "Q4_0").size == 0


def test_an_unknown_packing_is_named() -> None:
    with pytest.raises(ModelFileError, match="Q2_K cannot be unpacked"):
        unpack(np.zeros(84, np.uint8), "Q2_K")


def test_half_a_block_is_refused() -> None:
    with pytest.raises(ModelFileError, match="19 bytes are no whole number of Q4_0 blocks of 18"):
        unpack(np.zeros(19, np.uint8), "Q4_0")


def check_first_rows(path: Path) -> None:
    file = open_gguf(path)
    for kind in {info.kind for info in file.tensors.values()}:
        name = next(name for name, info in file.tensors.items() if info.kind == kind)
        packed = file.raw(name).reshape(file.tensors[name].shape[0], -1)[:64]
        np.testing.assert_array_equal(bits(unpack(packed.reshape(-1), kind)), bits(reference(packed, kind)))


@pytest.mark.model
def test_real_tensors_of_the_small_model_unpack_as_in_the_reference(smollm2_path: Path) -> None:
    check_first_rows(smollm2_path)


@pytest.mark.model
def test_real_tensors_of_the_larger_model_unpack_as_in_the_reference(qwen_path: Path) -> None:
    check_first_rows(qwen_path)
