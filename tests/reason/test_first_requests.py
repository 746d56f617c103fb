"""Which first proposals are asked for: sizes, numbers and temperatures of the waves."""

from __future__ import annotations

import pytest
from reason_fakes import task_with

from armillary.core.messages import Request
from armillary.reason.first_requests import is_repetitive, next_request

VARIED, HOTTER = 0.8, 1.1


def all_requests(num_candidates: int, *, is_repeating: bool = False, seed: int = 0) -> list[Request]:
    task, found, num_asked = task_with(num_candidates=num_candidates), [], 0
    while True:
        codes = ["same" if is_repeating else f"program {number}" for number in range(num_asked)]
        request = next_request(task, codes, num_asked=num_asked, seed=seed)
        if request is None:
            return found
        found.append(request)
        num_asked += request.num_candidates


def test_the_likeliest_answer_comes_first_then_waves_that_double_what_there_is() -> None:
    requests = all_requests(28, seed=5)
    assert [item.num_candidates for item in requests] == [1, 3, 4, 8, 8, 4]
    assert [item.sampling.temperature for item in requests] == [0.0, *[VARIED] * 5]
    assert {item.sampling.seed for item in requests[1:]} == {5}


def test_sampled_candidates_are_numbered_on_from_wave_to_wave() -> None:
    assert [item.first_candidate for item in all_requests(20)] == [0, 0, 3, 7, 15]


@pytest.mark.parametrize(("num_candidates", "sizes"), [(1, [1]), (2, [1, 1]), (4, [1, 3]), (9, [1, 3, 4, 1])])
def test_a_small_budget_ends_the_waves_early(num_candidates: int, sizes: list[int]) -> None:
    assert [item.num_candidates for item in all_requests(num_candidates)] == sizes


def test_a_model_that_repeats_itself_is_sampled_hotter() -> None:
    temperatures = [item.sampling.temperature for item in all_requests(16, is_repeating=True)]
    assert temperatures == [0.0, VARIED, HOTTER, HOTTER]


@pytest.mark.parametrize(
    ("codes", "is_so"),
    [
        ((), False),
        (("a",), False),
        (("a", "a"), True),
        (("a", "b"), False),
        (tuple("aabb"), True),
        (tuple("abca"), False),
    ],
)
def test_half_of_the_programs_must_repeat_others(codes: tuple[str, ...], is_so: bool) -> None:
    assert is_repetitive(codes) == is_so


def test_proposals_that_were_cut_off_count_as_asked_for() -> None:
    request = next_request(task_with(num_candidates=4), ["only one"], num_asked=3)
    assert request is not None
    assert (request.num_candidates, request.first_candidate) == (1, 2)
