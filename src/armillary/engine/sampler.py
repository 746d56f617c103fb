"""Choose the next token from one row of logits. Looks at no other row and keeps no state.

Order: repetition penalty, logprobs as reported, temperature, top-k, top-p, min-p, draw. Each step sees what the one
before has left, and tokens rank by penalised logit, ties by lower id. A token is drawn by walking down that ranking
until the share ``uniform`` of the mass is passed, so only the top of the vocabulary is ever ranked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from armillary.core.errors import ModelFileError
from armillary.core.messages import Sampling

GREEDY_BELOW = 1e-5  # temperatures below leave the likeliest token all the mass that a float32 can tell
_FIRST_RANKED = 256
_GROWTH = 16
_TILE = 16


@dataclass(frozen=True, slots=True)
class Choice:
    """The token that was chosen.

    Attributes:
        token_id: its id.
        logprob: natural log of its probability after the repetition penalty and before everything else.
        alternatives: the likeliest ids with their logprobs, best first.
    """

    token_id: int
    logprob: float
    alternatives: tuple[tuple[int, float], ...] = ()


def choose(logits: Tensor, sampling: Sampling, *, draw: Callable[[], float], seen_ids: Collection[int] = ()) -> Choice:
    """Choose one token.

    Args:
        logits: [vocab] float32; not changed.
        sampling: checked settings.
        draw: gives a random number in [0, 1); called once, or not at all when the choice is greedy.
        seen_ids: tokens that the repetition penalty applies to.

    Raises:
        ModelFileError: the best logit is not a finite number.
    """
    logits = penalise(logits, sampling.repetition_penalty, seen_ids)
    best = logits.amax()
    if not math.isfinite(best):
        raise ModelFileError("the model's logits are not finite numbers", hint="its file may be damaged: pull it again")
    log_mass = float(torch.logsumexp(logits, 0))
    if sampling.temperature < GREEDY_BELOW:
        token_id = int(logits.argmax())  # the first of equals
    else:
        token_id = _draw(logits, torch.exp((logits - best) / sampling.temperature), sampling, draw())
    return Choice(token_id, float(logits[token_id]) - log_mass, _alternatives(logits, log_mass, sampling.num_logprobs))


def penalise(logits: Tensor, penalty: float, seen_ids: Collection[int]) -> Tensor:
    """Divide positive and multiply negative logits of seen tokens by the penalty; 1 changes nothing."""
    if penalty == 1.0 or not seen_ids:
        return logits
    seen = torch.tensor(list(seen_ids), device=logits.device)
    values = logits[seen]
    return logits.index_put((seen,), torch.where(values > 0, values / penalty, values * penalty))


def rank(logits: Tensor, count: int) -> Tensor:
    """Ids of the likeliest tokens, best first, ties by lower id.

    Args:
        logits: [vocab], finite or minus infinity.
        count: about how many are wanted; an exact number would cost a sort of the vocabulary when there are ties.

    Returns:
        [n] int64, the same first ``n`` as a stable sort of everything; all of them from half the vocabulary on.
    """
    if 2 * count >= logits.numel():
        return torch.sort(logits, descending=True, stable=True).indices
    ids = _top_tiles(logits, count)
    values, places = torch.topk(logits[ids], count)
    # Of the tokens that tie with the last, some were left out: none of them is sure of its place.
    sure = torch.sort(ids[places[values > values[-1]]]).values
    return sure[torch.sort(logits[sure], descending=True, stable=True).indices]


def _top_tiles(logits: Tensor, count: int) -> Tensor:
    """Ids of the ``count`` tiles with the highest peaks; they hold every logit above the lowest of these peaks.

    A tile is a column of the logits laid out in ``_TILE`` rows: the reduction over rows reads memory in order.
    """
    vocab_size = logits.numel()
    num_tiles = vocab_size // _TILE
    if num_tiles < 4 * count:
        return torch.arange(vocab_size, device=logits.device)
    num_tiled = num_tiles * _TILE
    peaks = logits[:num_tiled].view(_TILE, num_tiles).amax(0)
    tiles = torch.topk(peaks, count, sorted=False).indices
    rows = torch.arange(0, num_tiled, num_tiles, device=logits.device)
    rest = torch.arange(num_tiled, vocab_size, device=logits.device)
    return torch.cat(((rows[:, None] + tiles).flatten(), rest))


def _draw(logits: Tensor, weights: Tensor, sampling: Sampling, uniform: float) -> int:
    """Walk down the ranking; rank more of the vocabulary only while the answer lies below what is ranked."""
    mass = float(weights.sum(dtype=torch.float64))
    count = max(_FIRST_RANKED, sampling.top_k + 1)
    while True:
        ids = rank(logits, count)
        ranked = weights[ids].double().cpu().numpy()
        index = _walk(ranked, mass, sampling, uniform, is_all=len(ranked) == logits.numel())
        if index is not None:
            return int(ids[index])
        count *= _GROWTH


def _walk(ranked: NDArray[np.float64], mass: float, sampling: Sampling, uniform: float, *, is_all: bool) -> int | None:
    """Find the token at which the share ``uniform`` of the kept mass is passed.

    Args:
        ranked: weights of the likeliest tokens, the best being 1.
        mass: sum of all weights, ranked or not.
        sampling: top-k, top-p and min-p.
        uniform: in [0, 1).
        is_all: whether no token is missing from ``ranked``.

    Returns:
        An index into ``ranked``, or None if more must be ranked to tell.
    """
    if sampling.top_k > len(ranked) and not is_all:
        return None
    passed = ranked.cumsum()
    cuts = []
    if 0 < sampling.top_k <= len(ranked):
        cuts.append(sampling.top_k)
        mass = passed[sampling.top_k - 1]
    if sampling.top_p < 1:
        cuts.append(int(passed.searchsorted(sampling.top_p * mass)) + 1)
    if sampling.min_p > 0:
        too_small = ranked < sampling.min_p
        cuts.append(int(too_small.argmax()) if too_small.any() else len(ranked) + 1)

    num_kept = min(cuts, default=len(ranked) + 1)
    is_cut_known = num_kept <= len(ranked)
    if cuts and not is_cut_known and not is_all:
        return None
    kept = passed[:num_kept]
    index = int(kept.searchsorted(uniform * (kept[-1] if is_cut_known else mass), side="right"))
    if index == len(kept) and not is_cut_known and not is_all:
        return None
    # Rounding may leave the last step short of the whole; the tokens without any mass are never drawn.
    return min(index, int(kept.searchsorted(kept[-1])))


def _alternatives(logits: Tensor, log_mass: float, num_wanted: int) -> tuple[tuple[int, float], ...]:
    """The likeliest ids with their logprobs, best first."""
    if not num_wanted:
        return ()
    count = max(_FIRST_RANKED, num_wanted + 1)
    while len(ids := rank(logits, count)) < min(num_wanted, logits.numel()):
        count *= _GROWTH
    ids = ids[:num_wanted]
    return tuple(zip(ids.tolist(), (logits[ids].double() - log_mass).tolist(), strict=True))
