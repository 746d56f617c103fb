"""Replaying traces from the command line, with the real verifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from armillary.core.trace import Trace, read_trace
from armillary.reason.events import RULES

Run = Callable[..., Any]
TASK = 'prompt: Double it.\nsignature: "def f(n: int) -> int"\nexamples:\n  - f(3) == 6\n'
RIGHT = "```python\ndef f(n):\n    return 2 * n\n```"
WRONG = "```python\ndef f(n):\n    return n + 1\n```"


@pytest.fixture
def trace(armillary: Run, scripted: Run, tmp_path: Path) -> Path:
    (tmp_path / "task.yaml").write_text(TASK)
    scripted(WRONG, RIGHT)
    assert armillary("solve", "task.yaml", "--candidates", "2", "--trace", "run.jsonl").code == 0
    return tmp_path / "run.jsonl"


def rewritten(trace: Path, change: Callable[[str, dict[str, Any]], bool]) -> str:
    """The same events in a sound chain of their own, each changed in place or left out."""
    path = trace.with_name("other.jsonl")
    with Trace(path) as other:
        for event in read_trace(trace):
            body: dict[str, Any] = dict(event.body)
            if change(event.kind, body):
                other.append(event.kind, body)
    return str(path)


def test_every_verdict_comes_out_the_same(armillary: Run, trace: Path) -> None:
    ran = armillary("replay", str(trace))
    assert (ran.code, ran.out) == (0, "2 of 2 verdicts and 4 of 4 decisions came out the same\n")
    assert ran.err == (
        "a0: REFUTED, the same again\na1: EXAMPLES_PASS, the same again\n"
        "more proposals after 1: the same again\nno more proposals after 2: the same again\n"
        "choice of a1: the same again\nanswer a1, EXAMPLES_PASS: the same again\n"
    )


def test_json_holds_every_row(armillary: Run, trace: Path) -> None:
    body = armillary("replay", str(trace), "--json").json
    assert body["matches"] is True
    assert body["rows"][0] == {
        "attempt": "a0",
        "recorded": "REFUTED",
        "replayed": "REFUTED",
        "differences": [],
        "note": "",
    }
    assert body["decisions"][2] == {"event": 8, "about": "choice of a1", "differences": []}
    assert (body["notes"], body["problems"], body["unjudged"]) == ([], [], [])


def test_a_report_is_written_beside_the_replay(armillary: Run, trace: Path, tmp_path: Path) -> None:
    ran = armillary("replay", str(trace), "--report", "run.html")
    assert (ran.code, ran.out) == (0, "2 of 2 verdicts and 4 of 4 decisions came out the same\n")
    assert ran.err.startswith("report run.html\n")
    assert "return 2 * n" in "".join(ElementTree.parse(tmp_path / "run.html").getroot().itertext())


def test_a_report_is_written_of_a_trace_that_was_cut_short(armillary: Run, trace: Path, tmp_path: Path) -> None:
    trace.write_bytes(trace.read_bytes()[:-100])
    assert armillary("replay", str(trace), "--report", "run.html").code == 1
    assert "cut short" in (tmp_path / "run.html").read_text()


def test_a_report_never_overwrites(armillary: Run, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "run.html").write_text("mine")
    ran = armillary("replay", str(trace), "--report", "run.html")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: run.html exists already (a report never overwrites; name another file)\n"


def test_another_code_under_the_same_verdict_is_a_mismatch(armillary: Run, trace: Path) -> None:
    def swap(kind: str, body: dict[str, Any]) -> bool:
        if kind == "attempt" and body["id"] == "a1":
            body["code"] = "def f(n):\n    return 7\n"
        return True

    ran = armillary("replay", rewritten(trace, swap))
    assert (ran.code, ran.out) == (1, "1 of 2 verdicts and 4 of 4 decisions came out the same\n")
    assert "a1: MISMATCH, was EXAMPLES_PASS, is REFUTED; differs in " in ran.err


def test_another_choice_than_the_verdicts_lead_to_is_a_mismatch(armillary: Run, trace: Path) -> None:
    def prefer(kind: str, body: dict[str, Any]) -> bool:
        if kind == "selection":
            body["chosen"] = "a0"
        return True

    ran = armillary("replay", rewritten(trace, prefer))
    assert (ran.code, ran.out) == (1, "2 of 2 verdicts and 3 of 4 decisions came out the same\n")
    assert "choice of a0: MISMATCH at event 8, chosen was a0, is a1\n" in ran.err


def test_what_the_model_said_of_its_own_answers_is_read_and_tried_again(
    armillary: Run, scripted: Run, tmp_path: Path
) -> None:
    (tmp_path / "task.yaml").write_text(TASK)
    scripted(RIGHT, "```python\ndef f(n):\n    return 6\n```", *["assert f(0) == 0\n"] * 5)
    armillary("solve", "task.yaml", "--candidates", "2", "--trace", "voted.jsonl")
    ran = armillary("replay", "voted.jsonl")
    assert ran.code == 0, ran.err
    assert "1 test by the model on 1 input: the same again\n" in ran.err

    def silence(kind: str, body: dict[str, Any]) -> bool:
        if kind == "votes":
            body["answers"] = []
        return True

    ran = armillary("replay", rewritten(tmp_path / "voted.jsonl", silence))
    assert ran.code == 1
    assert "1 test by the model on 1 input: MISMATCH at event 9, tests was " in ran.err


def test_a_trace_by_other_rules_is_told_and_passes(armillary: Run, trace: Path) -> None:
    def older(kind: str, body: dict[str, Any]) -> bool:
        if kind == "header":
            del body["rules"]
        if kind == "selection":
            body["share"] = 0.25
        return True

    ran = armillary("replay", rewritten(trace, older))
    assert (ran.code, ran.out) == (0, "2 of 2 verdicts and 3 of 4 decisions came out the same\n")
    assert f"\nnote: its decisions were taken by other rules than this version's (0, here {RULES}): " in ran.err


def test_other_words_of_a_prover_are_told_beside_the_verdict(armillary: Run, trace: Path) -> None:
    pytest.importorskip("crosshair", reason="the extra `symbolic` is not installed")

    def prove(kind: str, body: dict[str, Any]) -> bool:
        if kind == "verdict":
            prover = {"tools": {"crosshair-tool": "0.0.1"}, "cpu_s": 1.0, "max_paths": 9}
            body["verdict"] = {**body["verdict"], "prover": prover}
            if body["attempt"] == "a0":
                body["verdict"]["status"] = "TESTED"
        return True

    ran = armillary("replay", rewritten(trace, prove))
    assert ran.code == 1
    note = " (the prover was crosshair-tool 0.0.1, 1 CPU-s and 9 paths for each promise, is none)\n"
    assert f"a0: MISMATCH, was TESTED, is REFUTED; differs in status{note}" in ran.err
    assert f"a1: EXAMPLES_PASS, the same again{note}" in ran.err


def test_a_verdict_and_an_answer_that_are_missing_are_told(armillary: Run, trace: Path) -> None:
    def cut(kind: str, body: dict[str, Any]) -> bool:
        return kind != "answer" and not (kind == "verdict" and body["attempt"] == "a1")

    ran = armillary("replay", rewritten(trace, cut))
    assert ran.code == 1
    assert "a1: was never judged\n" in ran.err
    assert "problem: the trace has no answer: the run was interrupted\n" in ran.err


def test_a_trace_cut_in_a_line_is_one_line(armillary: Run, trace: Path) -> None:
    content = trace.read_bytes()
    trace.write_bytes(content[: len(content) - 100])
    ran = armillary("replay", str(trace))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"error: {trace}:")
    assert "cut short" in ran.err
    assert ran.err.count("\n") == 1


def test_a_changed_line_is_named(armillary: Run, trace: Path) -> None:
    trace.write_text(trace.read_text().replace("2 * n", "3 * n", 1))
    ran = armillary("replay", str(trace))
    assert ran.code == 1
    assert "was changed after it was written" in ran.err


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        ("nothing.jsonl", 3, "error: no trace at nothing.jsonl\n"),
        (".", 2, "error: . is a folder, not a trace\n"),
        ("binary.jsonl", 1, "error: binary.jsonl: not UTF-8 text"),
        ("empty.jsonl", 1, "error: empty.jsonl: no header or no task event"),
        ("task.yaml", 1, "error: task.yaml:1: not a trace event"),
    ],
)
def test_what_is_no_trace_is_one_line(armillary: Run, tmp_path: Path, name: str, code: int, line: str) -> None:
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\n")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "task.yaml").write_text(TASK)
    ran = armillary("replay", name)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(line)
    assert ran.err.count("\n") == 1
