"""Choose how a model runs on a machine: threads, context, KV blocks, batch. Pure; measures and allocates nothing."""

from __future__ import annotations

from armillary.core.errors import BudgetError, UsageError
from armillary.core.plans import Plan, Precision
from armillary.core.shapes import ModelShape, blocks_for
from armillary.hardware.probe import Machine

BLOCK_SIZE = 32
PREFILL_CHUNK_TOKENS = 512
MIN_BATCH_SEQUENCES = 8
MAX_BATCH_SEQUENCES = 16
KV_VALUE_BYTES = 4.0
RUNTIME_BYTES = 256 << 20
RESERVE_RATIO = 0.1


def plan(
    machine: Machine,
    shape: ModelShape,
    *,
    weight_bytes: int,
    num_threads: int = 0,
    precision: Precision = "native",
    max_context_tokens: int | None = None,
) -> Plan:
    """Choose once, before the engine starts.

    Args:
        machine: probed before the weights were loaded.
        shape: the model's shape.
        weight_bytes: size of the weights in their file.
        num_threads: threads to use; 0 takes the cores that are free.
        precision: kept as asked; ``float32`` needs memory for dequantised weights.
        max_context_tokens: tokens one sequence may hold; None takes the model's own limit.

    Returns:
        A plan whose weights, working memory and KV blocks fit the available memory, and whose blocks hold at least
        one full context.

    Raises:
        UsageError: more threads than allowed cores, a context beyond the model's, or a number below its least.
        BudgetError: the memory does not hold the weights and one full context.
    """
    threads, threads_reason = _choose_threads(machine, num_threads)
    context, context_reason = _choose_context(shape, max_context_tokens)
    fixed_bytes = _resident_weight_bytes(shape, weight_bytes, precision) + reserved_bytes(machine, shape)
    blocks_each = blocks_for(context, BLOCK_SIZE)
    block_bytes = BLOCK_SIZE * shape.kv_bytes_per_token(KV_VALUE_BYTES)
    affordable = max(0, machine.available_memory_bytes - fixed_bytes) // block_bytes
    if affordable < blocks_each:
        raise _too_small(machine, fixed_bytes, block_bytes, affordable=affordable, wanted=blocks_each)
    batch = min(MAX_BATCH_SEQUENCES, max(MIN_BATCH_SEQUENCES, affordable // blocks_each))
    num_blocks = min(affordable, batch * blocks_each)
    return Plan(
        num_threads=threads,
        precision=precision,
        block_size=BLOCK_SIZE,
        num_blocks=num_blocks,
        max_context_tokens=context,
        max_batch_sequences=batch,
        prefill_chunk_tokens=PREFILL_CHUNK_TOKENS,
        reasons=(
            threads_reason,
            f"precision {precision}: as asked; {_mib(fixed_bytes)} for weights, working memory and reserve",
            context_reason,
            f"{num_blocks} KV blocks of {BLOCK_SIZE} tokens: {_mib(num_blocks * block_bytes)} of "
            f"{_mib(machine.available_memory_bytes)} available, {num_blocks // blocks_each} full contexts",
            f"{batch} sequences at once: between {MIN_BATCH_SEQUENCES} and {MAX_BATCH_SEQUENCES}, "
            "as many full contexts as fit; shorter ones share the blocks",
            f"{PREFILL_CHUNK_TOKENS} prompt tokens per step: long products without holding up running answers",
        ),
    )


def reserved_bytes(machine: Machine, shape: ModelShape) -> int:
    """Memory that neither weights nor KV blocks may take: runtime, one step's activations and logits, and slack."""
    activations = PREFILL_CHUNK_TOKENS * (6 * shape.hidden_size + 3 * shape.ffn_size) * 4
    logits = MAX_BATCH_SEQUENCES * shape.vocab_size * 4 * 2
    return RUNTIME_BYTES + activations + logits + int(RESERVE_RATIO * machine.available_memory_bytes)


def _choose_threads(machine: Machine, asked: int) -> tuple[int, str]:
    allowed = machine.num_allowed_cores
    if asked < 0:
        raise UsageError(f"{asked} threads", hint="0 takes the free cores, 1 or more is taken as it is")
    if asked > allowed:
        raise UsageError(
            f"{asked} threads asked, this process may use {allowed} cores", hint=f"ask for at most {allowed}, or 0"
        )
    quota = "" if machine.cpu_quota_cores is None else f", quota {machine.cpu_quota_cores:g} cores"
    cores = f"{machine.num_free_cores} of {allowed} allowed cores free (others use {machine.busy_cores:g}{quota})"
    if asked:
        return asked, f"{asked} threads: as asked; {cores}"
    threads = min(allowed, max(1, machine.num_free_cores))
    return threads, f"{threads} threads: {cores}"


def _choose_context(shape: ModelShape, asked: int | None) -> tuple[int, str]:
    limit = shape.max_context_tokens
    if asked is None:
        return limit, f"context {limit} tokens: what the model was trained for"
    if not 1 <= asked <= limit:
        raise UsageError(f"context of {asked} tokens", hint=f"this model takes 1 to {limit}")
    return asked, f"context {asked} tokens: as asked; the model takes {limit}"


def _resident_weight_bytes(shape: ModelShape, weight_bytes: int, precision: Precision) -> int:
    return weight_bytes if precision == "native" else max(weight_bytes, 4 * shape.num_matrix_parameters)


def _too_small(machine: Machine, fixed_bytes: int, block_bytes: int, *, affordable: int, wanted: int) -> BudgetError:
    need = fixed_bytes + wanted * block_bytes
    hint = "free memory or take a smaller model"
    if affordable:
        hint += f", or ask for a context of at most {affordable * BLOCK_SIZE} tokens"
    return BudgetError(
        f"weights, working memory and one full context need {_mib(need)}, "
        f"{_mib(machine.available_memory_bytes)} are available",
        hint=hint,
    )


def _mib(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 20):,.0f} MiB"
