from __future__ import annotations

from dataclasses import replace

import pytest

from armillary.bench.rows import Row
from armillary.bench.solve_rows import (
    TaskResult,
    net_errors_removed,
    risk_at_coverage,
    selection_efficiency,
    summarise,
    summarise_together,
)

BLANK = Row("", "", 0.0, "", None, "", None, "", 0, None, 2, 0.1, "a machine", "abc")
RIGHT = TaskResult(
    task_id="t",
    group="",
    settings={"budget": {"num_candidates": 3}},
    proposals=(True, True, False),
    greedy_base=True,
    selected=True,
    final=True,
    final_base=True,
    status="TESTED",
    is_accepted=True,
    strength=3.5,
    stopped_by="accepted",
    num_proposals=2,
    num_tokens=10,
)
MENDED = replace(RIGHT, proposals=(False, True, False), status="EXAMPLES_PASS", strength=2.5)
BROKEN = replace(RIGHT, final=False, selected=False, strength=2.0)
LOST = replace(
    RIGHT, proposals=(False, False), selected=False, final=False, is_accepted=False, status="REFUTED", strength=0
)


def value_of(rows: list[Row], metric: str) -> float:
    return next(row.value for row in rows if row.metric == f"set: {metric}")


def test_what_was_broken_counts_against_what_was_mended() -> None:
    assert net_errors_removed([MENDED, MENDED, LOST, BROKEN]) == pytest.approx(1 / 3)
    assert net_errors_removed([BROKEN]) == 0.0


def test_efficiency_is_the_share_of_what_selection_could_gain() -> None:
    assert selection_efficiency([MENDED, replace(MENDED, selected=False)]) == 0.5
    assert selection_efficiency([RIGHT, LOST]) == 1.0


def test_risk_is_that_of_the_best_supported_answers() -> None:
    assert risk_at_coverage([RIGHT, MENDED, LOST]) == 0.0
    assert risk_at_coverage([replace(RIGHT, final=False), MENDED, LOST]) == 0.5


def test_every_row_names_its_data_set() -> None:
    rows = summarise("set", [RIGHT, MENDED, BROKEN, LOST], BLANK, removed_target=0.4)
    expected = {
        "greedy pass@1": 0.5,
        "pass@3": 0.75,
        "selected pass@1": 0.5,
        "pass@1 after revision": 0.5,
        "answers presented as verified": 0.75,
        "wrong among verified": 1 / 3,
        "answers marked TESTED": 0.5,
        "wrong among TESTED": 0.5,
        "wrong among EXAMPLES_PASS": 0.0,
        "net errors removed": 0.0,
        "regressions": 1.0,
        "mean sample pass@1": 3.5 / 8,
    }
    assert {name: value_of(rows, name) for name in expected} == pytest.approx(expected | {"mean sample pass@1": 0.375})
    assert {row.metric.partition(": ")[0] for row in rows} == {"set"}


def test_targets_are_held_against_their_rows() -> None:
    rows = {row.metric: row for row in summarise("set", [MENDED, LOST], BLANK, removed_target=0.4)}
    assert (rows["set: net errors removed"].target, rows["set: net errors removed"].holds) == (0.4, True)
    assert rows["set: regressions"].holds is True
    assert rows["set: selection efficiency"].holds is True
    assert rows["set: greedy pass@1"].target is None


def test_groups_are_told_apart() -> None:
    rows = summarise("set", [replace(RIGHT, group="Easy"), replace(LOST, group="Hard")], BLANK, removed_target=None)
    assert value_of(rows, "pass@1 after revision, Easy") == 1.0
    assert value_of(rows, "pass@1 after revision, Hard") == 0.0


def test_a_run_without_samples_or_errors_has_its_rows_all_the_same() -> None:
    rows = summarise("set", [replace(RIGHT, proposals=(True,))], BLANK, removed_target=None)
    assert value_of(rows, "mean sample pass@1") == 0.0
    assert next(row for row in rows if row.metric == "set: wrong among EXAMPLES_PASS").interval is None


def test_verdicts_on_several_sets_are_held_against_their_targets_together() -> None:
    rows = {row.metric: row for row in summarise_together(["one", "two"], [RIGHT, RIGHT, BROKEN, LOST], BLANK)}
    marked, wrong = rows["one+two: answers marked TESTED"], rows["one+two: wrong among TESTED"]
    assert (marked.value, marked.target, marked.holds) == (0.75, 0.6, True)
    assert (wrong.value, wrong.target, wrong.holds) == (pytest.approx(1 / 3), 0.03, False)
    assert rows["one+two: wrong among EXAMPLES_PASS"].target is None


def test_a_line_says_what_happened() -> None:
    assert MENDED.line == "t: greedy wrong, 1 of 3 right, final right as EXAMPLES_PASS after 2 proposals, 10 tokens"
