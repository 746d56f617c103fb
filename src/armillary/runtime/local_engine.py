"""Put an engine together from a model file: probe, plan, kernels, weights, cache. Runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from armillary.core.messages import ModelIdentity
from armillary.core.plans import Precision

if TYPE_CHECKING:
    from armillary.engine.engine import Engine


def load_engine(
    path: Path,
    *,
    name: str,
    num_threads: int = 0,
    precision: Precision = "native",
    max_context_tokens: int | None = None,
) -> Engine:
    """Read a model and plan how this machine runs it.

    Args:
        path: a GGUF file.
        name: what to call the model in answers and traces.
        num_threads: 0 takes the cores that are free.
        precision: ``native`` multiplies the file's own integers, ``float32`` dequantises.
        max_context_tokens: tokens one sequence may hold; None takes the model's own limit.

    Raises:
        NotFoundError: no such file.
        ModelFileError: a damaged file or an unknown family.
        BudgetError: the memory does not hold the model.
    """
    import torch

    from armillary.attention.kv_cache import KvCache
    from armillary.engine.engine import Engine
    from armillary.engine.runner import DecoderRunner
    from armillary.hardware.planner import plan
    from armillary.hardware.probe import probe_machine
    from armillary.kernels.select import best_kernels
    from armillary.models.architectures import read_config
    from armillary.models.files import file_sha256
    from armillary.models.gguf import open_gguf
    from armillary.models.load import load_decoder
    from armillary.models.tokenizer import GgufTokenizer

    gguf = open_gguf(path)
    chosen = plan(
        probe_machine(),
        read_config(gguf.metadata).shape,
        weight_bytes=path.stat().st_size,
        num_threads=num_threads,
        precision=precision,
        max_context_tokens=max_context_tokens,
    )
    # The native kernels have threads of their own; a second pool that spins would fight them for the cores.
    torch.set_num_threads(1 if precision == "native" else chosen.num_threads)
    decoder = load_decoder(gguf, precision=precision, kernels=best_kernels(chosen.num_threads))
    runner = DecoderRunner(decoder, KvCache(decoder.config.shape, chosen.num_blocks))
    return Engine(runner, GgufTokenizer(gguf), chosen, ModelIdentity(name, file_sha256(path)))
