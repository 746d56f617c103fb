"""A candidate's random numbers depend on its seed and index, and on nothing else."""

from __future__ import annotations

from armillary.engine.random_stream import RandomStream


def draws(seed: int, candidate: int, num: int = 5) -> list[float]:
    stream = RandomStream(seed, candidate)
    return [stream.draw() for _ in range(num)]


def test_the_same_seed_and_candidate_repeat() -> None:
    assert draws(7, 3) == draws(7, 3)


def test_the_numbers_are_the_ones_of_every_earlier_version() -> None:
    assert draws(0, 0, 2) == [0.5213453336981362, 0.15165573484536965]


def test_candidates_differ() -> None:
    assert not set(draws(7, 0)) & set(draws(7, 1))


def test_seeds_differ_and_may_be_negative() -> None:
    assert not set(draws(7, 0)) & set(draws(-7, 0))


def test_setting_the_counter_back_repeats_the_numbers() -> None:
    stream = RandomStream(1, 1)
    stream.draw()
    kept = stream.num_draws
    ahead = [stream.draw(), stream.draw()]
    stream.num_draws = kept
    assert [stream.draw(), stream.draw()] == ahead


def test_the_numbers_fill_the_unit_interval_evenly() -> None:
    numbers = draws(5, 0, 10_000)
    assert all(0 <= number < 1 for number in numbers)
    counts = [sum(tenth / 10 <= number < (tenth + 1) / 10 for number in numbers) for tenth in range(10)]
    # 27.9 is the 99.9 % point of chi-squared with 9 degrees of freedom.
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 27.9
