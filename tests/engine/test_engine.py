"""The engine says what each candidate would say alone, token by token, and leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from toy_model import END_ID, ToyRunner, ToyTokenizer, answers_without_blocks, collect, plan, request, toy_engine

from armillary.core.errors import CacheFullError, ContextLengthError, UsageError
from armillary.core.messages import Finished, Message, ModelIdentity, Request, Token, Usage
from armillary.core.shapes import blocks_for
from armillary.engine.batch import Chunk
from armillary.engine.engine import Engine

WARM = {"temperature": 1.0, "seed": 3, "max_tokens": 20}


@settings(max_examples=80, deadline=None)
@given(
    prompt=st.text("abcdefgh", min_size=1, max_size=14),
    num_candidates=st.integers(1, 7),
    seed=st.integers(0, 99),
    block_size=st.integers(1, 5),
    num_spare_blocks=st.integers(0, 12),
    batch=st.integers(1, 6),
    prefill=st.integers(1, 9),
)
def test_every_candidate_says_what_it_would_say_alone(
    prompt: str, num_candidates: int, seed: int, block_size: int, num_spare_blocks: int, batch: int, prefill: int
) -> None:
    sampling = {"temperature": 1.0, "top_p": 0.9, "repetition_penalty": 1.1, "stop": ("aha", "é"), "max_tokens": 24}
    asked = request(prompt, num_candidates=num_candidates, seed=seed, **sampling)
    num_blocks = blocks_for(29, block_size) + num_spare_blocks
    engine, _ = toy_engine(
        num_blocks=num_blocks,
        block_size=block_size,
        max_batch_sequences=batch,
        prefill_chunk_tokens=prefill,
        max_context_tokens=30,
    )
    assert collect(engine.stream(asked)) == answers_without_blocks(asked, max_context_tokens=30)
    assert engine.num_free_blocks == num_blocks


def test_a_tight_pool_gives_the_tokens_of_an_ample_one() -> None:
    asked = request("abcdef", num_candidates=5, temperature=1.0, seed=8, max_tokens=30)
    tight, tight_runner = toy_engine(num_blocks=9)
    ample, ample_runner = toy_engine(num_blocks=64)
    assert collect(tight.stream(asked)) == collect(ample.stream(asked))
    assert tight_runner.num_tokens_run > ample_runner.num_tokens_run, "the tight pool never had to read again"
    assert tight.num_free_blocks == 9


def test_a_candidate_does_not_depend_on_how_many_others_there_are() -> None:
    engine, _ = toy_engine()
    alone = collect(engine.stream(request(num_candidates=1, **WARM)))
    among_others = collect(engine.stream(request(num_candidates=6, **WARM)))
    assert among_others[0] == alone[0]


def test_candidates_differ_from_each_other_and_repeat_with_the_seed() -> None:
    engine, _ = toy_engine()
    first = collect(engine.stream(request(num_candidates=4, **WARM)))
    assert len({tuple(answer.token_ids) for answer in first.values()}) > 1
    assert collect(engine.stream(request(num_candidates=4, **WARM))) == first


def test_candidates_may_be_asked_for_in_several_requests() -> None:
    engine, _ = toy_engine()
    together = collect(engine.stream(request(num_candidates=5, **WARM)))
    later = collect(engine.stream(replace(request(num_candidates=2, **WARM), first_candidate=3)))
    assert [later[0], later[1]] == [together[3], together[4]]


def test_the_prompt_is_read_once_for_all_candidates() -> None:
    engine, runner = toy_engine()
    answers = collect(engine.stream(request("abcdefgh", num_candidates=4, **WARM)))
    num_written = sum(len(answer.token_ids) for answer in answers.values())
    # The last token of each is never read.
    assert runner.num_tokens_run == 8 + num_written - 4


def test_candidates_are_decoded_together_up_to_the_batch_size() -> None:
    engine, runner = toy_engine(max_batch_sequences=3)
    collect(engine.stream(request(num_candidates=6, **WARM)))
    assert max(len(batch) for batch in runner.batches) == 3


def test_each_candidate_ends_with_its_usage_and_the_prompt_is_counted_once() -> None:
    engine, _ = toy_engine()
    events = list(engine.stream(request("abcdef", num_candidates=2, temperature=0.0, max_tokens=3, stop=())))
    finished = [event for event in events if isinstance(event, Finished)]
    assert [event.usage.prompt_tokens for event in finished] == [6, 0]
    num_tokens = sum(isinstance(event, Token) for event in events)
    assert sum((event.usage for event in finished), Usage()).completion_tokens == num_tokens


def test_max_tokens_ends_with_reason_length() -> None:
    engine, _ = toy_engine()
    answers = collect(engine.stream(request(num_candidates=8, temperature=1.0, max_tokens=2)))
    assert {(len(answer.token_ids), answer.reason) for answer in answers.values()} >= {(2, "length")}


class ScriptedRunner(ToyRunner):
    """Says a fixed text, one byte a token, whatever the prompt."""

    def __init__(self, script: Sequence[int], prompt_length: int, **changes: int) -> None:
        super().__init__(plan(**changes))
        self.script = script
        self.prompt_length = prompt_length

    def step(self, chunks: Sequence[Chunk]) -> Tensor:
        logits = torch.zeros_like(super().step(chunks))
        for row, chunk in enumerate(chunks):
            index = chunk.start + len(chunk.token_ids) - self.prompt_length
            logits[row, self.script[index]] = 9.0 if index >= 0 else 0.0
        return logits


def scripted(text: bytes, **sampling: object) -> list[Token | Finished]:
    runner = ScriptedRunner([*text, END_ID], 1)
    engine = Engine(runner, ToyTokenizer(), plan(), ModelIdentity("script"))
    return list(engine.stream(request("p", **sampling)))


def texts(events: Sequence[Token | Finished]) -> list[str]:
    return [event.text for event in events if isinstance(event, Token)]


def test_an_end_token_stops_the_answer_and_is_counted() -> None:
    events = scripted(b"hi")
    assert texts(events) == ["h", "i", ""]
    assert events[-1] == Finished(0, "stop", Usage(1, 3))


def test_a_stop_string_over_several_tokens_is_not_shown() -> None:
    events = scripted(b"xENDy", stop=("END",))
    assert texts(events) == ["x", "", "", ""]
    assert events[-1] == Finished(0, "stop", Usage(1, 4))


def test_text_that_was_held_back_comes_with_the_last_token() -> None:
    assert texts(scripted(b"xEN", stop=("END",))) == ["x", "", "", "EN"]


def test_half_a_character_at_the_end_is_replaced() -> None:
    assert texts(scripted("é".encode(), max_tokens=1)) == ["\ufffd"]


def test_an_answer_that_reaches_the_end_of_the_context_has_reason_length() -> None:
    runner = ScriptedRunner(b"a" * 50, 1, max_context_tokens=8)
    engine = Engine(runner, ToyTokenizer(), runner_plan := plan(max_context_tokens=8), ModelIdentity("script"))
    (answer,) = collect(engine.stream(request("p"))).values()
    assert (len(answer.token_ids), answer.reason) == (runner_plan.max_context_tokens - 1, "length")


def test_tokens_carry_logprobs_and_alternatives() -> None:
    engine, _ = toy_engine()
    first = next(engine.stream(request(num_logprobs=3)))
    assert isinstance(first, Token)
    assert first.alternatives[0] == (first.token_id, first.logprob)
    assert len(first.alternatives) == 3


def test_ids_that_the_tokenizer_does_not_know_are_never_drawn() -> None:
    # The toy model's padded head rates them highest.
    engine, _ = toy_engine()
    answers = collect(engine.stream(request(num_candidates=8, temperature=5.0)))
    assert max(token for answer in answers.values() for token in answer.token_ids) <= END_ID


@pytest.mark.parametrize("num_events", [1, 2, 9, 25])
def test_closing_the_stream_frees_every_block(num_events: int) -> None:
    engine, _ = toy_engine(num_blocks=20, max_batch_sequences=2)
    events = engine.stream(request(num_candidates=5, **WARM))
    list(islice(events, num_events))
    assert engine.num_free_blocks < 20
    events.close()  # type: ignore[attr-defined]
    assert engine.num_free_blocks == 20


def test_a_closed_stream_runs_no_further_step() -> None:
    engine, runner = toy_engine()
    events = engine.stream(request(**WARM))
    next(events)
    num_steps = len(runner.batches)
    events.close()  # type: ignore[attr-defined]
    assert list(events) == []
    assert len(runner.batches) == num_steps


def test_after_a_cancelled_stream_the_next_one_is_undisturbed() -> None:
    engine, _ = toy_engine(num_blocks=20)
    events = engine.stream(request("hgfedcba", num_candidates=5, **WARM))
    list(islice(events, 12))
    events.close()  # type: ignore[attr-defined]
    asked = request(num_candidates=3, **WARM)
    assert collect(engine.stream(asked)) == answers_without_blocks(asked)


class BrokenRunner(ToyRunner):
    """Fails on the third step."""

    def step(self, chunks: Sequence[Chunk]) -> Tensor:
        if len(self.batches) == 2:
            raise MemoryError
        return super().step(chunks)


def test_an_error_of_the_runner_reaches_the_caller_and_frees_every_block() -> None:
    sizes = plan(num_blocks=20)
    engine = Engine(BrokenRunner(sizes), ToyTokenizer(), sizes, ModelIdentity("broken"))
    with pytest.raises(MemoryError):
        collect(engine.stream(request(num_candidates=3, **WARM)))
    assert engine.num_free_blocks == 20


def test_a_second_stream_beside_an_open_one_is_refused() -> None:
    engine, _ = toy_engine()
    first = engine.stream(request(**WARM))
    next(first)
    with pytest.raises(UsageError, match="busy with another stream"):
        engine.stream(request())


def test_of_two_streams_that_were_not_begun_the_second_to_begin_is_refused() -> None:
    engine, _ = toy_engine()
    first, second = engine.stream(request(**WARM)), engine.stream(request(**WARM))
    next(first)
    with pytest.raises(UsageError, match="busy with another stream"):
        next(second)
    assert collect(first)[0].reason


def test_a_stream_that_never_began_blocks_nobody() -> None:
    engine, _ = toy_engine()
    unused = engine.stream(request())
    assert collect(engine.stream(request()))
    unused.close()  # type: ignore[attr-defined]


def test_a_prompt_that_leaves_no_room_is_refused_at_the_call() -> None:
    engine, runner = toy_engine(max_context_tokens=8)
    with pytest.raises(ContextLengthError, match="need 9 tokens, the context holds 8"):
        engine.stream(request("a" * 8))
    assert not runner.batches


def test_a_prompt_that_leaves_room_for_one_token_gets_one() -> None:
    engine, _ = toy_engine(max_context_tokens=8)
    (answer,) = collect(engine.stream(request("a" * 7))).values()
    assert len(answer.token_ids) == 1


def test_a_request_too_big_for_the_pool_is_refused_at_the_call() -> None:
    engine, _ = toy_engine(num_blocks=3)
    with pytest.raises(CacheFullError, match="the pool has 3"):
        engine.stream(request("abc", max_tokens=20))


def test_an_empty_prompt_is_refused() -> None:
    engine, _ = toy_engine()
    with pytest.raises(UsageError, match="no tokens"):
        engine.stream(Request((Message("user", ""),)))


def test_nonsense_is_refused_at_the_call() -> None:
    engine, _ = toy_engine()
    with pytest.raises(UsageError, match="max_tokens is 0"):
        engine.stream(request(max_tokens=0))


def test_the_engine_names_its_model_and_shows_its_tokenizer() -> None:
    engine, _ = toy_engine()
    assert engine.model == ModelIdentity("toy")
    assert engine.tokenizer.end_ids == {END_ID}


def test_candidates_without_time_are_cancelled_and_leave_nothing_behind() -> None:
    engine, runner = toy_engine()
    num_free = engine.num_free_blocks
    asked = replace(request(num_candidates=2), max_seconds=0.0)
    assert [event.reason for event in engine.stream(asked) if isinstance(event, Finished)] == ["cancelled"] * 2
    assert (runner.num_tokens_run, engine.num_free_blocks) == (0, num_free)


def test_time_that_ends_under_way_keeps_what_was_written() -> None:
    engine, _ = toy_engine()
    events = engine.stream(replace(request(**WARM), max_seconds=0.2))
    first = next(events)
    time.sleep(0.2)
    assert isinstance(first, Token)
    assert list(events) == [Finished(0, "cancelled", Usage(7, 1))]


def test_ample_time_changes_nothing() -> None:
    engine, _ = toy_engine()
    asked = request(**WARM)
    assert collect(engine.stream(replace(asked, max_seconds=60.0))) == collect(engine.stream(asked))
