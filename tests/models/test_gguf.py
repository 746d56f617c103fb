"""The reader gives what the writer wrote, and refuses every lie of a header in one clear line."""

from __future__ import annotations

import resource
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from fault_kit import truncated_copy
from gguf_files import VOCABULARY, WORDS, entry, file_bytes, tensor, text, write_gguf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armillary.core.errors import ModelFileError, NotFoundError
from armillary.models.gguf import GgufFile, open_gguf

HUGE = 1 << 60
U32, STRING, ARRAY = 4, 8, 9


def opened(folder: Path, content: bytes) -> GgufFile:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return open_gguf(path)


def test_metadata_comes_back_as_python_values(tiny: GgufFile) -> None:
    assert tiny.architecture == "llama"
    assert tiny.metadata["llama.block_count"] == 1
    assert tiny.metadata["tokenizer.ggml.tokens"] == WORDS
    assert tiny.metadata["tokenizer.ggml.token_type"].tolist() == VOCABULARY["tokenizer.ggml.token_type"]


@pytest.mark.parametrize("value", [True, 7, 0.5, "née"])
def test_each_scalar_keeps_its_type(tmp_path: Path, value: object) -> None:
    read = open_gguf(write_gguf(tmp_path / "m.gguf", {"key": value})).metadata["key"]
    assert (read, type(read)) == (value, type(value))


def test_shapes_are_row_major_and_bytes_are_the_tensors_own(tiny: GgufFile) -> None:
    assert tiny.tensors["matrix"].shape == (2, 3)
    assert tiny.tensors["matrix"].kind == "F32"
    assert tiny.raw("matrix").view(np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert tiny.tensors["vector"].num_bytes == 8


def test_bytes_cannot_be_written(tiny: GgufFile) -> None:
    with pytest.raises(ValueError, match="read-only"):
        tiny.raw("matrix")[0] = 1


def test_the_size_is_that_of_the_file(tiny: GgufFile, tiny_path: Path) -> None:
    assert tiny.num_bytes == tiny_path.stat().st_size


def test_a_missing_tensor_is_named(tiny: GgufFile) -> None:
    with pytest.raises(ModelFileError, match="no tensor 'nothing'"):
        tiny.raw("nothing")


def test_required_metadata_is_there_and_of_its_type(tiny: GgufFile) -> None:
    assert tiny.require("llama.block_count", int) == 1
    with pytest.raises(ModelFileError, match="lacks 'llama\\.nothing'"):
        tiny.require("llama.nothing", int)
    with pytest.raises(ModelFileError, match="is a whole number, expected text"):
        tiny.require("llama.block_count", str)


@pytest.mark.parametrize("name", ["nothing.gguf", "."])
def test_a_missing_file_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="no model file at"):
        open_gguf(tmp_path / name)


@pytest.mark.parametrize("num_bytes", [0, 3, 4, 8, 20, 24, 100, 1000, 2000])
def test_a_truncated_file_says_so_and_what_to_do(tiny_path: Path, tmp_path: Path, num_bytes: int) -> None:
    with pytest.raises(ModelFileError, match="truncated or damaged; pull it again"):
        open_gguf(truncated_copy(tiny_path, tmp_path, keep_bytes=num_bytes))


def test_a_file_without_its_last_byte_is_refused(tiny_path: Path, tmp_path: Path) -> None:
    size = tiny_path.stat().st_size
    tiny = open_gguf(tiny_path)
    end = max(info.offset + info.num_bytes for info in tiny.tensors.values())
    with pytest.raises(ModelFileError, match=rf"ends at byte {end}, the file has {end - 1}"):
        open_gguf(truncated_copy(tiny_path, tmp_path, keep_bytes=end - 1))
    assert end <= size


LIES = {
    "a wrong magic": (file_bytes(magic=b"GGML"), "not a GGUF file"),
    "an unknown version": (file_bytes(version=9), "version 9 is unknown"),
    "a big-endian file": (file_bytes(version=3 << 24), "little-endian"),
    "more tensors than bytes": (b"GGUF" + struct.pack("<IQQ", 3, HUGE, 0), f"promises {HUGE} tensors"),
    "more metadata than bytes": (b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE), f"promises {HUGE} metadata values"),
    "a text longer than the file": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", HUGE) + bytes(32),
        f"promises {HUGE} bytes of text",
    ),
    "a text that is not UTF-8": (file_bytes([entry("key", STRING, text(b"\xff"))]), "not UTF-8"),
    "more texts than bytes": (
        file_bytes([entry("key", ARRAY, struct.pack("<IQ", STRING, HUGE))]),
        f"promises {HUGE} texts in 'key'",
    ),
    "more numbers than bytes": (
        file_bytes([entry("key", ARRAY, struct.pack("<IQ", U32, HUGE))]),
        f"promises {HUGE} numbers in 'key'",
    ),
    "numbers that overlap the end": (
        file_bytes([entry("key", ARRAY, struct.pack("<IQ", U32, 30) + bytes(30))]),
        "the header needs",
    ),
    "arrays of arrays": (file_bytes([entry("key", ARRAY, struct.pack("<IQ", ARRAY, 0))]), "arrays of arrays"),
    "an unknown value type": (file_bytes([entry("key", 99, bytes(8))]), "unknown value type 99"),
    "a key that stands twice": (file_bytes([entry("key", U32, bytes(4))] * 2), "'key' stands twice"),
    "an alignment of zero": (file_bytes([entry("general.alignment", U32, bytes(4))]), "no power of two"),
    "an alignment of 48": (
        file_bytes([entry("general.alignment", U32, struct.pack("<I", 48))]),
        "alignment 48 is no power of two",
    ),
    "an alignment that is text": (
        file_bytes([entry("general.alignment", STRING, text("32"))]),
        "is text, expected a whole number",
    ),
    "a tensor without dimensions": (file_bytes(tensors=[tensor("t", [], 0, 0)]), "has 0 dimensions"),
    "a tensor of five dimensions": (file_bytes(tensors=[tensor("t", [1] * 5, 0, 0)]), "has 5 dimensions"),
    "an empty tensor": (file_bytes(tensors=[tensor("t", [0], 0, 0)]), "'t' is empty"),
    "an unknown tensor type": (file_bytes(tensors=[tensor("t", [1], 77, 0)]), "unknown type 77 .known: F32"),
    "rows of broken blocks": (file_bytes(tensors=[tensor("t", [33], 2, 0)]), "do not divide into blocks of 32"),
    "a tensor past the end": (file_bytes(tensors=[tensor("t", [8], 0, 0)], data=bytes(16)), "'t' ends at byte"),
    "an offset past the end": (file_bytes(tensors=[tensor("t", [1], 0, 1 << 50)], data=bytes(16)), "'t' ends at byte"),
    "sizes that overflow 64 bits": (
        file_bytes(tensors=[tensor("t", [1 << 32, 1 << 32, 1], 0, 0)], data=bytes(16)),
        "'t' ends at byte",
    ),
    "an offset off the alignment": (
        file_bytes(tensors=[tensor("t", [1], 0, 4)], data=bytes(64)),
        "begins at 4, no multiple of 32",
    ),
    "two tensors of one name": (
        file_bytes(tensors=[tensor("t", [1], 0, 0), tensor("t", [1], 0, 32)], data=bytes(64)),
        "'t' stands twice",
    ),
    "tensors that overlap": (
        file_bytes(tensors=[tensor("b", [16], 0, 32), tensor("a", [16], 0, 0)], data=bytes(128)),
        "'a' and 'b' overlap",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_header_is_refused(tmp_path: Path, lie: str) -> None:
    content, message = LIES[lie]
    with pytest.raises(ModelFileError, match=message):
        opened(tmp_path, content)


def test_touching_tensors_are_no_overlap(tmp_path: Path) -> None:
    tensors = [tensor("a", [8], 0, 0), tensor("b", [8], 0, 32)]
    assert list(opened(tmp_path, file_bytes(tensors=tensors, data=bytes(64))).tensors) == ["a", "b"]


def test_a_file_that_cannot_be_read_is_a_model_file_error(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(np, "memmap", refuse)
    with pytest.raises(ModelFileError, match="Permission denied"):
        open_gguf(tiny_path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 9_000), replacement=st.binary(min_size=1, max_size=8))
def test_any_damage_is_either_harmless_or_a_model_file_error(
    tiny_path: Path, tmp_path: Path, position: int, replacement: bytes
) -> None:
    content = bytearray(tiny_path.read_bytes())
    position %= len(content)
    content[position : position + len(replacement)] = replacement
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        gguf = opened(tmp_path, bytes(content))
    except ModelFileError:
        return
    for name in gguf.tensors:
        assert gguf.raw(name).size == gguf.tensors[name].num_bytes
    grown_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kilobytes < 64_000


@pytest.mark.model
def test_the_real_header_is_read_in_a_moment(smollm2_path: Path) -> None:
    begin = time.perf_counter()
    gguf = open_gguf(smollm2_path)
    assert time.perf_counter() - begin < 2.0
    assert len(gguf.metadata["tokenizer.ggml.tokens"]) == 49_152
    assert gguf.tensors["token_embd.weight"].shape == (49_152, 576)
