"""``armillary bench engine``: speed beside llama.cpp, distance from the dequantised model, parity with transformers.

Speed is taken through the engine's own stream, sampling included; llama.cpp only reads the tokens it is given, which is
its best case. Both run in turn, A B A B, and the medians are compared.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from armillary.bench.llama_peer import LlamaPeer
from armillary.bench.machine import MachineState, observe_machine, require_quiet
from armillary.bench.rows import RESULTS_FOLDER, Row, append_row, holds, is_partial_run
from armillary.bench.texts import LONG_QUESTION, PASSAGE, PROMPTS
from armillary.core.errors import UsageError
from armillary.core.messages import Message, Request, Sampling, Token
from armillary.core.plans import Precision
from armillary.core.settings import load_settings

if TYPE_CHECKING:
    from torch import Tensor

    from armillary.engine.engine import Engine

MODELS = ("smollm2-135m", "qwen2.5-coder-0.5b")
MAX_LOGIT_DIFFERENCE = 1e-3
PARITY_TOKENS = 64
MAX_CONTEXT_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Size:
    """How much to measure."""

    repeats: int
    decode_tokens: int
    prefill_tokens: int
    parity_prompts: int


QUICK = Size(repeats=3, decode_tokens=64, prefill_tokens=512, parity_prompts=2)
FULL = Size(repeats=5, decode_tokens=256, prefill_tokens=512, parity_prompts=len(PROMPTS))


class Numbers(NamedTuple):
    """Repeated measurements of one quantity, ours and llama.cpp's."""

    ours: list[float]
    peer: list[float]


class Peer(Protocol):
    """Another engine on the same file: reads the tokens that it is given and chooses none."""

    def time_decode(self, prompt: list[int], answer: list[int]) -> float:
        """Seconds to read ``answer`` token by token after the prompt."""
        ...

    def time_prefill(self, prompt: list[int]) -> float:
        """Seconds to read a prompt."""
        ...

    def save_logits(self, token_ids: list[int], path: Path) -> None:
        """Write the logits of every position as a ``.npy`` file of [T, vocab] float32."""
        ...


OpenPeer = Callable[[Path, int, int], AbstractContextManager[Peer]]


def run(*, quick: bool, data: Path | None, limit: int | None, noisy: bool) -> list[Row]:
    """Measure every model; each row is on disk as soon as it is known.

    Args:
        quick: the size that fits into minutes.
        data: not used by this topic.
        limit: models to measure, from the first.
        noisy: measure although others use the machine.

    Raises:
        UsageError: a data folder was given, or the machine is not quiet.
        NotFoundError: a model was not pulled, or llama-cpp-python is not installed.
    """
    if data is not None:
        raise UsageError("bench engine reads no data folder", hint="leave --data out")
    state = observe_machine()
    require_quiet(state, is_noise_allowed=noisy)
    size = QUICK if quick else FULL
    is_partial = is_partial_run(quick=quick, limit=limit, noisy=noisy, full_size=len(MODELS))
    path = RESULTS_FOLDER / "engine.jsonl"
    rows = []
    for model in MODELS[:limit]:
        for measured in measure_model(model, size, state):
            row = replace(measured, is_partial=is_partial)
            append_row(path, row)
            rows.append(row)
    return rows


def measure_model(model: str, size: Size, state: MachineState, open_peer: OpenPeer = LlamaPeer) -> Iterator[Row]:
    """Speed, distance and parity of one model.

    Args:
        model: registry name or path.
        size: how much to measure.
        state: the machine, whose cores are the threads of both engines.
        open_peer: from the file, the threads and the tokens of the context.

    Raises:
        NotFoundError: the model was not pulled, or the peer is not installed.
    """
    from armillary.models.hub import local_path
    from armillary.runtime.stack import models_folder

    path = local_path(model, models_folder(load_settings()))
    threads = state.num_cores
    reporter = _Reporter(model, threads, state)
    with open_peer(path, threads, MAX_CONTEXT_TOKENS) as peer:
        yield from _speed_rows(path, peer, size, reporter)
        yield from _distance_rows(path, peer, reporter)
    gc.collect()
    yield from _parity_rows(path, size, reporter)


@dataclass(frozen=True, slots=True)
class _Reporter:
    model: str
    threads: int
    state: MachineState

    def row(self, metric: str, value: float, unit: str, *, aim: str = "higher", **rest: Any) -> Row:
        target = rest.get("target")
        return Row(
            claim="engine",
            metric=f"{self.model}.{metric}",
            value=value,
            unit=unit,
            target=target,
            aim=aim,
            holds=holds(value, target, aim),
            baseline=rest.get("baseline", ""),
            n=rest.get("n", 1),
            interval=rest.get("interval"),
            threads=self.threads,
            load=self.state.load,
            hardware=self.state.hardware,
            commit=self.state.commit,
        )


def _speed_rows(path: Path, peer: Peer, size: Size, reporter: _Reporter) -> Iterator[Row]:
    engine = _engine(path, "native", reporter.threads)
    decode, prefill = time_both(engine, peer, size)
    for name, numbers in (("decode", decode), ("prefill", prefill)):
        ours, theirs = statistics.median(numbers.ours), statistics.median(numbers.peer)
        spread = (min(numbers.ours), max(numbers.ours))
        yield reporter.row(f"{name}.ours", ours, "tokens/s", n=len(numbers.ours), interval=spread)
        spread = (min(numbers.peer), max(numbers.peer))
        yield reporter.row(f"{name}.llama_cpp", theirs, "tokens/s", n=len(numbers.peer), interval=spread)
        baseline = f"llama.cpp {theirs:.1f} tokens/s, same file, {reporter.threads} threads"
        target = 1.0 if name == "decode" else None
        yield reporter.row(f"{name}.ratio", ours / theirs, "x", n=len(numbers.ours), target=target, baseline=baseline)


def time_both(engine: Engine, peer: Peer, size: Size) -> tuple[Numbers, Numbers]:
    """Tokens per second of decode and prefill, in turn, after one unmeasured round."""
    decode, prefill = Numbers([], []), Numbers([], [])
    for _ in range(size.repeats + 1):
        prompt, answer, seconds = time_decode(engine, size.decode_tokens)
        decode.ours.append(len(answer) / seconds)
        decode.peer.append(len(answer) / peer.time_decode(prompt, answer))
        tokens, seconds = time_prefill(engine, size.prefill_tokens)
        prefill.ours.append(len(tokens) / seconds)
        prefill.peer.append(len(tokens) / peer.time_prefill(tokens))
    return Numbers(decode.ours[1:], decode.peer[1:]), Numbers(prefill.ours[1:], prefill.peer[1:])


def time_decode(engine: Engine, num_tokens: int) -> tuple[list[int], list[int], float]:
    """Prompt ids, the answer's ids after its first token, and the seconds from the first token to the last."""
    messages = (Message("user", LONG_QUESTION),)
    request = Request(messages, Sampling(temperature=0.0, max_tokens=num_tokens + 1))
    tokens: list[int] = []
    started = ended = 0.0
    for event in engine.stream(request):
        if isinstance(event, Token) and event.token_id is not None:
            ended = time.perf_counter()
            started = started or ended
            tokens.append(event.token_id)
    return engine.tokenizer.encode_chat(messages), tokens[1:], ended - started


def time_prefill(engine: Engine, num_tokens: int) -> tuple[list[int], float]:
    """Prompt ids and the seconds to the first token of a prompt of about that many tokens."""
    words = engine.tokenizer.encode(PASSAGE * 4)[: num_tokens - 40]
    messages = (Message("user", engine.tokenizer.decode_bytes(words).decode(errors="replace")),)
    started = time.perf_counter()
    for _ in engine.stream(Request(messages, Sampling(max_tokens=1))):
        break
    return engine.tokenizer.encode_chat(messages), time.perf_counter() - started


def _distance_rows(path: Path, peer: Peer, reporter: _Reporter) -> Iterator[Row]:
    import numpy as np
    import torch

    exact, token_ids, _ = position_logits(path, "float32", reporter.threads)
    native, _, bytes_per_token = position_logits(path, "native", reporter.threads)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "logits.npy"
        peer.save_logits(token_ids, file)
        theirs = torch.from_numpy(np.load(file))
    baseline = "the dequantised model in float32"
    peer_distance = divergence(exact, theirs)
    size = len(token_ids)
    yield reporter.row("kl.llama_cpp", peer_distance, "nats", aim="lower", n=size, baseline=baseline)
    yield reporter.row(
        "kl.ours", divergence(exact, native), "nats", aim="lower", n=size, target=peer_distance, baseline=baseline
    )
    yield reporter.row("bytes_per_token", bytes_per_token / 1e6, "MB", aim="lower", baseline="weights read per token")


def position_logits(path: Path, precision: Precision, num_threads: int) -> tuple[Tensor, list[int], int]:
    """Logits [T, vocab] of every position of the passage, its token ids, and the weights' bytes per token."""
    import torch

    from armillary.attention.kv_cache import KvCache
    from armillary.core.shapes import blocks_for
    from armillary.engine.batch import Chunk
    from armillary.kernels.interface import BLOCK_TOKENS
    from armillary.kernels.select import best_kernels
    from armillary.models.gguf import open_gguf
    from armillary.models.load import load_decoder
    from armillary.models.tokenizer import GgufTokenizer

    gguf = open_gguf(path)
    token_ids = GgufTokenizer(gguf).encode(PASSAGE)
    decoder = load_decoder(gguf, precision=precision, kernels=best_kernels(num_threads))
    num_blocks = blocks_for(len(token_ids), BLOCK_TOKENS)
    torch.set_num_threads(num_threads)
    with torch.inference_mode():
        chunk = Chunk(token_ids, 0, list(range(num_blocks)))
        hidden = decoder.hidden([chunk], KvCache(decoder.config.shape, num_blocks))
        return decoder.logits(hidden), token_ids, decoder.weights.bytes_per_token


def divergence(exact: Tensor, other: Tensor) -> float:
    """Mean KL divergence in nats of ``other`` from ``exact``, both [T, vocab] logits."""
    reference, guess = exact.log_softmax(-1), other.log_softmax(-1)
    return float((reference.exp() * (reference - guess)).sum(-1).mean())


def _parity_rows(path: Path, size: Size, reporter: _Reporter) -> Iterator[Row]:
    from armillary.bench.reference import load_reference

    reference = load_reference(path)
    baseline = "transformers on the dequantised file, float32"
    difference = logit_difference(path, reference, reporter.threads)
    yield reporter.row(
        "parity.max_logit_difference",
        difference,
        "logits",
        aim="lower",
        target=MAX_LOGIT_DIFFERENCE,
        baseline=baseline,
    )
    prompts = PROMPTS[: size.parity_prompts]
    same = count_equal_greedy(path, reference, prompts, reporter.threads)
    yield reporter.row(
        "parity.equal_greedy_answers",
        same,
        f"of {len(prompts)}",
        target=len(prompts),
        n=len(prompts),
        baseline=f"{baseline}, {PARITY_TOKENS} tokens",
    )


def logit_difference(path: Path, reference: Any, num_threads: int) -> float:
    """Largest absolute difference of any logit at any position of the passage."""
    from armillary.bench.reference import reference_logits

    ours, token_ids, _ = position_logits(path, "float32", num_threads)
    return float((ours - reference_logits(reference, token_ids)).abs().max())


def count_equal_greedy(path: Path, reference: Any, prompts: tuple[str, ...], num_threads: int) -> int:
    """Prompts on which both write the same ``PARITY_TOKENS`` greedy tokens."""
    from armillary.bench.reference import follows_greedily

    engine = _engine(path, "float32", num_threads)
    same = 0
    for prompt in prompts:
        messages = (Message("user", prompt),)
        events = engine.stream(Request(messages, Sampling(max_tokens=PARITY_TOKENS)))
        answer = [event.token_id for event in events if isinstance(event, Token) and event.token_id is not None]
        same += follows_greedily(reference, engine.tokenizer.encode_chat(messages), answer)
    return same


def _engine(path: Path, precision: Precision, num_threads: int) -> Engine:
    from armillary.runtime.local_engine import load_engine

    return load_engine(
        path,
        name=path.name,
        num_threads=num_threads,
        precision=precision,
        max_context_tokens=MAX_CONTEXT_TOKENS,
    )
