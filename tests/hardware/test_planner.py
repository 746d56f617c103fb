from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.core.errors import BudgetError, ExitCode, UsageError
from armillary.core.plans import Plan, Precision
from armillary.core.shapes import ModelShape, blocks_for
from armillary.hardware.planner import KV_VALUE_BYTES, plan, reserved_bytes
from armillary.hardware.probe import Machine

GIB = 1 << 30
MACHINE = Machine(
    cpu_model="test",
    kernel="Linux 6",
    num_logical_cores=8,
    num_allowed_cores=4,
    cpu_quota_cores=None,
    busy_cores=0.0,
    num_free_cores=4,
    steal_ratio=0.0,
    cpu_flags=frozenset(),
    caches=(),
    total_memory_bytes=16 * GIB,
    available_memory_bytes=8 * GIB,
)
SMOLLM2 = ModelShape(
    num_layers=30,
    hidden_size=576,
    num_heads=9,
    num_kv_heads=3,
    head_dim=64,
    ffn_size=1536,
    vocab_size=49152,
    max_context_tokens=8192,
)
SMOLLM2_BYTES = 98362432


def _bytes_of(machine: Machine, shape: ModelShape, chosen: Plan, weight_bytes: int) -> int:
    kv_bytes = chosen.num_blocks * chosen.block_size * shape.kv_bytes_per_token(KV_VALUE_BYTES)
    return weight_bytes + reserved_bytes(machine, shape) + kv_bytes


@pytest.mark.parametrize(
    ("free", "asked", "threads"),
    [(4, 0, 4), (2, 0, 2), (0, 0, 1), (1, 4, 4), (4, 1, 1)],
    ids=["all free", "some free", "none free", "more than free", "fewer than free"],
)
def test_threads_are_the_free_cores_unless_asked(free: int, asked: int, threads: int) -> None:
    machine = replace(MACHINE, num_free_cores=free)
    assert plan(machine, SMOLLM2, weight_bytes=SMOLLM2_BYTES, num_threads=asked).num_threads == threads


@pytest.mark.parametrize(
    ("threads", "message"),
    [
        (5, "5 threads asked, this process may use 4 cores (ask for at most 4, or 0)"),
        (-1, "-1 threads (0 takes the free cores, 1 or more is taken as it is)"),
    ],
)
def test_impossible_threads_are_a_usage_error(threads: int, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        plan(MACHINE, SMOLLM2, weight_bytes=SMOLLM2_BYTES, num_threads=threads)


@pytest.mark.parametrize(("asked", "context"), [(None, 8192), (8192, 8192), (1000, 1000), (1, 1)])
def test_the_context_is_the_model_s_unless_less_is_asked(asked: int | None, context: int) -> None:
    chosen = plan(MACHINE, SMOLLM2, weight_bytes=SMOLLM2_BYTES, max_context_tokens=asked)
    assert chosen.max_context_tokens == context


@pytest.mark.parametrize("asked", [8193, 0, -5])
def test_a_context_that_the_model_does_not_take_is_a_usage_error(asked: int) -> None:
    with pytest.raises(UsageError, match=rf"^context of {asked} tokens \(this model takes 1 to 8192\)$"):
        plan(MACHINE, SMOLLM2, weight_bytes=SMOLLM2_BYTES, max_context_tokens=asked)


@pytest.mark.parametrize(
    ("available_gib", "batch", "num_blocks"),
    [(16, 16, 4096), (5, 11, 2816), (1.5, 8, 718), (1, 8, 391)],
    ids=["plenty", "eleven contexts", "fewer than eight contexts", "one context and a half"],
)
def test_blocks_and_batch_follow_the_memory(available_gib: float, batch: int, num_blocks: int) -> None:
    machine = replace(MACHINE, available_memory_bytes=int(available_gib * GIB))
    chosen = plan(machine, SMOLLM2, weight_bytes=SMOLLM2_BYTES)
    assert (chosen.max_batch_sequences, chosen.num_blocks) == (batch, num_blocks)


def test_float32_pays_for_dequantised_weights() -> None:
    machine = replace(MACHINE, available_memory_bytes=2 * GIB)
    native, exact = (
        plan(machine, SMOLLM2, weight_bytes=SMOLLM2_BYTES, precision=precision) for precision in ("native", "float32")
    )
    saved = 4 * SMOLLM2.num_matrix_parameters - SMOLLM2_BYTES
    block_bytes = exact.block_size * SMOLLM2.kv_bytes_per_token(KV_VALUE_BYTES)
    assert exact.precision == "float32"
    assert native.num_blocks - exact.num_blocks == pytest.approx(saved / block_bytes, abs=1)


def test_too_little_memory_names_need_and_have_and_the_context_that_fits() -> None:
    machine = replace(MACHINE, available_memory_bytes=700 << 20)
    with pytest.raises(BudgetError) as caught:
        plan(machine, SMOLLM2, weight_bytes=SMOLLM2_BYTES)
    assert caught.value.exit_code == ExitCode.BUDGET
    found = re.fullmatch(
        r"weights, working memory and one full context need ([\d,]+) MiB, 700 MiB are available "
        r"\(free memory or take a smaller model, or ask for a context of at most (\d+) tokens\)",
        str(caught.value),
    )
    assert found is not None
    assert int(found[1]) > 700
    assert plan(machine, SMOLLM2, weight_bytes=SMOLLM2_BYTES, max_context_tokens=int(found[2]))


def test_memory_that_does_not_even_hold_the_weights_offers_no_context() -> None:
    machine = replace(MACHINE, available_memory_bytes=50 << 20)
    with pytest.raises(BudgetError, match=r"\(free memory or take a smaller model\)$"):
        plan(machine, SMOLLM2, weight_bytes=SMOLLM2_BYTES)


def test_every_choice_has_its_reason() -> None:
    machine = replace(MACHINE, num_free_cores=2, busy_cores=0.5, cpu_quota_cores=2.5)
    assert plan(machine, SMOLLM2, weight_bytes=SMOLLM2_BYTES, max_context_tokens=4096).reasons == (
        "2 threads: 2 of 4 allowed cores free (others use 0.5, quota 2.5 cores)",
        "precision native: as asked; 1,191 MiB for weights, working memory and reserve",
        "context 4096 tokens: as asked; the model takes 8192",
        "2048 KV blocks of 32 tokens: 2,880 MiB of 8,192 MiB available, 16 full contexts",
        "16 sequences at once: between 8 and 16, as many full contexts as fit; shorter ones share the blocks",
        "512 prompt tokens per step: long products without holding up running answers",
    )


SHAPES = st.builds(
    ModelShape,
    num_layers=st.integers(1, 80),
    hidden_size=st.integers(64, 8192),
    num_heads=st.integers(1, 64),
    num_kv_heads=st.integers(1, 16),
    head_dim=st.sampled_from([32, 64, 128]),
    ffn_size=st.integers(64, 32768),
    vocab_size=st.integers(256, 200_000),
    max_context_tokens=st.integers(1, 131_072),
)


@given(
    shape=SHAPES,
    available=st.integers(0, 256 * GIB),
    weights=st.integers(0, 128 * GIB),
    free=st.integers(0, 4),
    precision=st.sampled_from(["native", "float32"]),
)
def test_a_plan_fits_the_memory_and_holds_a_full_context_or_there_is_none(
    shape: ModelShape, available: int, weights: int, free: int, precision: Precision
) -> None:
    machine = replace(MACHINE, available_memory_bytes=available, num_free_cores=free)
    resident = weights if precision == "native" else max(weights, 4 * shape.num_matrix_parameters)
    try:
        chosen = plan(machine, shape, weight_bytes=weights, precision=precision)
    except BudgetError:
        smallest = replace(MACHINE, available_memory_bytes=available)
        least_bytes = resident + reserved_bytes(smallest, shape)
        least_bytes += blocks_for(shape.max_context_tokens, 32) * 32 * shape.kv_bytes_per_token()
        assert least_bytes > available
        return
    blocks_each = blocks_for(chosen.max_context_tokens, chosen.block_size)
    assert blocks_each <= chosen.num_blocks <= chosen.max_batch_sequences * blocks_each
    assert _bytes_of(machine, shape, chosen, resident) <= available
    assert 8 <= chosen.max_batch_sequences <= 16
    assert 1 <= chosen.num_threads <= machine.num_allowed_cores
    assert all("\n" not in reason for reason in chosen.reasons)


@given(shape=SHAPES, available=st.integers(0, 256 * GIB), more=st.integers(0, 64 * GIB))
def test_more_memory_never_plans_fewer_blocks(shape: ModelShape, available: int, more: int) -> None:
    try:
        small = plan(replace(MACHINE, available_memory_bytes=available), shape, weight_bytes=GIB)
    except BudgetError:
        return
    large = plan(replace(MACHINE, available_memory_bytes=available + more), shape, weight_bytes=GIB)
    assert large.num_blocks >= small.num_blocks
