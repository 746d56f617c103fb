"""Times of solved problems, on a scripted model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench_data import write_data
from reason_fakes import OracleVerifier, ScriptedModel, fenced, judged

from armillary.bench.humaneval import graded_problems
from armillary.bench.rows import Row
from armillary.bench.solve_times import Timing, time_rows, timed
from armillary.core.messages import Usage
from armillary.core.tasks import Budget
from armillary.core.verdicts import Status, Verdict
from armillary.reason.budget import StopReason
from armillary.reason.search import Solution
from armillary.verify.sandbox.client import Sandbox

ADD = "def add(x, y):\n    return x + y\n"
BLANK = Row("", "", 0.0, "", None, "", None, "", 0, None, 2, 0.1, "a machine", "abc")
SOLUTION = Solution("", Verdict(Status.TESTED), "a0", (), Usage(), 1.0, 4.0, 80.0, StopReason.ACCEPTED)


def test_the_model_answers_the_same_requests_again_without_a_verifier(tmp_path: Path) -> None:
    script = [[fenced(ADD)], [fenced(ADD), fenced(ADD)]]
    model = ScriptedModel(script + script)
    with Sandbox("B") as jail:
        problems = graded_problems(write_data(tmp_path), jail, 1, budget=Budget(num_candidates=3, max_rounds=0))
        [timing] = timed(model, OracleVerifier({ADD: judged(3)}), problems)
    assert model.requests[2:] == model.requests[:2]
    assert timing.solution.attempt_id is not None
    assert timing.plain_tokens_per_s > 0


def test_times_are_rows_with_their_middle() -> None:
    timings = [Timing(SOLUTION, 80.0), Timing(replace(SOLUTION, elapsed_s=6.0), 100.0)]
    rows = {row.metric: row for row in time_rows("set", timings, BLANK)}
    assert rows["set: seconds per problem"].value == 5.0
    assert rows["set: time to first verdict"].value == 1.0
    assert rows["set: tokens per second of model time"].value == 80.0
    kept = rows["set: decode speed kept while verifying"]
    assert (kept.value, kept.target, kept.holds) == (pytest.approx(0.9), 0.9, True)


def test_a_model_that_wrote_nothing_has_no_speed_to_keep() -> None:
    metrics = {row.metric for row in time_rows("set", [Timing(SOLUTION, 0.0)], BLANK)}
    assert "set: decode speed kept while verifying" not in metrics
