"""Small GGUF files for tests: sound ones through the format's own writer, broken ones byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np

LETTERS = [
    *(chr(code) for code in (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))),
    *(chr(0x100 + at) for at in range(68)),
]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld"]
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WORDS = [*CONTROL, *LETTERS, *(merge.replace(" ", "") for merge in MERGES), "<tool>", "[unused]"]
TYPES = [3] * len(CONTROL) + [1] * (len(LETTERS) + len(MERGES)) + [4, 5]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY: dict[str, Any] = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": WORDS,
    "tokenizer.ggml.token_type": TYPES,
    "tokenizer.ggml.merges": MERGES,
    "tokenizer.ggml.bos_token_id": 0,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.chat_template": TEMPLATE,
}
_ADDERS: dict[type, str] = {str: "add_string", int: "add_uint32", bool: "add_bool", float: "add_float32"}


def write_gguf(
    path: Path,
    metadata: Mapping[str, Any] | None = None,
    tensors: Mapping[str, np.ndarray] | None = None,
    *,
    architecture: str = "llama",
) -> Path:
    """Write a sound file; None values are left out."""
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in (metadata or {}).items():
        if isinstance(value, list | np.ndarray):
            writer.add_array(key, value.tolist() if isinstance(value, np.ndarray) else value)
        elif value is not None:
            getattr(writer, _ADDERS[type(value)])(key, value)
    for name, values in (tensors or {}).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def text(value: str | bytes) -> bytes:
    """A string as the format stores it."""
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, kind: int, body: bytes) -> bytes:
    """One metadata value."""
    return text(key) + struct.pack("<I", kind) + body


def tensor(name: str, dimensions: Sequence[int], kind: int, offset: int) -> bytes:
    """One line of the tensor table."""
    shape = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
    return text(name) + shape + struct.pack("<IQ", kind, offset)


def file_bytes(
    entries: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    *,
    data: bytes = b"",
    magic: bytes = b"GGUF",
    version: int = 3,
) -> bytes:
    """A whole file from its parts, with the tensor area at a multiple of 32."""
    head = magic + struct.pack("<IQQ", version, len(tensors), len(entries)) + b"".join([*entries, *tensors])
    return head + bytes(-len(head) % 32) + data
