"""The reference reads every form of file that the decoder reads, and computes the same numbers from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tiny_gguf import VOCAB_SIZE, write_tiny_decoder

from armillary.bench.engine import MAX_LOGIT_DIFFERENCE, logit_difference
from armillary.bench.reference import follows_greedily, load_reference, reference_logits


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(num_threads)


@pytest.mark.parametrize("has_own_head", [False, True])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_the_decoder_agrees_with_the_reference(tmp_path: Path, family: str, has_own_head: bool) -> None:
    path = write_tiny_decoder(tmp_path / "tiny.gguf", family, has_own_head=has_own_head)
    assert logit_difference(path, load_reference(path), 1) <= MAX_LOGIT_DIFFERENCE


def test_a_head_of_its_own_gives_other_logits_than_the_embedding(tmp_path: Path) -> None:
    shared, own = (
        reference_logits(
            load_reference(write_tiny_decoder(tmp_path / f"{has_own_head}.gguf", has_own_head=has_own_head)), [5, 6, 7]
        )
        for has_own_head in (False, True)
    )
    assert shared.shape == own.shape == (3, VOCAB_SIZE)
    assert not torch.allclose(shared, own)


def test_only_the_greedy_answer_is_followed(tmp_path: Path) -> None:
    model = load_reference(write_tiny_decoder(tmp_path / "tiny.gguf"))
    prompt, answer = [5, 6, 7], list[int]()
    for _ in range(6):
        answer.append(int(reference_logits(model, prompt + answer)[-1].argmax()))
    assert follows_greedily(model, prompt, answer)
    for position in range(len(answer)):
        changed = [*answer[:position], (answer[position] + 1) % VOCAB_SIZE, *answer[position + 1 :]]
        assert not follows_greedily(model, prompt, changed)
