"""llama.cpp in a process of its own: what is asked, what is timed, and what happens where it is absent or dies."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_llama import BROKEN, VOCAB_SIZE, FakeLlama
from reason_fakes import Clock
from tiny_gguf import write_tiny_decoder

from armillary.bench import llama_peer
from armillary.bench.llama_peer import LlamaPeer, serve
from armillary.core.errors import NotFoundError

CONTEXT_TOKENS = 64


def test_without_the_package_the_way_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(NotFoundError, match=r"llama-cpp-python is not installed.*armillary\[bench\]"):
        LlamaPeer(Path("model.gguf"), 1, CONTEXT_TOKENS)


@pytest.fixture
def _fake_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our processes and this one find a ``llama_cpp`` that is the fake."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "llama_cpp.py").write_text("from fake_llama import FakeLlama as Llama\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), str(Path(__file__).parent))))
    monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("_fake_package")
def test_the_peer_answers_from_its_own_process(tmp_path: Path) -> None:
    file = tmp_path / "logits.npy"
    with LlamaPeer(tmp_path / "model.gguf", 1, CONTEXT_TOKENS) as peer:
        assert peer.time_decode([1, 2], [3]) >= 0
        assert peer.time_prefill([1, 2]) >= 0
        peer.save_logits([4, 5, 6], file)
    assert np.load(file)[:, 0].tolist() == [4, 5, 6]


@pytest.mark.usefixtures("_fake_package")
def test_a_process_that_died_is_reported_however_often_it_is_asked(tmp_path: Path) -> None:
    with LlamaPeer(tmp_path / BROKEN, 1, CONTEXT_TOKENS) as peer:
        for _ in range(3):
            with pytest.raises(NotFoundError, match="ended without an answer"):
                peer.time_prefill([1])


Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Serve questions in this process, on a clock that only the fake moves; gives the answers."""
    clock = Clock()
    monkeypatch.setattr(FakeLlama, "clock", clock)
    monkeypatch.setattr(FakeLlama, "made", [])
    monkeypatch.setattr(llama_peer, "time", SimpleNamespace(perf_counter=clock))
    monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=FakeLlama))

    def answers(*questions: dict[str, Any]) -> list[dict[str, Any]]:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(json.dumps(question) + "\n" for question in questions)))
        serve("model.gguf", 2, CONTEXT_TOKENS)
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return answers


def test_decode_is_timed_without_the_prompt(ask: Ask) -> None:
    assert ask({"do": "decode", "prompt": [1, 2, 3, 4, 5], "answer": [6, 7]}) == [{"seconds": 2.0}]


def test_prefill_is_timed_over_the_whole_prompt(ask: Ask) -> None:
    assert ask({"do": "prefill", "prompt": [1, 2, 3, 4, 5]}) == [{"seconds": 5.0}]


def test_every_question_starts_from_an_empty_cache(ask: Ask) -> None:
    prompt = list(range(CONTEXT_TOKENS))
    assert ask(*[{"do": "prefill", "prompt": prompt}] * 2) == [{"seconds": float(CONTEXT_TOKENS)}] * 2


def test_logits_are_saved_for_the_positions_of_the_prompt_alone(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "logits.npy"
    assert ask({"do": "logits", "prompt": [4, 5, 6], "path": str(path)}) == [{}]
    logits = np.load(path)
    assert (logits.shape, logits.dtype) == ((3, VOCAB_SIZE), np.float32)
    assert logits[:, 0].tolist() == [4, 5, 6]


def test_the_timed_model_keeps_no_logits_and_has_our_threads_for_both_phases(ask: Ask, tmp_path: Path) -> None:
    ask({"do": "prefill", "prompt": [1]}, {"do": "logits", "prompt": [1], "path": str(tmp_path / "logits.npy")})
    timed, with_logits = FakeLlama.made
    assert (timed["n_threads"], timed["n_threads_batch"], timed["n_ctx"]) == (2, 2, CONTEXT_TOKENS)
    assert "logits_all" not in timed
    assert with_logits == timed | {"logits_all": True}


@pytest.mark.skipif(find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_the_real_llama_cpp_reads_our_file(tmp_path: Path) -> None:
    file = tmp_path / "logits.npy"
    with LlamaPeer(write_tiny_decoder(tmp_path / "tiny.gguf"), 1, CONTEXT_TOKENS) as peer:
        assert peer.time_decode([5, 6], [7, 8]) > 0
        assert peer.time_prefill([5, 6, 7]) > 0
        peer.save_logits([5, 6, 7], file)
    logits = np.load(file)
    assert len(logits) == 3
    assert np.isfinite(logits).all()
