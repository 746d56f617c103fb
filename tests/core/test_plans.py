from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from armillary.core.plans import Plan


def test_a_plan_does_not_change_under_way() -> None:
    plan = Plan(
        num_threads=2,
        precision="native",
        block_size=32,
        num_blocks=64,
        max_context_tokens=1024,
        max_batch_sequences=8,
        prefill_chunk_tokens=512,
    )
    with pytest.raises(FrozenInstanceError):
        plan.num_threads = 3  # type: ignore[misc]  # the point of the test
    assert plan.reasons == ()
