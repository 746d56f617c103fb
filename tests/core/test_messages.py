from __future__ import annotations

from armillary.core.messages import Message, Request, Usage


def test_usages_add_up_by_kind() -> None:
    total = Usage(3, 4) + Usage(10, 20)
    assert (total, total.total_tokens) == (Usage(13, 24), 37)


def test_a_plain_request_is_greedy_and_asks_for_one_candidate() -> None:
    request = Request((Message("user", "hi"),))
    assert (request.num_candidates, request.sampling.temperature, request.sampling.num_logprobs) == (1, 0.0, 0)
