"""Every metadata value that is read may have any of the format's types: it serves, or it is refused by name."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf_files import VOCABULARY, entry, file_bytes, tensor, text
from tiny_gguf import write_tiny_decoder

from armillary.core.errors import ArmillaryError, ModelFileError
from armillary.core.messages import Message
from armillary.kernels.eager import EagerKernels
from armillary.models.gguf import GgufFile, open_gguf
from armillary.models.load import load_decoder
from armillary.models.tokenizer import GgufTokenizer

F32, STRING, ARRAY = 0, 8, 9
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
NUM_WORDS = len(VOCABULARY["tokenizer.ggml.tokens"])


def array(kind: int, *items: bytes) -> bytes:
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def every_value() -> Iterator[tuple[str, int, bytes]]:
    """A name, a type and a body for each type of the format, arrays of none, one, some and as many as words."""
    for kind, code in FORMATS.items():
        one = struct.pack(f"<{code}", 1)
        yield f"{code}", kind, one
        for length in (0, 1, 2, NUM_WORDS):
            yield f"{length} {code}", ARRAY, array(kind, *[one] * length)
    yield "text", STRING, text("none")
    for length in (0, 1, NUM_WORDS):
        yield f"{length} texts", ARRAY, array(STRING, *[text(f"word {at}") for at in range(length)])
    yield "arrays", ARRAY, array(ARRAY, array(STRING, text("none")))


VALUES = {name: (kind, body) for name, kind, body in every_value()}
EXTREMES = {
    **{f"low {code}": (kind, struct.pack(f"<{code}", -1)) for kind, code in FORMATS.items() if code in "bhiqfd"},
    **{f"high {code}": (kind, b"\xff" * struct.calcsize(code)) for kind, code in FORMATS.items() if code in "BHIQ"},
    "infinite": (12, struct.pack("<d", float("inf"))),
    "no number": (6, struct.pack("<f", float("nan"))),
    "zero": (4, bytes(4)),
}
OPTIONAL = {
    "general.alignment": 32,
    "llama.attention.key_length": 8,
    "llama.attention.value_length": 8,
    "llama.rope.dimension_count": 8,
    "llama.rope.scaling.type": "none",
    "tokenizer.ggml.add_bos_token": True,
    "tokenizer.ggml.eom_token_id": 2,
    "tokenizer.ggml.eot_token_id": 2,
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> GgufFile:
    return open_gguf(write_tiny_decoder(tmp_path_factory.mktemp("sound") / "sound.gguf"))


def encoded(value: Any) -> tuple[int, bytes]:
    if isinstance(value, str):
        return STRING, text(value)
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, np.ndarray):
        return ARRAY, array(5, *[struct.pack("<i", item) for item in value.tolist()])
    return ARRAY, array(STRING, *map(text, value))


def rewritten(sound: GgufFile, path: Path, changes: Mapping[str, tuple[int, bytes]]) -> Path:
    """The same file with some metadata values replaced."""
    values = {key: encoded(value) for key, value in (sound.metadata | OPTIONAL).items()} | dict(changes)
    lines, data = [], b""
    for info in sound.tensors.values():
        lines.append(tensor(info.name, info.shape[::-1], F32, len(data)))
        data += sound.raw(info.name).tobytes() + bytes(-info.num_bytes % 32)
    path.write_bytes(file_bytes([entry(key, *value) for key, value in values.items()], lines, data=data))
    return path


def load(path: Path) -> None:
    load_opened(open_gguf(path))


def load_opened(gguf: GgufFile) -> None:
    load_decoder(gguf, precision="native", kernels=EagerKernels())
    GgufTokenizer(gguf).encode_chat([Message("user", "Hello.")])


class Watched(dict[str, Any]):
    """Metadata that notes which keys are asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


KEYS = sorted(
    {
        "general.architecture",
        "llama.attention.head_count",
        "llama.attention.head_count_kv",
        "llama.attention.layer_norm_rms_epsilon",
        "llama.block_count",
        "llama.context_length",
        "llama.embedding_length",
        "llama.feed_forward_length",
        "llama.rope.freq_base",
        *OPTIONAL,
        *VOCABULARY,
    }
)


def test_the_file_loads_as_it_is(sound: GgufFile, tmp_path: Path) -> None:
    load(rewritten(sound, tmp_path / "same.gguf", {}))


def test_all_keys_that_are_read_are_tried(sound: GgufFile, tmp_path: Path) -> None:
    gguf = open_gguf(rewritten(sound, tmp_path / "same.gguf", {}))
    watched = Watched(gguf.metadata)
    load_opened(replace(gguf, metadata=watched))
    assert watched.read | {"general.alignment"} == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_a_value_of_any_type_serves_or_is_refused(sound: GgufFile, tmp_path: Path, key: str) -> None:
    refusals = []
    for number, value in enumerate((VALUES | EXTREMES).values()):
        try:
            load(rewritten(sound, tmp_path / f"{number}.gguf", {key: value}))
        except ArmillaryError as error:
            refusals.append(str(error))
    assert refusals
    assert all("\n" not in line and len(line) < 500 for line in refusals)


@pytest.mark.parametrize("key", KEYS)
def test_a_value_of_the_wrong_type_is_named_with_what_was_found_and_wanted(
    sound: GgufFile, tmp_path: Path, key: str
) -> None:
    wanted = encoded((sound.metadata | OPTIONAL)[key])
    other = VALUES["text"] if wanted[0] != STRING else VALUES["2 i"]
    found = "text" if wanted[0] != STRING else "an array of int32"
    with pytest.raises(ModelFileError, match=rf"{re.escape(repr(key))} is {found}, expected (a|text)"):
        load(rewritten(sound, tmp_path / "changed.gguf", {key: other}))
