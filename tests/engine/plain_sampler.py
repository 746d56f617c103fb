"""The slow twin of the sampler: sort the whole vocabulary and apply one rule after the other."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from armillary.core.messages import Sampling
from armillary.engine.sampler import Choice


def choose_plainly(logits: Tensor, sampling: Sampling, *, uniform: float, seen_ids: Collection[int] = ()) -> Choice:
    logits = logits.clone()
    for token in seen_ids:
        value = logits[token]
        logits[token] = value / sampling.repetition_penalty if value > 0 else value * sampling.repetition_penalty
    logprobs = logits.double() - torch.logsumexp(logits, 0).double()
    order = sorted(range(logits.numel()), key=lambda token: (-float(logits[token]), token))
    ranked = [(token, float(logprobs[token])) for token in order]
    chosen = 0 if sampling.temperature == 0 else _drawn_rank(logits, order, sampling, uniform)
    return Choice(*ranked[chosen], tuple(ranked[: sampling.num_logprobs]))


def _drawn_rank(logits: Tensor, order: list[int], sampling: Sampling, uniform: float) -> int:
    weights = torch.exp((logits - logits.amax()) / sampling.temperature)
    mass = float(weights.sum(dtype=torch.float64))
    ranked = weights[order].tolist()
    if 0 < sampling.top_k <= len(ranked):
        ranked = ranked[: sampling.top_k]
        mass = sum_in_order(ranked)
    num_kept = len(ranked)
    if sampling.top_p < 1:
        passed = 0.0
        for rank, weight in enumerate(ranked):
            passed += weight
            if passed >= sampling.top_p * mass:
                num_kept = rank + 1
                break
    if sampling.min_p > 0:
        num_kept = min(num_kept, next((i for i, weight in enumerate(ranked) if weight < sampling.min_p), num_kept))
    if num_kept < len(order):
        mass = sum_in_order(ranked[:num_kept])
    passed, last = 0.0, 0
    for rank, weight in enumerate(ranked[:num_kept]):
        passed += weight
        if weight > 0 and passed > uniform * mass:
            return rank
        last = rank if weight > 0 else last
    return last


def sum_in_order(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total
