"""The books of one solve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reason_fakes import Clock

from armillary.core.messages import Message, Usage
from armillary.core.tasks import Budget
from armillary.reason.budget import MAX_ANSWER_TOKENS, MIN_ANSWER_TOKENS, Ledger, estimate_tokens
from armillary.reason.lease import CoreLease

MESSAGES = (Message("user", "x" * 276),)
PROMPT_TOKENS = 100


def ledger(clock: Clock | None = None, **budget: float) -> Ledger:
    return Ledger(Budget(**budget), CoreLease(clock or Clock()))  # type: ignore[arg-type]  # whole numbers where they must be


def test_a_prompt_is_estimated_from_its_bytes() -> None:
    assert estimate_tokens(MESSAGES) == PROMPT_TOKENS
    assert estimate_tokens((Message("user", "ü" * 138),)) == PROMPT_TOKENS


def test_spent_tokens_are_gone() -> None:
    books = ledger(max_tokens=1000)
    books.spend(Usage(100, 200))
    books.spend(Usage(0, 300))
    assert (books.remaining_tokens, books.usage) == (400, Usage(100, 500))


def test_remaining_tokens_are_never_negative() -> None:
    books = ledger(max_tokens=10)
    books.spend(Usage(100, 0))
    assert books.remaining_tokens == 0


def test_a_rich_budget_allows_all_candidates_at_full_length() -> None:
    allowance = ledger(max_tokens=100_000).allow(MESSAGES, 8)
    assert (allowance.num_candidates, allowance.max_tokens) == (8, MAX_ANSWER_TOKENS)


def test_a_tight_budget_shortens_answers_first() -> None:
    allowance = ledger(max_tokens=PROMPT_TOKENS + 800).allow(MESSAGES, 8)
    assert (allowance.num_candidates, allowance.max_tokens) == (8, 100)


def test_a_tighter_budget_allows_fewer_candidates() -> None:
    allowance = ledger(max_tokens=PROMPT_TOKENS + 3 * MIN_ANSWER_TOKENS).allow(MESSAGES, 8)
    assert (allowance.num_candidates, allowance.max_tokens) == (3, MIN_ANSWER_TOKENS)


@pytest.mark.parametrize("max_tokens", [1, PROMPT_TOKENS, PROMPT_TOKENS + MIN_ANSWER_TOKENS - 1])
def test_a_budget_without_room_for_an_answer_allows_none(max_tokens: int) -> None:
    assert ledger(max_tokens=max_tokens).allow(MESSAGES, 8).num_candidates == 0


@given(st.integers(1, 20_000), st.integers(0, 20_000), st.integers(1, 20))
def test_what_is_allowed_always_fits(max_tokens: int, spent: int, wanted: int) -> None:
    books = ledger(max_tokens=max_tokens)
    books.spend(Usage(0, spent))
    allowance = books.allow(MESSAGES, wanted)
    assert allowance.num_candidates <= wanted
    if allowance.num_candidates:
        assert allowance.num_candidates * allowance.max_tokens + PROMPT_TOKENS <= books.remaining_tokens


def test_time_is_out_when_the_seconds_are_spent() -> None:
    clock = Clock(50.0)
    books = ledger(clock, max_seconds=10.0)
    clock.now_s = 59.9
    assert not books.is_out_of_time()
    clock.now_s = 60.0
    assert books.is_out_of_time()
    assert books.elapsed_s == 10.0


def test_speed_leaves_out_the_time_spent_checking() -> None:
    clock = Clock()
    lease = CoreLease(clock)
    books = Ledger(Budget(), lease)
    clock.now_s += 2.0
    with lease.hold("verifier"):
        clock.now_s += 8.0
    books.spend(Usage(100, 40))
    assert books.tokens_per_s == 20.0


def test_what_the_model_did_before_the_search_is_the_time_to_load_it() -> None:
    clock = Clock()
    lease = CoreLease(clock, cpu_clock=Clock())
    with lease.hold("model"):
        clock.now_s += 3.0
    books = Ledger(Budget(), lease)
    with lease.hold("model"):
        clock.now_s += 1.0
    assert (books.load_s, books.spent_s("model"), books.elapsed_s) == (3.0, 1.0, 1.0)
    assert books.cores() == {"model_s": 1.0, "verifier_s": 0.0, "overlap_s": 0.0, "num_handovers": 0}


def test_each_lap_tells_the_seconds_since_the_one_before() -> None:
    clock = Clock()
    lease = CoreLease(clock)
    books = Ledger(Budget(), lease)
    with lease.hold("model"):
        clock.now_s += 1.0
    assert books.lap() == {"at_s": 1.0, "model_s": 1.0, "verifier_s": 0.0}
    clock.now_s += 0.5
    with lease.hold("verifier"):
        clock.now_s += 2.0
    assert books.lap() == {"at_s": 3.5, "model_s": 0.0, "verifier_s": 2.0}


def test_speed_before_any_time_has_passed_is_zero() -> None:
    assert ledger().tokens_per_s == 0.0
