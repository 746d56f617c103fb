"""The table of known models is complete, and a misspelt name is helped."""

from __future__ import annotations

import re

import pytest

from armillary.core.errors import ExitCode, NotFoundError
from armillary.models.registry import find, known_models


def test_both_models_of_the_design_are_known() -> None:
    assert [entry.name for entry in known_models()] == ["smollm2-135m", "qwen2.5-coder-0.5b"]


@pytest.mark.parametrize("entry", known_models(), ids=lambda entry: entry.name)
def test_the_carriers_pieces_make_up_the_file(entry) -> None:
    assert sum(carrier.num_bytes for carrier in entry.carriers) == entry.num_bytes
    assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
    assert entry.file_name == f"{entry.name}.gguf"


def test_a_name_finds_its_model() -> None:
    hub = find("qwen2.5-coder-0.5b").hub
    assert hub is not None
    assert hub.repository == "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF"


def test_an_unknown_name_is_told_the_nearest_and_all() -> None:
    with pytest.raises(NotFoundError, match=r"did you mean smollm2-135m\? known: smollm2-135m, qwen2") as caught:
        find("smollm-135m")
    assert caught.value.exit_code == ExitCode.NOT_FOUND


def test_a_name_like_no_other_is_told_all() -> None:
    with pytest.raises(NotFoundError, match=r"'zzz' \(known: "):
        find("zzz")
