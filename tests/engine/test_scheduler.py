"""Prompts are read once, blocks are shared, and when they run out the youngest gives way."""

from __future__ import annotations

import pytest
from toy_model import plan

from armillary.core.errors import CacheFullError
from armillary.core.messages import Sampling
from armillary.engine.scheduler import Scheduler, Step
from armillary.engine.sequence import SequenceState


def candidates(num: int, num_prompt_tokens: int) -> list[SequenceState]:
    prompt = list(range(num_prompt_tokens))
    return [SequenceState.begin(index, prompt, Sampling()) for index in range(num)]


def advance(scheduler: Scheduler) -> Step:
    """Schedule, pretend that the step ran, and give every ready sequence a token."""
    step = scheduler.schedule()
    for _, sequence in scheduler.commit(step):
        sequence.append(99)
    return step


def owners(step: Step) -> list[int]:
    return [sequence.candidate for sequence in step.sequences]


def test_a_long_prompt_is_read_in_chunks_by_candidate_0_alone() -> None:
    scheduler = Scheduler(plan(prefill_chunk_tokens=5))
    scheduler.submit(candidates(3, 12))
    steps = [advance(scheduler) for _ in range(3)]
    assert [owners(step) for step in steps] == [[0], [0], [0]]
    assert [step.chunks[0].token_ids for step in steps] == [tuple(range(5)), tuple(range(5, 10)), (10, 11)]
    assert [step.chunks[0].start for step in steps] == [0, 5, 10]


def test_no_token_is_due_before_the_prompt_is_read() -> None:
    scheduler = Scheduler(plan(prefill_chunk_tokens=5))
    scheduler.submit(candidates(2, 6))
    assert scheduler.commit(scheduler.schedule()) == []


def test_the_end_of_the_prompt_serves_every_candidate_from_one_row() -> None:
    scheduler = Scheduler(plan())
    scheduler.submit(candidates(3, 5))
    ready = scheduler.commit(scheduler.schedule())
    assert [(row, sequence.candidate) for row, sequence in ready] == [(0, 0), (0, 1), (0, 2)]


def test_candidates_share_the_prompt_blocks() -> None:
    scheduler = Scheduler(plan(num_blocks=10))
    all_candidates = candidates(3, 5)
    scheduler.submit(all_candidates)
    advance(scheduler)
    assert scheduler.num_free_blocks == 8
    assert all_candidates[0].block_table == all_candidates[1].block_table == all_candidates[2].block_table


def test_a_partly_filled_block_is_copied_by_all_but_its_last_owner() -> None:
    scheduler = Scheduler(plan(num_blocks=10))
    all_candidates = candidates(3, 5)
    scheduler.submit(all_candidates)
    advance(scheduler)
    partly_filled = all_candidates[2].block_table[1]
    step = advance(scheduler)
    assert [source for source, _ in step.copies] == [partly_filled, partly_filled]
    assert all_candidates[2].block_table[1] == partly_filled
    assert len({sequence.block_table[1] for sequence in all_candidates}) == 3


def test_a_full_last_block_needs_no_copy() -> None:
    scheduler = Scheduler(plan())
    scheduler.submit(candidates(3, 4))
    advance(scheduler)
    assert advance(scheduler).copies == ()


def test_decoding_runs_one_token_of_every_candidate() -> None:
    scheduler = Scheduler(plan())
    scheduler.submit(candidates(3, 4))
    advance(scheduler)
    step = advance(scheduler)
    assert owners(step) == [0, 1, 2]
    assert [chunk.token_ids for chunk in step.chunks] == [(99,), (99,), (99,)]


def test_what_exceeds_the_batch_waits_until_one_finishes() -> None:
    scheduler = Scheduler(plan(max_batch_sequences=2))
    all_candidates = candidates(3, 4)
    scheduler.submit(all_candidates)
    advance(scheduler)
    assert owners(advance(scheduler)) == [0, 1]
    scheduler.finish(all_candidates[0])
    assert owners(advance(scheduler)) == [1, 2]


def test_a_candidate_may_finish_while_it_waits() -> None:
    scheduler = Scheduler(plan(max_batch_sequences=1))
    all_candidates = candidates(2, 4)
    scheduler.submit(all_candidates)
    advance(scheduler)
    scheduler.finish(all_candidates[1])
    scheduler.finish(all_candidates[0])
    assert not scheduler.has_work


def test_finishing_frees_the_blocks_at_once() -> None:
    scheduler = Scheduler(plan(num_blocks=10))
    (only,) = candidates(1, 9)
    scheduler.submit([only])
    advance(scheduler)
    scheduler.finish(only)
    assert scheduler.num_free_blocks == 10


def test_clearing_frees_running_waiting_and_unborn_candidates() -> None:
    scheduler = Scheduler(plan(num_blocks=10, max_batch_sequences=1, prefill_chunk_tokens=4))
    for num_steps in (0, 1, 3):
        scheduler.submit(candidates(3, 6))
        for _ in range(num_steps):
            advance(scheduler)
        scheduler.clear()
        assert (scheduler.num_free_blocks, scheduler.has_work) == (10, False)


def nearly_full_pool() -> tuple[Scheduler, list[SequenceState]]:
    """Three candidates with one prompt block together and one full block each; one block is left."""
    scheduler = Scheduler(plan(num_blocks=5, prefill_chunk_tokens=3))
    all_candidates = candidates(3, 4)
    scheduler.submit(all_candidates)
    for _ in range(6):
        advance(scheduler)
    assert scheduler.num_free_blocks == 1
    return scheduler, all_candidates


def test_when_blocks_run_out_the_youngest_gives_way_and_keeps_the_shared_prompt() -> None:
    scheduler, all_candidates = nearly_full_pool()
    assert owners(advance(scheduler)) == [0, 1]
    assert [sequence.num_computed for sequence in all_candidates] == [9, 9, 4]
    assert all_candidates[2].block_table == all_candidates[0].block_table[:1]


def test_the_youngest_gives_way_itself_when_it_is_the_one_that_asks() -> None:
    scheduler, all_candidates = nearly_full_pool()
    for _ in range(4):
        advance(scheduler)
    assert owners(advance(scheduler)) == [0]
    assert [sequence.num_computed for sequence in all_candidates] == [13, 4, 4]


def test_a_sequence_that_gave_way_stays_away_while_it_would_be_set_back_at_once() -> None:
    scheduler, all_candidates = nearly_full_pool()
    advance(scheduler)
    scheduler.finish(all_candidates[0])
    assert owners(advance(scheduler)) == [1]


def test_a_sequence_that_gave_way_returns_and_reads_its_answer_again_in_chunks() -> None:
    scheduler, all_candidates = nearly_full_pool()
    advance(scheduler)
    scheduler.finish(all_candidates[0])
    scheduler.finish(all_candidates[1])
    step = advance(scheduler)
    assert owners(step) == [2]
    assert (step.chunks[0].token_ids, step.chunks[0].start) == ((99, 99, 99), 4)


def test_the_prefill_budget_is_shared_by_all_that_read_again() -> None:
    scheduler = Scheduler(plan(num_blocks=64, prefill_chunk_tokens=5))
    all_candidates = candidates(3, 4)
    scheduler.submit(all_candidates)
    advance(scheduler)
    for sequence in all_candidates[1:]:
        for _ in range(3):
            sequence.append(99)
    assert [len(chunk.token_ids) for chunk in advance(scheduler).chunks] == [1, 4, 1]


def test_nothing_is_scheduled_for_a_sequence_when_the_prefill_budget_is_spent() -> None:
    scheduler = Scheduler(plan(num_blocks=64, prefill_chunk_tokens=4))
    all_candidates = candidates(3, 4)
    scheduler.submit(all_candidates)
    advance(scheduler)
    for sequence in all_candidates[1:]:
        for _ in range(3):
            sequence.append(99)
    assert owners(advance(scheduler)) == [0, 1]


def test_waiting_candidates_give_up_their_share_of_a_partly_filled_block_first() -> None:
    scheduler = Scheduler(plan(num_blocks=3, max_batch_sequences=1))
    all_candidates = candidates(3, 6)
    scheduler.submit(all_candidates)
    for _ in range(2):
        advance(scheduler)
    while all_candidates[0].num_computed < 12:
        assert owners(advance(scheduler)) == [0]
    assert [sequence.num_computed for sequence in all_candidates[1:]] == [4, 4]
    assert scheduler.num_free_blocks == 0


def test_a_full_pool_still_lets_the_oldest_write_into_the_block_it_shared_with_waiting_ones() -> None:
    scheduler = Scheduler(plan(num_blocks=2, max_batch_sequences=1))
    all_candidates = candidates(2, 6)
    scheduler.submit(all_candidates)
    advance(scheduler)
    advance(scheduler)
    assert scheduler.num_free_blocks == 0
    step = advance(scheduler)
    assert (owners(step), step.copies) == ([0], ())
    assert all_candidates[1].num_computed == 4


def test_a_sequence_that_gave_way_returns_before_those_that_never_ran() -> None:
    scheduler = Scheduler(plan(num_blocks=4, max_batch_sequences=2))
    all_candidates = candidates(3, 4)
    scheduler.submit(all_candidates)
    for _ in range(6):
        step = advance(scheduler)
    assert owners(step) == [0]
    scheduler.finish(all_candidates[0])
    assert owners(advance(scheduler)) == [1]


def test_a_sequence_that_needs_more_than_the_pool_is_refused() -> None:
    scheduler = Scheduler(plan(num_blocks=4, block_size=4))
    scheduler.check_fits(17)
    with pytest.raises(CacheFullError, match="up to 18 tokens need 5 KV blocks, the pool has 4"):
        scheduler.check_fits(18)
