"""Traces that earlier versions wrote are derived again by this one, verdict for verdict and choice for choice.

They are never written anew: a version that cannot replay one has changed what a verdict means, or how it chooses. The
latter is allowed, and then the number of the rules (``reason.events``) is a higher one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from armillary.core.trace import read_trace
from armillary.reason.replay import replay_trace
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.verifier import CodeVerifier

FOLDER = Path(__file__).parent
TRACES = sorted((FOLDER / "traces").glob("*.jsonl"))
# A scripted model's: one is repaired in its second round, one is chosen by the model's own tests.
DECISIONS = sorted((FOLDER / "decisions").glob("*.jsonl"))


def test_there_are_golden_traces() -> None:
    assert TRACES
    assert DECISIONS


@pytest.mark.parametrize("path", [*TRACES, *DECISIONS], ids=lambda path: path.stem)
def test_a_golden_trace_replays(path: Path) -> None:
    with Sandbox() as sandbox:
        report = replay_trace(path, CodeVerifier(sandbox))
    assert [(row.attempt, row.differences) for row in report.verdicts.rows if row.differences] == []
    differences = [(row.about, row.differences) for row in report.decisions.rows if row.differences]
    assert differences == [] or not report.decisions.is_binding
    assert report.matches


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_golden_trace_holds_a_repair_by_a_real_model(path: Path) -> None:
    events = list(read_trace(path))
    statuses = {event.body["verdict"]["status"] for event in events if event.kind == "verdict"}
    assert statuses >= {"REFUTED", "TESTED"}
    assert events[0].body["model"]["sha256"]
    assert events[-1].body["status"] == "TESTED"
