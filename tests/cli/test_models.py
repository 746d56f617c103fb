"""The table of models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armillary.models.registry import find

Run = Callable[..., Any]


def test_known_models_are_listed_before_they_are_pulled(armillary: Run) -> None:
    lines = armillary("models").out.splitlines()
    assert lines[0].split() == ["name", "size", "context", "licence", "sha256", "here", "about"]
    assert lines[1].split()[:7] == ["smollm2-135m", "98.4", "MB", "8192", "Apache-2.0", "b179c9523d0e", "no"]


def test_files_that_no_name_stands_for_are_listed_by_path(armillary: Run, home: Path) -> None:
    (home / "models").mkdir(parents=True)
    own = home / "models" / "own.gguf"
    own.write_bytes(b"GGUF")
    (home / "models" / "folder.gguf").mkdir()
    rows = armillary("models", "--json").json["models"]
    assert [row["name"] for row in rows] == ["smollm2-135m", "qwen2.5-coder-0.5b", str(own)]
    assert (rows[-1]["num_bytes"], len(rows[-1]["sha256"])) == (4, 64)


def test_a_truncated_file_is_told(armillary: Run, home: Path) -> None:
    (home / "models").mkdir(parents=True)
    (home / "models" / "smollm2-135m.gguf").write_bytes(b"GGUF")
    assert "has 4 bytes: remove it and pull again" in armillary("models").out


def test_a_file_of_the_right_size_with_another_hash_is_not_called_here(armillary: Run, home: Path) -> None:
    (home / "models").mkdir(parents=True)
    with (home / "models" / "smollm2-135m.gguf").open("wb") as file:
        file.truncate(find("smollm2-135m").num_bytes)
    line = armillary("models").out.splitlines()[1]
    assert "hash differs: remove it and pull again" in line
    assert " yes " not in line


@pytest.mark.model
def test_a_pulled_model_is_here(armillary: Run, real_model: str) -> None:
    row = armillary("models", "--json").json["models"][0]
    assert (row["name"], row["note"]) == (real_model, "")
    assert row["path"].endswith("smollm2-135m.gguf")
