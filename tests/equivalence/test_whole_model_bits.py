"""With the native kernels the whole model gives the same bits however its tokens are batched and cut into chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from armillary.attention.kv_cache import KvCache
from armillary.engine.batch import Chunk
from armillary.engine.runner import DecoderRunner
from armillary.kernels.native import NativeKernels, instruction_sets
from armillary.models.gguf import open_gguf
from armillary.models.load import load_decoder

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not instruction_sets(), reason="the native kernels were not built: no C++ compiler"),
]
TOKENS = [(7919 * i) % 40_000 + 100 for i in range(150)]
OTHER = [(104_729 * i) % 40_000 + 100 for i in range(70)]
TABLE, OTHER_TABLE = [9, 3, 5, 0, 7], [1, 8, 2]

NewRunner = Callable[[], DecoderRunner]


@pytest.fixture(scope="module")
def new_runner(smollm2_path: Path) -> NewRunner:
    decoder = load_decoder(open_gguf(smollm2_path), precision="native", kernels=NativeKernels(2))
    return lambda: DecoderRunner(decoder, KvCache(decoder.config.shape, 10))


@pytest.fixture(scope="module")
def expected(new_runner: NewRunner) -> torch.Tensor:
    """Logits after all tokens, read in one piece."""
    return new_runner().step([Chunk(TOKENS, 0, TABLE)])[0]


def read(runner: DecoderRunner, edges: Sequence[int]) -> torch.Tensor:
    """Logits of the last piece, cut at the edges."""
    logits = torch.empty(0)
    for start, end in zip([0, *edges], [*edges, len(TOKENS)], strict=True):
        logits = runner.step([Chunk(TOKENS[start:end], start, TABLE)])[0]
    return logits


@pytest.mark.parametrize("edges", [[149], [1, 2, 3], [31, 32, 33, 64], [100], list(range(140, 150))])
def test_cutting_a_prompt_changes_no_bit(new_runner: NewRunner, expected: torch.Tensor, edges: list[int]) -> None:
    assert torch.equal(read(new_runner(), edges), expected)


def test_company_in_a_step_changes_no_bit(new_runner: NewRunner, expected: torch.Tensor) -> None:
    runner = new_runner()
    runner.step([Chunk(OTHER[:20], 0, OTHER_TABLE), Chunk(TOKENS[:-1], 0, TABLE)])
    logits = runner.step([Chunk(OTHER[20:], 20, OTHER_TABLE), Chunk(TOKENS[-1:], len(TOKENS) - 1, TABLE)])
    assert torch.equal(logits[1], expected)


def test_a_copied_block_changes_no_bit(new_runner: NewRunner, expected: torch.Tensor) -> None:
    runner = new_runner()
    runner.step([Chunk(TOKENS[:-1], 0, TABLE)])
    runner.copy_block(7, 4)
    assert torch.equal(runner.step([Chunk(TOKENS[-1:], len(TOKENS) - 1, [*TABLE[:-1], 4])])[0], expected)


@pytest.mark.parametrize("num_threads", [1, 3])
def test_the_number_of_threads_changes_no_bit(new_runner: NewRunner, expected: torch.Tensor, num_threads: int) -> None:
    runner = new_runner()
    NativeKernels(num_threads)
    assert torch.equal(read(runner, [40]), expected)
