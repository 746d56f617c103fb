"""A request that makes no sense is refused in one line that names the value and the limit."""

from __future__ import annotations

import math

import pytest
from toy_model import request

from armillary.core.errors import UsageError
from armillary.core.messages import Request, Sampling
from armillary.engine.validation import check_request, check_sampling


def test_the_defaults_pass() -> None:
    check_request(request())


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(
            temperature=5.0, top_k=1, top_p=1.0, min_p=1.0, repetition_penalty=0.5, max_tokens=1, num_logprobs=100
        ),
        Sampling(seed=-3, stop=("a", "b"), top_p=1e-9),
    ],
)
def test_extreme_values_that_make_sense_pass(sampling: Sampling) -> None:
    check_sampling(sampling)


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("temperature", -0.1, "0 or a finite positive number"),
        ("temperature", math.nan, "0 or a finite positive number"),
        ("temperature", math.inf, "0 or a finite positive number"),
        ("top_k", -1, "0 (off) or more"),
        ("top_p", 0.0, "above 0 and at most 1"),
        ("top_p", 1.5, "above 0 and at most 1"),
        ("top_p", math.nan, "above 0 and at most 1"),
        ("min_p", -0.5, "0 to 1"),
        ("min_p", 1.01, "0 to 1"),
        ("repetition_penalty", 0.0, "a finite positive number, 1 being off"),
        ("repetition_penalty", math.inf, "a finite positive number, 1 being off"),
        ("max_tokens", 0, "at least 1"),
        ("max_tokens", -5, "at least 1"),
        ("num_logprobs", -1, "0 to 100"),
        ("num_logprobs", 101, "0 to 100"),
        ("stop", ("a", ""), "without empty strings"),
    ],
)
def test_a_value_out_of_range_is_named_with_its_limit(field: str, value: object, limit: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_sampling(Sampling(**{field: value}))  # type: ignore[arg-type]
    assert str(caught.value) == f"{field} is {value!r}, it must be {limit}"


@pytest.mark.parametrize("num_candidates", [0, -1, 1025])
def test_the_number_of_candidates_has_limits(num_candidates: int) -> None:
    with pytest.raises(UsageError, match=f"num_candidates is {num_candidates}, it must be 1 to 1024"):
        check_request(request(num_candidates=num_candidates))


def test_a_request_without_messages_is_refused() -> None:
    with pytest.raises(UsageError, match="no messages"):
        check_request(Request(()))
