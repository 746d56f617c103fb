"""The engine on SmolLM2: what holds for the toy model holds, at token level, for a real one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest
import torch
from toy_model import Answer, collect, plan, request

from armillary.attention.kv_cache import KvCache
from armillary.core.messages import ModelIdentity, Request, Token
from armillary.engine.engine import Engine
from armillary.engine.runner import DecoderRunner
from armillary.kernels.interface import BLOCK_TOKENS
from armillary.kernels.select import best_kernels
from armillary.models.decoder import Decoder
from armillary.models.gguf import open_gguf
from armillary.models.load import load_decoder
from armillary.models.tokenizer import GgufTokenizer

pytestmark = pytest.mark.model

PROMPTS = (
    "Name three colours.",
    "Write a Python function that adds two numbers.",
    "What is the capital of France? Answer in one word, then tell me why it became the capital.",
)


@pytest.fixture(scope="module")
def parts(smollm2_path: Path) -> Iterator[tuple[Decoder, GgufTokenizer]]:
    # Threads that wait for each other cost more than they bring where tests share the machine.
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    gguf = open_gguf(smollm2_path)
    yield load_decoder(gguf, precision="native", kernels=best_kernels(1)), GgufTokenizer(gguf)
    torch.set_num_threads(num_threads)


def engine_of(parts: tuple[Decoder, GgufTokenizer], **changes: int) -> Engine:
    decoder, tokenizer = parts
    sizes = plan(
        **{
            "block_size": BLOCK_TOKENS,
            "num_blocks": 64,
            "max_context_tokens": 512,
            "prefill_chunk_tokens": 128,
            **changes,
        }
    )
    runner = DecoderRunner(decoder, KvCache(decoder.config.shape, sizes.num_blocks))
    return Engine(runner, tokenizer, sizes, ModelIdentity("smollm2-135m"))


@pytest.fixture(scope="module")
def engine(parts: tuple[Decoder, GgufTokenizer]) -> Engine:
    return engine_of(parts)


def answer(engine: Engine, asked: Request) -> Answer:
    (only,) = collect(engine.stream(asked)).values()
    return only


@pytest.fixture(params=PROMPTS)
def prompt(request: pytest.FixtureRequest) -> str:
    text: str = request.param
    return text


def test_greedy_answers_repeat(engine: Engine, prompt: str) -> None:
    asked = request(prompt, max_tokens=12)
    assert answer(engine, asked) == answer(engine, asked)


def test_the_model_makes_sense(engine: Engine) -> None:
    assert "Paris" in answer(engine, request("What is the capital of France?", max_tokens=24)).text


def test_eight_candidates_together_say_what_each_says_alone(
    parts: tuple[Decoder, GgufTokenizer], engine: Engine, prompt: str
) -> None:
    asked = request(prompt, num_candidates=8, temperature=0.8, top_p=0.95, seed=11, max_tokens=10)
    one_at_a_time = engine_of(parts, max_batch_sequences=1)
    together = collect(engine.stream(asked))
    assert len({tuple(said.token_ids) for said in together.values()}) > 1
    assert together == collect(one_at_a_time.stream(asked))


def test_a_tight_pool_gives_the_tokens_of_an_ample_one(parts: tuple[Decoder, GgufTokenizer], engine: Engine) -> None:
    asked = request(PROMPTS[1], num_candidates=3, temperature=0.8, seed=2, max_tokens=24)
    tight = engine_of(parts, num_blocks=4)
    assert collect(tight.stream(asked)) == collect(engine.stream(asked))


@pytest.mark.parametrize("prefill_chunk_tokens", [1, 7, 32])
def test_the_prefill_chunk_does_not_change_the_answer(
    parts: tuple[Decoder, GgufTokenizer], engine: Engine, prefill_chunk_tokens: int
) -> None:
    asked = request(PROMPTS[0], max_tokens=12)
    assert answer(engine_of(parts, prefill_chunk_tokens=prefill_chunk_tokens), asked) == answer(engine, asked)


def test_a_stop_string_cuts_the_same_answer(engine: Engine) -> None:
    whole = answer(engine, request(PROMPTS[0], max_tokens=24))
    stop = whole.text[10:17]
    cut = answer(engine, request(PROMPTS[0], max_tokens=24, stop=(stop,)))
    assert (cut.text, cut.reason) == (whole.text[: whole.text.index(stop)], "stop")
    assert cut.token_ids == whole.token_ids[: len(cut.token_ids)]


def tokens_of(events: Iterator[object]) -> Sequence[Token]:
    return [event for event in events if isinstance(event, Token)]


def test_the_likeliest_tokens_share_no_more_than_all_the_probability(engine: Engine) -> None:
    for token in tokens_of(engine.stream(request(PROMPTS[0], max_tokens=8, num_logprobs=100))):
        mass = sum(math.exp(logprob) for _, logprob in token.alternatives)
        assert 0.5 < mass <= 1 + 1e-5
        assert token.alternatives[0] == (token.token_id, token.logprob)


def test_closing_the_stream_frees_every_block(parts: tuple[Decoder, GgufTokenizer]) -> None:
    engine = engine_of(parts)
    events = engine.stream(request(PROMPTS[1], num_candidates=8, temperature=1.0, max_tokens=20))
    list(islice(events, 12))
    assert engine.num_free_blocks < 64
    events.close()  # type: ignore[attr-defined]
    assert engine.num_free_blocks == 64
