"""Learning from labelled tasks on the command line, and what solve shows afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from armillary.core.verdicts import Status
from armillary.reason.evidence import Evidence, evidence_to_json

Run = Callable[..., Any]
TASK = 'prompt: Double it.\nsignature: "def f(n: int) -> int"\nexamples:\n  - f(1) == 2\n  - f(3) == 6\n'
RIGHT = "```python\ndef f(n):\n    return 2 * n\n```"
STRONG = Evidence(Status.TESTED, num_examples=3, num_inputs=200, num_agreeing=7, num_rivals=8)
WEAK = Evidence(Status.EXAMPLES_PASS, num_examples=1, num_agreeing=1, num_rivals=8)


def write_labels(folder: Path, *groups: tuple[Evidence, int, int], model: str = "") -> None:
    """Labels of so many right and so many wrong answers for each evidence."""
    lines = []
    for evidence, num_right, num_wrong in groups:
        for is_right in [True] * num_right + [False] * num_wrong:
            line = {"evidence": evidence_to_json(evidence), "is_right": is_right}
            lines.append(json.dumps(line | ({"model": {"name": model, "sha256": ""}} if model else {})))
    (folder / "labels.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def labels(tmp_path: Path) -> None:
    write_labels(tmp_path, (STRONG, 57, 3), (WEAK, 20, 20))


def test_the_table_goes_to_stdout_the_strongest_evidence_first(armillary: Run, home: Path) -> None:
    ran = armillary("calibrate", "labels.jsonl")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[0].split() == ["evidence", "from", "labels", "wrong", "risk", "95", "%", "interval"]
    assert lines[1].split() == [f"{STRONG.strength:.2f}", "60", "3", "5", "%", "2", "to", "14", "%"]
    assert lines[2].split() == [f"{WEAK.strength:.2f}", "40", "20", "50", "%", "35", "to", "65", "%"]
    assert lines[3] == "100 labels, 23 wrong"
    assert lines[4].startswith("area under the risk-coverage curve: 0.122, 0.230 if evidence told nothing")
    assert "on labels that were left out, risks are off by " in lines[5]
    assert ran.err == f"calibration {home / 'calibration.json'}\n"


def test_json_holds_groups_and_curve(armillary: Run) -> None:
    body = armillary("calibrate", "labels.jsonl", "--json").json
    assert [group["num_labels"] for group in body["groups"]] == [40, 60]
    assert [point["coverage"] for point in body["curve"]] == [0.6, 1.0]
    assert body["source"] == "labels.jsonl"


def test_plot_and_data_are_written(armillary: Run, tmp_path: Path) -> None:
    ran = armillary("calibrate", "labels.jsonl", "--plot", "risk.svg", "--data", "risk.csv")
    assert ran.err.startswith("plot risk.svg\ndata risk.csv\n")
    ElementTree.parse(tmp_path / "risk.svg")
    assert (tmp_path / "risk.csv").read_text().splitlines()[1].split(",")[1:4] == ["60", "0.600000", "3"]


def test_groups_can_be_made_larger(armillary: Run) -> None:
    assert len(armillary("calibrate", "labels.jsonl", "--min-group", "50", "--json").json["groups"]) == 1


def test_the_model_is_named(armillary: Run, tmp_path: Path) -> None:
    write_labels(tmp_path, (STRONG, 20, 3), model="scripted")
    assert "23 labels, 3 wrong, model scripted\n" in armillary("calibrate", "labels.jsonl").out


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        ('{"is_right": true}\n', 2, "error: labels.jsonl:1: not a label: it needs either a trace or evidence\n"),
        ("", 2, "error: 0 labels say too little about a risk (label at least 20 tasks)\n"),
        (
            '{"trace": "gone.jsonl", "is_right": true}\n',
            3,
            "error: labels.jsonl names traces that are not there: gone.jsonl of line 1\n",
        ),
    ],
)
def test_bad_labels_are_one_line(armillary: Run, tmp_path: Path, content: str, code: int, line: str) -> None:
    (tmp_path / "labels.jsonl").write_text(content)
    ran = armillary("calibrate", "labels.jsonl")
    assert (ran.code, ran.out, ran.err) == (code, "", line)


def solve(armillary: Run, scripted: Run, *arguments: str) -> Any:
    Path("task.yaml").write_text(TASK)
    scripted(RIGHT)
    return armillary("solve", "task.yaml", "--candidates", "1", *arguments)


def calibrate_on(armillary: Run, tmp_path: Path, *, model: str = "") -> None:
    bare = Evidence(Status.EXAMPLES_PASS)
    write_labels(tmp_path, (bare, 38, 2), (Evidence(Status.UNKNOWN), 5, 5), model=model)
    assert armillary("calibrate", "labels.jsonl").code == 0


def test_solve_shows_the_risk_of_its_answer(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    calibrate_on(armillary, tmp_path)
    ran = solve(armillary, scripted)
    assert "\n  risk of being wrong: 5 % (1 to 17 %, 95 %, 40 of your labelled tasks)\n" in ran.err
    risk = solve(armillary, scripted, "--json").json["risk"]
    assert (risk["probability"], risk["num_labels"], risk["source"]) == (0.05, 40, "labels.jsonl")


def test_without_a_calibration_solve_shows_no_risk(armillary: Run, scripted: Run) -> None:
    assert "risk of being wrong" not in solve(armillary, scripted).err
    assert solve(armillary, scripted, "--json").json["risk"] is None


def test_the_risk_of_another_models_answers_is_not_shown(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    calibrate_on(armillary, tmp_path, model="another")
    assert "risk of being wrong" not in solve(armillary, scripted).err


def test_a_damaged_calibration_stops_solve_before_it_begins(armillary: Run, scripted: Run, home: Path) -> None:
    home.mkdir()
    (home / "calibration.json").write_text("{}")
    ran = solve(armillary, scripted)
    assert (ran.code, ran.out) == (2, "")
    assert "run armillary calibrate again" in ran.err
