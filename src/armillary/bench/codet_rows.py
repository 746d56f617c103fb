"""Count how many choices among recorded programs are right, by several rules. Chooses nothing itself.

There is no greedy answer among the recordings: what a choice is compared with is the mean sample.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from armillary.bench.codet_choice import Rule, by_agreement, by_dual_agreement, by_model_tests, first_passing
from armillary.bench.codet_judge import JudgedProblem, Judgement
from armillary.bench.rows import Row
from armillary.bench.solve_rows import MIN_EFFICIENCY
from armillary.bench.statistics_rows import share_row, statistic_row, with_target

NAME = "codegen"
NUM_SAMPLES = (16, 100)
MIN_REMOVED = 0.45
OWN_RULE = "selected by examples, agreement and the model's tests"
PUBLISHED = "CodeT as released; its README: 47.0 to 65.8 % with code-davinci-002, no number for these samples"
RULES: dict[str, tuple[Rule, str]] = {
    "first that passes its examples": (first_passing, "mean sample pass@1"),
    "selected by examples and agreement": (by_agreement, "mean sample pass@1"),
    OWN_RULE: (by_model_tests, "mean sample pass@1"),
    "selected by CodeT's rule, without examples": (by_dual_agreement, PUBLISHED),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of one problem.

    Attributes:
        mean: share of right samples.
        best: whether any is right.
        chosen: whether what a rule chose is right.
    """

    mean: float
    best: bool
    chosen: bool


def summarise(problems: Sequence[JudgedProblem], blank: Row) -> list[Row]:
    """All metrics, by HumanEval+ and by HumanEval's own tests, for the first samples and for all.

    Args:
        problems: at least one; all are judged by as many samples as each of them has.
        blank: a row with the machine's fields filled in.
    """
    num_common = min(len(problem.programs) for problem in problems)
    sizes = sorted({min(size, num_common) for size in NUM_SAMPLES})
    grades: dict[str, Callable[[Judgement], bool]] = {
        "": lambda item: item.is_right,
        ", base tests": lambda item: item.is_right_by_base,
    }
    rows = []
    for size in sizes:
        for grade, is_right in grades.items():
            rows += _rows(problems, size, is_right, replace(blank, metric=f", {size} samples{grade}"))
    return rows


def net_errors_removed(tallies: Sequence[Tally]) -> float:
    """What choosing gained over the mean sample, as a share of its errors; 0 without errors."""
    errors = sum(1 - item.mean for item in tallies)
    return sum(item.chosen - item.mean for item in tallies) / errors if errors else 0.0


def selection_efficiency(tallies: Sequence[Tally]) -> float:
    """The same as a share of what it could have gained; 1 if that is nothing."""
    possible = sum(item.best - item.mean for item in tallies)
    return sum(item.chosen - item.mean for item in tallies) / possible if possible else 1.0


def _rows(problems: Sequence[JudgedProblem], size: int, is_right: Callable[[Judgement], bool], blank: Row) -> list[Row]:
    graded = [[is_right(item) for item in problem.judgements[:size]] for problem in problems]
    plain = [Tally(statistics.fmean(hits), any(hits), chosen=hits[0]) for hits in graded]
    rows = [
        _row(blank, "mean sample pass@1", plain, lambda items: statistics.fmean(item.mean for item in items)),
        _share_row(blank, f"pass@{size}", [item.best for item in plain], "ceiling of selection"),
    ]
    for name, (rule, baseline) in RULES.items():
        choices = [rule(problem, size) for problem in problems]
        tallies = [
            replace(tally, chosen=number is not None and hits[number])
            for tally, number, hits in zip(plain, choices, graded, strict=True)
        ]
        rows += [
            _share_row(blank, name, [item.chosen for item in tallies], baseline),
            _row(blank, f"net errors of the mean sample removed, {name}", tallies, net_errors_removed),
            _row(blank, f"selection efficiency, {name}", tallies, selection_efficiency),
        ]
    return [_with_target(row) for row in rows]


def _row(blank: Row, metric: str, tallies: Sequence[Tally], statistic: Callable[[Sequence[Tally]], float]) -> Row:
    row = replace(blank, metric=f"{NAME}: {metric}{blank.metric}", unit="ratio", aim="higher")
    return statistic_row(row, tallies, statistic)


def _share_row(blank: Row, metric: str, hits: Sequence[bool], baseline: str) -> Row:
    return share_row(replace(blank, metric=f"{NAME}: {metric}{blank.metric}", aim="higher", baseline=baseline), hits)


def _with_target(row: Row) -> Row:
    """The loop's own choice is held to what the loop is held to; by the larger set of tests, as there."""
    if OWN_RULE not in row.metric or row.metric.endswith("base tests"):
        return row
    targets = {"net errors": MIN_REMOVED, "selection efficiency": MIN_EFFICIENCY}
    return with_target(row, next((value for word, value in targets.items() if word in row.metric), None))
