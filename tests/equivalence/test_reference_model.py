"""In float32 the decoder is the reference implementation on the dequantised file; in int8 it stays close to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from armillary.bench import engine as bench
from armillary.bench.reference import load_reference
from armillary.bench.texts import PROMPTS

pytestmark = pytest.mark.model
NUM_THREADS = 1  # torch's threads stall each other on a busy machine


@pytest.fixture(scope="module")
def reference(smollm2_path: Path) -> Any:
    return load_reference(smollm2_path)


def test_float32_logits_are_those_of_the_reference(smollm2_path: Path, reference: Any) -> None:
    assert bench.logit_difference(smollm2_path, reference, NUM_THREADS) <= bench.MAX_LOGIT_DIFFERENCE


def test_float32_greedy_answers_are_those_of_the_reference(smollm2_path: Path, reference: Any) -> None:
    assert bench.count_equal_greedy(smollm2_path, reference, PROMPTS, NUM_THREADS) == len(PROMPTS) == 20


def test_native_precision_stays_close_to_float32(smollm2_path: Path) -> None:
    exact, _, _ = bench.position_logits(smollm2_path, "float32", NUM_THREADS)
    native, _, _ = bench.position_logits(smollm2_path, "native", NUM_THREADS)
    assert 0 < bench.divergence(exact, native) < 0.01
