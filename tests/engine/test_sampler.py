"""The sampler ranks only the top of the vocabulary and chooses exactly what a full sort would."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_sampler import choose_plainly
from torch import Tensor

from armillary.core.errors import ModelFileError
from armillary.core.messages import Sampling
from armillary.engine.random_stream import RandomStream
from armillary.engine.sampler import Choice, choose, penalise, rank

SETTINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.3, 1.0, 3.0, 40.0]),
    top_k=st.sampled_from([0, 1, 3, 40, 300, 4000]),
    top_p=st.sampled_from([1e-9, 0.5, 0.95, 0.999, 1.0]),
    min_p=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.7]),
    num_logprobs=st.sampled_from([0, 1, 5, 100]),
)


def make_logits(seed: int, vocab_size: int, *, kind: str) -> Tensor:
    logits = torch.randn(vocab_size, generator=torch.Generator().manual_seed(seed)) * 3
    if kind == "many ties":
        return logits.round()
    if kind == "all equal":
        return torch.zeros(vocab_size)
    if kind == "mostly forbidden":
        return torch.where(logits > 5, logits, -torch.inf).index_fill(0, torch.tensor([vocab_size // 2]), 1.0)
    return logits


def chosen(logits: Tensor, sampling: Sampling, uniform: float = 0.5, seen_ids: tuple[int, ...] = ()) -> Choice:
    return choose(logits, sampling, draw=lambda: uniform, seen_ids=seen_ids)


@settings(max_examples=100, deadline=None)
@given(
    sampling=SETTINGS,
    seed=st.integers(0, 50),
    vocab_size=st.sampled_from([1, 7, 63, 700, 3001, 20_011]),
    kind=st.sampled_from(["plain", "many ties", "all equal", "mostly forbidden"]),
    uniform=st.sampled_from([0.0, 0.25, 0.7, 0.999, 1 - 2**-53]),
)
def test_the_choice_is_the_one_of_a_full_sort(
    sampling: Sampling, seed: int, vocab_size: int, kind: str, uniform: float
) -> None:
    logits = make_logits(seed, vocab_size, kind=kind)
    seen = tuple({token % vocab_size for token in range(0, 200, 13)})
    fast = chosen(logits, sampling, uniform, seen)
    assert fast == choose_plainly(logits, sampling, uniform=uniform, seen_ids=seen)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=40.0),
        Sampling(temperature=40.0, top_p=0.99),
        Sampling(temperature=40.0, min_p=0.8),
        Sampling(temperature=40.0, top_k=9000),
        Sampling(temperature=40.0, top_k=30_000),
    ],
)
@pytest.mark.parametrize("uniform", [0.01, 0.5, 0.98])
def test_a_draw_from_far_down_a_flat_distribution_is_the_one_of_a_full_sort(sampling: Sampling, uniform: float) -> None:
    logits = make_logits(1, 20_011, kind="plain")
    assert chosen(logits, sampling, uniform) == choose_plainly(logits, sampling, uniform=uniform)


@pytest.mark.parametrize("count", [1, 16, 100, 600])
@pytest.mark.parametrize("kind", ["plain", "many ties", "mostly forbidden"])
def test_a_partial_ranking_is_the_beginning_of_the_full_one(count: int, kind: str) -> None:
    logits = make_logits(3, 20_011, kind=kind)
    partial = rank(logits, count)
    assert partial.tolist() == torch.sort(logits, descending=True, stable=True).indices[: len(partial)].tolist()


def test_greedy_takes_the_lowest_id_of_equals_and_draws_no_random_number() -> None:
    stream = RandomStream(0, 0)
    assert choose(torch.tensor([1.0, 5.0, 5.0]), Sampling(), draw=stream.draw).token_id == 1
    assert stream.num_draws == 0


def test_a_drawn_token_costs_one_random_number() -> None:
    stream = RandomStream(0, 0)
    choose(torch.zeros(9), Sampling(temperature=1.0), draw=stream.draw)
    assert stream.num_draws == 1


def test_a_tiny_temperature_is_greedy() -> None:
    assert chosen(torch.tensor([0.0, 1.0, 0.5]), Sampling(temperature=1e-30), 0.999).token_id == 1


def test_a_small_temperature_does_not_overflow() -> None:
    assert chosen(torch.tensor([-1e30, 1e4, -1e4]), Sampling(temperature=2e-5), 0.999).token_id == 1


def test_tokens_are_drawn_as_often_as_they_are_likely() -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    stream, sampling = RandomStream(3, 0), Sampling(temperature=1.0)
    counts = Counter(choose(logits, sampling, draw=stream.draw).token_id for _ in range(4000))
    expected = [2000, 1200, 600, 200]
    # 16.3 is the 99.9 % point of chi-squared with 3 degrees of freedom.
    assert sum((counts[token] - count) ** 2 / count for token, count in enumerate(expected)) < 16.3


def possible(logits: Tensor, sampling: Sampling) -> set[int]:
    return {chosen(logits, sampling, step / 200).token_id for step in range(200)}


LADDER = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()


def test_top_k_keeps_the_k_likeliest() -> None:
    assert possible(LADDER, Sampling(temperature=1.0, top_k=2)) == {0, 1}


def test_top_p_keeps_the_smallest_set_that_reaches_the_mass() -> None:
    assert possible(LADDER, Sampling(temperature=1.0, top_p=0.65)) == {0, 1}


def test_top_p_counts_the_mass_that_top_k_has_left() -> None:
    # Of 0.4 and 0.3 the first alone has 57 %.
    assert possible(LADDER, Sampling(temperature=1.0, top_k=2, top_p=0.55)) == {0}


def test_min_p_drops_what_is_too_small_beside_the_likeliest() -> None:
    assert possible(LADDER, Sampling(temperature=1.0, min_p=0.45)) == {0, 1, 2}


def test_a_token_without_mass_is_never_drawn() -> None:
    logits = torch.tensor([0.0, -torch.inf, 0.0, -torch.inf])
    assert possible(logits, Sampling(temperature=1.0)) == {0, 2}


def test_the_logprob_is_taken_before_temperature_and_truncation() -> None:
    choice = chosen(LADDER, Sampling(temperature=5.0, top_k=1))
    assert choice.logprob == pytest.approx(math.log(0.4))


def test_alternatives_are_the_likeliest_with_their_logprobs() -> None:
    choice = chosen(LADDER, Sampling(temperature=1.0, num_logprobs=2), 0.99)
    assert choice.token_id == 3
    assert [token for token, _ in choice.alternatives] == [0, 1]
    assert [logprob for _, logprob in choice.alternatives] == pytest.approx([math.log(0.4), math.log(0.3)])


def test_more_alternatives_than_tokens_give_all_tokens() -> None:
    alternatives = chosen(LADDER, Sampling(num_logprobs=50)).alternatives
    assert sum(math.exp(logprob) for _, logprob in alternatives) == pytest.approx(1.0)


def test_the_repetition_penalty_makes_seen_tokens_less_likely_on_both_sides_of_zero() -> None:
    assert penalise(torch.tensor([2.0, -2.0, 2.0]), 2.0, [0, 1]).tolist() == [1.0, -4.0, 2.0]


def test_the_callers_logits_stay_as_they_are() -> None:
    logits = torch.tensor([2.0, 1.0])
    chosen(logits, Sampling(temperature=0.5, repetition_penalty=2.0), seen_ids=(0,))
    assert logits.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_reported(bad: float) -> None:
    with pytest.raises(ModelFileError, match="not finite"):
        chosen(torch.tensor([0.0, bad, 1.0]), Sampling())
