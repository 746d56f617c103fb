"""Turn the results of solved problems into rows: shares with intervals, errors removed, risk at a coverage."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from armillary.bench.rows import Row
from armillary.bench.statistics_rows import share_row, statistic_row, with_target

MIN_EFFICIENCY = 0.75
MAX_REGRESSIONS = 2
COVERAGE = 0.6
MAX_TESTED_RISK = 0.03
# Samples of each problem that are judged whatever comes of them: the first wave.
NUM_MEAN_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One problem, judged by tests that the loop never saw.

    Attributes:
        settings: what must be equal for two results to belong together.
        group: what it is also counted under, such as a difficulty; or empty.
        proposals: whether each first proposal is right, the greedy one first, as far as the ceiling needs them.
        greedy_base, final_base: by the smaller set of tests, where there are two.
        selected: whether the answer that was chosen among the first proposals is right.
        final: the same for the answer after revision.
        is_accepted: whether the answer was presented as verified.
        strength: of its evidence.
        num_proposals: first proposals that the loop made before they agreed.
    """

    task_id: str
    group: str
    settings: dict[str, Any]
    proposals: tuple[bool, ...]
    greedy_base: bool
    selected: bool
    final: bool
    final_base: bool
    status: str
    is_accepted: bool
    strength: float
    stopped_by: str
    num_proposals: int
    num_tokens: int

    @property
    def greedy(self) -> bool:
        """Whether the likeliest answer is right."""
        return self.proposals[0]

    @property
    def any_right(self) -> bool:
        """Whether a right answer was among the first proposals: nobody who only selects does better."""
        return any(self.proposals)

    @property
    def line(self) -> str:
        """What happened, for the one who waits."""
        words = {True: "right", False: "wrong"}
        return (
            f"{self.task_id}: greedy {words[self.greedy]}, {sum(self.proposals)} of {len(self.proposals)} right, "
            f"final {words[self.final]} as {self.status} after {self.num_proposals} proposals, {self.num_tokens} tokens"
        )


Statistic = Callable[[Sequence[TaskResult]], float]
Share = tuple[str, list[bool], str, str, float | None]


def summarise(name: str, results: Sequence[TaskResult], blank: Row, *, removed_target: float | None) -> list[Row]:
    """All metrics of a run, as rows.

    Args:
        name: of the data set, first part of every metric.
        results: at least one.
        blank: a row with the machine's fields filled in.
        removed_target: share of greedy errors that must be removed, or None.
    """
    blank = replace(blank, metric=f"{name}: ")
    num_first = results[0].settings["budget"]["num_candidates"]
    ceiling = f"ceiling of selection: 1 greedy answer and {num_first - 1} samples"
    shares: list[Share] = [
        ("greedy pass@1", [item.greedy for item in results], "higher", "", None),
        (f"pass@{num_first}", [item.any_right for item in results], "higher", ceiling, None),
        ("selected pass@1", [item.selected for item in results], "higher", "greedy pass@1", None),
        ("pass@1 after revision", [item.final for item in results], "higher", "greedy pass@1", None),
        ("greedy pass@1, base tests", [item.greedy_base for item in results], "higher", "", None),
        (
            "pass@1 after revision, base tests",
            [item.final_base for item in results],
            "higher",
            "greedy, base tests",
            None,
        ),
    ]
    rows = [_share_row(blank, *share) for share in shares] + _trust_rows(results, blank)
    rows += [
        _share_row(
            blank,
            f"pass@1 after revision, {group}",
            [item.final for item in results if item.group == group],
            "higher",
            "",
            None,
        )
        for group in dict.fromkeys(item.group for item in results if item.group)
    ]
    regressions = sum(item.greedy and not item.final for item in results)
    rows += [
        _row(
            blank, results, "net errors removed", "ratio of greedy errors", net_errors_removed, "higher", removed_target
        ),
        _row(blank, results, "selection efficiency", "ratio", selection_efficiency, "higher", MIN_EFFICIENCY),
        with_target(
            replace(
                blank,
                metric=f"{blank.metric}regressions",
                value=regressions,
                unit="problems",
                aim="lower",
                n=len(results),
            ),
            MAX_REGRESSIONS,
        ),
        _row(blank, results, "mean sample pass@1", "ratio", _mean_sample, "higher"),
        _row(blank, results, "proposals per problem", "proposals", _mean_of("num_proposals"), "lower"),
        _row(blank, results, "tokens per problem", "tokens", _mean_of("num_tokens"), "lower"),
    ]
    return rows


def summarise_together(names: Sequence[str], results: Sequence[TaskResult], blank: Row) -> list[Row]:
    """How far the verdicts on several data sets together can be trusted, held against the targets."""
    return _trust_rows(
        results, replace(blank, metric=f"{'+'.join(names)}: "), max_risk=MAX_TESTED_RISK, coverage=COVERAGE
    )


def _trust_rows(
    results: Sequence[TaskResult], blank: Row, *, max_risk: float | None = None, coverage: float | None = None
) -> list[Row]:
    """Shares of answers under each verdict, and of wrong ones among them."""
    accepted = [item for item in results if item.is_accepted]
    tested = [item for item in results if item.status in ("TESTED", "PROVED")]
    examples_only = [item for item in results if item.status == "EXAMPLES_PASS"]
    shares: list[Share] = [
        ("answers presented as verified", [item.is_accepted for item in results], "higher", "", None),
        ("wrong among verified", [not item.final for item in accepted], "lower", "answers presented as verified", None),
        ("answers marked TESTED", [item in tested for item in results], "higher", "", coverage),
        ("wrong among TESTED", [not item.final for item in tested], "lower", "answers marked TESTED", max_risk),
        ("wrong among EXAMPLES_PASS", [not item.final for item in examples_only], "lower", "examples alone", None),
    ]
    rows = [_share_row(blank, *share) for share in shares]
    return [*rows, _row(blank, results, f"risk at coverage {COVERAGE}", "ratio", risk_at_coverage, "lower", max_risk)]


def net_errors_removed(results: Sequence[TaskResult]) -> float:
    """Greedy errors mended minus greedily right answers broken, as a share of the greedy errors; 0 without errors."""
    num_errors = sum(not item.greedy for item in results)
    gained = sum(item.final - item.greedy for item in results)
    return gained / num_errors if num_errors else 0.0


def selection_efficiency(results: Sequence[TaskResult]) -> float:
    """What selection gained over the greedy answer, as a share of what it could have gained; 1 if that is nothing."""
    possible = sum(item.any_right - item.greedy for item in results)
    gained = sum(item.selected - item.greedy for item in results)
    return gained / possible if possible else 1.0


def risk_at_coverage(results: Sequence[TaskResult]) -> float:
    """Share of wrong answers among the best-supported ones that make up ``COVERAGE`` of all problems."""
    ranked = sorted(results, key=lambda item: item.strength, reverse=True)
    kept = ranked[: math.ceil(COVERAGE * len(ranked))]
    return statistics.fmean(not item.final for item in kept)


def _mean_sample(results: Sequence[TaskResult]) -> float:
    samples = [item.proposals[1 : 1 + NUM_MEAN_SAMPLES] for item in results]
    shares = [statistics.fmean(hits) for hits in samples if hits]
    return statistics.fmean(shares) if shares else 0.0


def _mean_of(name: str) -> Statistic:
    return lambda results: statistics.fmean(getattr(item, name) for item in results)


def _share_row(blank: Row, metric: str, hits: list[bool], aim: str, baseline: str, target: float | None) -> Row:
    return share_row(replace(blank, metric=f"{blank.metric}{metric}", aim=aim, baseline=baseline), hits, target)


def _row(
    blank: Row,
    results: Sequence[TaskResult],
    metric: str,
    unit: str,
    statistic: Statistic,
    aim: str,
    target: float | None = None,
) -> Row:
    row = replace(blank, metric=f"{blank.metric}{metric}", unit=unit, aim=aim)
    return statistic_row(row, results, statistic, target)
