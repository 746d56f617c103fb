"""Refuse requests that make no sense, before anything runs. Knows no tokenizer and no model."""

from __future__ import annotations

import math

from armillary.core.errors import UsageError
from armillary.core.messages import Request, Sampling

MAX_CANDIDATES = 1024
MAX_LOGPROBS = 100


def check_request(request: Request) -> None:
    """Check everything about a request that does not depend on the model.

    Raises:
        UsageError: names the field, its value and the limit.
    """
    if not request.messages:
        raise UsageError("the request has no messages", hint="give at least one")
    if not 1 <= request.num_candidates <= MAX_CANDIDATES:
        raise UsageError(f"num_candidates is {request.num_candidates!r}, it must be 1 to {MAX_CANDIDATES}")
    if request.first_candidate < 0:
        raise UsageError(f"first_candidate is {request.first_candidate!r}, it must be 0 or more")
    check_sampling(request.sampling)


def check_sampling(sampling: Sampling) -> None:
    """Check every number that steers the choice of tokens.

    Raises:
        UsageError: names the field, its value and the limit.
    """
    # Written so that a NaN fails each of them.
    rules = (
        ("temperature", sampling.temperature, 0 <= sampling.temperature < math.inf, "0 or a finite positive number"),
        ("top_k", sampling.top_k, sampling.top_k >= 0, "0 (off) or more"),
        ("top_p", sampling.top_p, 0 < sampling.top_p <= 1, "above 0 and at most 1"),
        ("min_p", sampling.min_p, 0 <= sampling.min_p <= 1, "0 to 1"),
        (
            "repetition_penalty",
            sampling.repetition_penalty,
            0 < sampling.repetition_penalty < math.inf,
            "a finite positive number, 1 being off",
        ),
        ("max_tokens", sampling.max_tokens, sampling.max_tokens >= 1, "at least 1"),
        ("num_logprobs", sampling.num_logprobs, 0 <= sampling.num_logprobs <= MAX_LOGPROBS, f"0 to {MAX_LOGPROBS}"),
        ("stop", sampling.stop, all(sampling.stop), "without empty strings"),
    )
    for name, value, is_fine, limit in rules:
        if not is_fine:
            raise UsageError(f"{name} is {value!r}, it must be {limit}")
