"""A toy language model that answers from what it reads in its KV blocks, and its plain twin without any blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor

from armillary.core.messages import Event, Finished, Message, ModelIdentity, Request, Sampling
from armillary.core.messages import Token as TokenEvent
from armillary.core.plans import Plan
from armillary.core.shapes import blocks_for
from armillary.engine.batch import Chunk
from armillary.engine.engine import Engine
from armillary.engine.random_stream import RandomStream
from armillary.engine.sampler import choose

END_ID = 256
VOCAB_SIZE = 257
SPOKEN = (*b"abcdefgh ", 0xC3, 0xA9, END_ID)


def plan(**changes: int) -> Plan:
    sizes = {
        "block_size": 4,
        "num_blocks": 64,
        "max_context_tokens": 64,
        "max_batch_sequences": 8,
        "prefill_chunk_tokens": 5,
    }
    return Plan(num_threads=1, precision="float32", **(sizes | changes))  # type: ignore[arg-type]


def toy_logits(history: Sequence[int]) -> Tensor:
    """Logits that depend on every token of the history and its place."""
    digest = blake2b(",".join(map(str, history)).encode(), digest_size=8).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest, "little") >> 1)
    logits = torch.full((VOCAB_SIZE + 7,), -torch.inf)  # as with real models, the head is padded
    logits[VOCAB_SIZE:] = 50.0
    logits[list(SPOKEN)] = torch.randn(len(SPOKEN), generator=generator) * 2
    logits[END_ID] -= 2
    return logits


class ToyTokenizer:
    """Bytes are tokens; one control token ends the answer."""

    vocab_size = VOCAB_SIZE
    end_ids = frozenset({END_ID})

    def encode(self, text: str, *, allow_special: bool = False) -> list[int]:
        return list(text.encode())

    def decode_bytes(self, token_ids: Sequence[int]) -> bytes:
        return bytes(token for token in token_ids if token != END_ID)

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        return [token for message in messages for token in self.encode(message.content)]


class ToyRunner:
    """Keeps token ids where a model would keep keys and values, and believes only what it reads there."""

    def __init__(self, sizes: Plan) -> None:
        self.block_size = sizes.block_size
        self.blocks: list[list[int | None]] = [[None] * sizes.block_size for _ in range(sizes.num_blocks)]
        self.num_tokens_run = 0
        self.batches: list[list[Chunk]] = []

    def step(self, chunks: Sequence[Chunk]) -> Tensor:
        assert chunks
        self.batches.append(list(chunks))
        for chunk in chunks:
            self._write(chunk)
        return torch.stack([toy_logits(self._read(chunk)) for chunk in chunks])

    def copy_block(self, source: int, target: int) -> None:
        self.blocks[target] = list(self.blocks[source])

    def _write(self, chunk: Chunk) -> None:
        end = chunk.start + len(chunk.token_ids)
        assert len(chunk.block_table) == blocks_for(end, self.block_size)
        for position, token in enumerate(chunk.token_ids, start=chunk.start):
            self.blocks[chunk.block_table[position // self.block_size]][position % self.block_size] = token
        self.num_tokens_run += len(chunk.token_ids)

    def _read(self, chunk: Chunk) -> list[int]:
        end = chunk.start + len(chunk.token_ids)
        slots = [slot for block in chunk.block_table for slot in self.blocks[block]][:end]
        history = [slot for slot in slots if slot is not None]
        assert len(history) == end, "a position was read before it was written"
        return history


@dataclass
class Answer:
    """What one candidate said."""

    token_ids: list[int]
    text: str
    reason: str


def toy_engine(**changes: int) -> tuple[Engine, ToyRunner]:
    sizes = plan(**changes)
    runner = ToyRunner(sizes)
    return Engine(runner, ToyTokenizer(), sizes, ModelIdentity("toy")), runner


def request(prompt: str = "abcdefg", *, num_candidates: int = 1, **sampling: object) -> Request:
    return Request((Message("user", prompt),), Sampling(**sampling), num_candidates)  # type: ignore[arg-type]


def collect(events: Iterator[Event]) -> dict[int, Answer]:
    """Gather the events of each candidate, checking that nothing follows its last."""
    answers: dict[int, Answer] = {}
    for event in events:
        answer = answers.setdefault(event.candidate, Answer([], "", ""))
        assert not answer.reason, "an event after Finished"
        if isinstance(event, TokenEvent):
            assert event.token_id is not None
            answer.token_ids.append(event.token_id)
            answer.text += event.text
        else:
            assert isinstance(event, Finished)
            answer.reason = event.reason
    return dict(sorted(answers.items()))


def answers_without_blocks(asked: Request, *, max_context_tokens: int = 64) -> dict[int, Answer]:
    """The slow twin of the engine: one candidate after another, everything read anew for every token."""
    return {index: _answer_alone(asked, index, max_context_tokens) for index in range(asked.num_candidates)}


def _answer_alone(asked: Request, candidate: int, max_context_tokens: int) -> Answer:
    tokenizer, sampling = ToyTokenizer(), asked.sampling
    prompt = tokenizer.encode_chat(asked.messages)
    random = RandomStream(sampling.seed, candidate)
    written: list[int] = []
    while True:
        history = prompt + written
        choice = choose(toy_logits(history)[:VOCAB_SIZE], sampling, draw=random.draw, seen_ids=set(history))
        written.append(choice.token_id)
        text = tokenizer.decode_bytes(written).decode(errors="replace")
        cut = cut_at_first_stop(text, sampling.stop)
        if cut is not None or choice.token_id == END_ID:
            return Answer(written, text if cut is None else cut, "stop")
        if len(written) == sampling.max_tokens or len(prompt) + len(written) == max_context_tokens:
            return Answer(written, text, "length")


def cut_at_first_stop(text: str, stop: Sequence[str]) -> str | None:
    """Read letter by letter; None if no stop string appears."""
    for end in range(1, len(text) + 1):
        for string in sorted(stop, key=len, reverse=True):
            if text[:end].endswith(string):
                return text[: end - len(string)]
    return None
