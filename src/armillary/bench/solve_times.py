"""Seconds of problems that the model itself answers, and what verification costs the model. Judges no answer.

Each problem is solved first, then the model gets the very same requests again with nothing between two tokens: it
writes the same text, so the speeds can be compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from armillary.bench.graded import Graded
from armillary.bench.rows import Row
from armillary.bench.statistics_rows import statistic_row
from armillary.core.messages import Event, Finished, ModelIdentity, Request
from armillary.core.protocols import Generator, Verifier
from armillary.core.trace import Trace
from armillary.reason.loop import solve
from armillary.reason.search import Solution

MIN_SPEED_KEPT = 0.9


@dataclass(frozen=True, slots=True)
class Timing:
    """One problem.

    Attributes:
        solution: with the model's speed while its answers were verified.
        plain_tokens_per_s: the model's speed on the same requests with nobody verifying.
    """

    solution: Solution
    plain_tokens_per_s: float


class _Noting:
    """A generator that remembers what it was asked; satisfies ``core.protocols.Generator``."""

    def __init__(self, generator: Generator) -> None:
        self.requests: list[Request] = []
        self._generator = generator

    @property
    def model(self) -> ModelIdentity:
        """The real model that answers."""
        return self._generator.model

    def stream(self, request: Request) -> Iterator[Event]:
        """The model's own stream."""
        self.requests.append(request)
        return self._generator.stream(request)


def timed(live: Generator, verifier: Verifier, problems: Sequence[Graded]) -> list[Timing]:
    """Solve problems with the model itself, and have it answer the same requests alone."""
    timings = []
    for problem in problems:
        noting = _Noting(live)
        solution = solve(problem.task, noting, verifier, Trace())
        timings.append(Timing(solution, _plain_speed(live, noting.requests)))
    return timings


def time_rows(name: str, timings: Sequence[Timing], blank: Row) -> list[Row]:
    """Rows of a data set's times.

    Args:
        name: of the data set, first part of every metric.
        timings: at least one.
        blank: a row with the machine's fields filled in.
    """
    solutions = [item.solution for item in timings]
    kept = [item.solution.tokens_per_s / item.plain_tokens_per_s for item in timings if item.plain_tokens_per_s]
    columns = (
        ("seconds per problem", "s", "lower", [item.elapsed_s for item in solutions], statistics.fmean, None),
        ("time to first verdict", "s", "lower", [item.first_verdict_s for item in solutions], statistics.median, None),
        ("tokens per second of model time", "tokens/s", "higher", [item.tokens_per_s for item in solutions],
         statistics.median, None),
        ("decode speed kept while verifying", "ratio", "higher", kept, statistics.median, MIN_SPEED_KEPT),
    )  # fmt: skip
    return [
        statistic_row(replace(blank, metric=f"{name}: {metric}", unit=unit, aim=aim), values, middle, target)
        for metric, unit, aim, values, middle, target in columns
        if values
    ]


def _plain_speed(live: Generator, requests: Sequence[Request]) -> float:
    """Written tokens per second over all requests, one after the other; 0 where nothing was written."""
    started = time.perf_counter()
    num_tokens = sum(
        event.usage.completion_tokens
        for request in requests
        for event in live.stream(request)
        if isinstance(event, Finished)
    )
    return num_tokens / (time.perf_counter() - started)
