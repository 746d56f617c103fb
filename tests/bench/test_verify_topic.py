"""The topic's rows, on small samples and in real jails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_data import write_data

from armillary.bench import machine as machine_module
from armillary.bench import verify as topic
from armillary.bench.contracts import load_contracts
from armillary.bench.humaneval import HiddenTests, load_problems
from armillary.bench.jail_load import SoakReport
from armillary.bench.machine import MachineState
from armillary.bench.refutation import Recorded, judge_recorded, load_recorded
from armillary.bench.rows import Row, read_records
from armillary.bench.verify import Reporter, measure_contracts, measure_jail, measure_refutations, run
from armillary.core.errors import NotFoundError, UsageError
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.verifier import CodeVerifier

REPORT = Reporter(MachineState("a machine", 2, 0.1, 0.0, "abc"), is_partial=True)
WRONG = "def add(x: int, y: int) -> int:\n    return 3\n"
OTHER = "def add(x: int, y: int) -> int:\n    return y + x\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "humaneval").mkdir()
    (tmp_path / "model_outputs").mkdir()
    write_data(tmp_path / "humaneval")
    rows = [{"task_id": "HumanEval/0", "solution": code} for code in (WRONG, OTHER)]
    lines = [json.dumps(row) for row in (*rows, {"task_id": "HumanEval/99", "solution": ""})]
    (tmp_path / "model_outputs" / "a_seed.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def values(rows: Iterator[Row]) -> dict[str, tuple[float, bool | None]]:
    return {row.metric: (row.value, row.holds) for row in rows}


def test_recorded_programs_are_held_against_the_reference(data: Path) -> None:
    said: list[str] = []
    found = values(measure_refutations(REPORT, data, 1, said.append))
    assert found["wrong programs refuted within 8 s"] == (1.0, True)
    assert found["references refuted"] == (0.0, True)
    assert found["time to the first counterexample"][0] > 0
    assert [line.split(":")[0] for line in said] == [
        "1/3 reference HumanEval/0",
        "2/3 a_seed HumanEval/0",
        "3/3 a_seed HumanEval/0",
    ]


def test_only_what_the_hidden_tests_tell_apart_is_wrong(data: Path) -> None:
    problems = load_problems(data / "humaneval", 1)
    recorded = load_recorded(data / "model_outputs", problems)
    assert recorded[1:] == [Recorded("a_seed", problems[0], WRONG), Recorded("a_seed", problems[0], OTHER)]
    with Sandbox("B") as jail:
        results = list(judge_recorded(recorded, CodeVerifier(jail), HiddenTests(jail)))
    assert [(item.is_wrong, item.is_refuted_in_time) for item in results] == [
        (False, False),
        (True, True),
        (False, False),
    ]


def test_missing_or_foreign_recordings_are_told(data: Path, tmp_path: Path) -> None:
    problems = load_problems(data / "humaneval", 1)
    with pytest.raises(NotFoundError, match="no "):
        load_recorded(data / "humaneval", problems)
    (data / "model_outputs" / "a_seed.jsonl").write_text('{"task_id": "HumanEval/0"}\n')
    with pytest.raises(UsageError, match="no file of recorded programs"):
        load_recorded(data / "model_outputs", problems)


def test_contracts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = values(measure_contracts(REPORT, 2))
    assert found["contracts judged wrongly"] == (0, True)
    assert set(found) == {"contracts proved", "contracts judged wrongly", "contracts refuted"}
    assert len(load_contracts()) >= 40


def test_a_jail_is_timed_and_soaked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "NUM_STARTS", 3)
    monkeypatch.setattr(topic, "THROUGHPUT_S", 0.3)
    found = values(measure_jail(REPORT, num_soak_runs=4))
    assert found["jail start"][0] > 0
    assert found["jail throughput"][0] > 0
    assert found["soak: leaked things"] == (0, True)


def test_without_data_the_topic_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="--data"):
        run(quick=True, data=None, limit=None, noisy=True)


def test_all_parts_are_kept_as_rows(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Jail:
        is_stopped = is_unharmed = beats_in_process = True
        num_left = 0
        accepted_by: tuple[str, ...] = ()

    def nothing(*_: Any, **__: Any) -> list[Jail]:
        return [Jail()]

    monkeypatch.setattr(machine_module, "STEAL_WINDOW_S", 0.0)
    monkeypatch.chdir(tmp_path)
    for name in ("run_attacks", "run_honest", "run_cheats"):
        monkeypatch.setattr(topic, name, nothing)
    monkeypatch.setattr(topic, "NUM_STARTS", 2)
    monkeypatch.setattr(topic, "THROUGHPUT_S", 0.2)
    monkeypatch.setattr(topic, "QUICK_CONTRACTS", 1)
    monkeypatch.setattr(topic, "soak", lambda *_, **__: SoakReport(0, 0, 0, 0, 0, 0, 0))
    rows = run(quick=True, data=data, limit=1, noisy=True)
    kept = list(read_records(tmp_path / "benchmarks" / "results" / "verify.jsonl"))
    assert [record["metric"] for record in kept] == [row.metric for row in rows]
    assert {record["is_partial"] for record in kept} == {True}
    assert {row.metric: row.value for row in rows}["cheats accepted"] == 0
