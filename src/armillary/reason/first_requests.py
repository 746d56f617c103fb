"""Say which first proposals are asked for next, from those that there are. Asks nobody and judges nothing.

The likeliest answer comes first, then sampled ones in waves that double what there is, so that a search which stops at
the first agreement has asked for little more than it needed. Where the model repeats itself, sampling gets hotter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armillary.core.messages import Request, Sampling
from armillary.core.tasks import TaskSpec
from armillary.reason.propose import first_messages

# What small models write after the function is asked for by nobody: an explanation, a demonstration, tests. A closing
# fence is told from an opening one by the empty line behind it. Four, because some servers take no more.
ANSWER_ENDS = ("\n```\n\n", "\nif __name__", "\nprint(", "\nassert ")
GREEDY = Sampling(temperature=0.0, stop=ANSWER_ENDS)
VARIED = Sampling(temperature=0.8, top_p=0.95, stop=ANSWER_ENDS)
HOTTER = replace(VARIED, temperature=1.1)
FIRST_WAVE = 3
MAX_WAVE = 8


def next_request(task: TaskSpec, codes: Sequence[str], *, num_asked: int, seed: int = 0) -> Request | None:
    """The next wave of first proposals, or None when the budget allows no more.

    Args:
        task: what is asked; its budget bounds all waves together.
        codes: the programs of the proposals so far, in order.
        num_asked: proposals that were asked for; more than there are programs where some were cut off.
        seed: of the sampling; candidates count on from wave to wave, so that bigger waves would give the same ones.
    """
    num_left = task.budget.num_candidates - num_asked
    if num_left <= 0:
        return None
    messages = first_messages(task)
    if num_asked == 0:
        return Request(messages, GREEDY)
    sampling = replace(HOTTER if is_repetitive(codes) else VARIED, seed=seed)
    size = min(MAX_WAVE, max(FIRST_WAVE, num_asked))
    return Request(messages, sampling, min(size, num_left), first_candidate=num_asked - 1)


def is_repetitive(codes: Sequence[str]) -> bool:
    """Whether at least half of some programs only repeat others; one alone repeats nothing."""
    return len(codes) > 1 and 2 * len(set(codes)) <= len(codes)
