"""Fixtures of the model tests: tiny files with a real form, and the tokenizer of one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gguf_files import VOCABULARY, write_gguf

from armillary.models.gguf import GgufFile, open_gguf
from armillary.models.tokenizer import GgufTokenizer


@pytest.fixture
def tiny_path(tmp_path: Path) -> Path:
    """A sound file with a vocabulary and two tensors."""
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensors = {"matrix": matrix, "vector": np.ones(4, dtype=np.float16)}
    return write_gguf(tmp_path / "tiny.gguf", VOCABULARY | {"llama.block_count": 1}, tensors)


@pytest.fixture
def tiny(tiny_path: Path) -> GgufFile:
    """That file, opened."""
    return open_gguf(tiny_path)


@pytest.fixture
def tokenizer(tiny: GgufFile) -> GgufTokenizer:
    """The tokenizer of that file."""
    return GgufTokenizer(tiny)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for the whole package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    return folder


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A models folder that does not exist yet."""
    return tmp_path / "home" / "models"
