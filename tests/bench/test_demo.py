"""The demo's benchmark counts the seeds on which a wrong program was refuted and a right one accepted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_server import answers, serve
from reason_fakes import OracleVerifier, ScriptedModel, fenced, judged

from armillary.bench import demo
from armillary.bench.machine import MachineState
from armillary.bench.rows import read_records
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.tasks import Budget, Example, TaskSpec
from armillary.core.verdicts import Status, Verdict

MACHINE = MachineState("a machine", 2, 0.1, 0.0, "abc")
RIGHT, WRONG = "def add(x, y):\n    return x + y\n", "def add(x, y):\n    return x - y\n"
TASK = TaskSpec("Add.", "add", examples=(Example((1, 2), 3),), budget=Budget(num_candidates=2, max_rounds=0))


NO_PROGRAM = "def add(x, y:\n"
UNPARSED = Verdict(Status.REFUTED, reason="not Python")


def rows_of(folder: Path, *seeds: tuple[str, str]) -> dict[str, demo.Row]:
    script = [[fenced(code)] for pair in seeds for code in pair]
    verifier = OracleVerifier({RIGHT: judged(3), WRONG: judged(1), NO_PROGRAM: UNPARSED})
    rows = demo.measure(TASK, ScriptedModel(script), verifier, len(seeds), MACHINE, folder)
    return {row.metric: row for row in rows}


def test_a_seed_counts_when_it_has_a_refuted_and_an_accepted_program(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, (WRONG, RIGHT), (RIGHT, WRONG))
    shown = rows["seeds_with_a_refuted_and_an_accepted_program"]
    assert (shown.value, shown.unit, shown.target, shown.holds) == (2, "of 2", 1.6, True)


@pytest.mark.parametrize("pair", [(RIGHT, RIGHT), (WRONG, WRONG), (NO_PROGRAM, RIGHT)])
def test_a_seed_does_not_count_without_both(tmp_path: Path, pair: tuple[str, str]) -> None:
    shown = rows_of(tmp_path, pair)["seeds_with_a_refuted_and_an_accepted_program"]
    assert (shown.value, shown.holds) == (0, False)


def test_rows_are_on_disk_and_seconds_have_their_spread(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, (WRONG, RIGHT))
    assert len(list(read_records(tmp_path / "demo.jsonl"))) == 2
    seconds = rows["seconds_per_solve"]
    assert seconds.interval is not None
    assert seconds.interval[0] <= seconds.value <= seconds.interval[1]
    assert seconds.holds is None


def test_the_rows_of_a_partial_run_say_so_on_disk(tmp_path: Path) -> None:
    verifier = OracleVerifier({RIGHT: judged(3), WRONG: judged(1)})
    model = ScriptedModel([[fenced(WRONG)], [fenced(RIGHT)]])
    demo.measure(TASK, model, verifier, 1, MACHINE, tmp_path, is_partial=True)
    assert [record["is_partial"] for record in read_records(tmp_path / "demo.jsonl")] == [True, True]


def test_a_folder_without_the_task_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"demo\.yaml"):
        demo.run(quick=True, data=tmp_path, limit=None, noisy=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a run on a quiet machine; holds a task for one greedy answer and one sample."""
    (tmp_path / "demo.yaml").write_text(
        "prompt: Add.\nsignature: 'def add(x: int, y: int) -> int'\n"
        "examples: ['add(1, 2) == 3']\nbudget: {num_candidates: 2, max_rounds: 0}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARMILLARY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ARMILLARY_MINIMUM_TIER", "B")
    monkeypatch.setattr(demo, "observe_machine", lambda: MACHINE)
    return tmp_path


@pytest.mark.parametrize(
    ("quick", "limit", "noisy", "num_seeds", "is_partial"),
    [
        (False, None, False, 10, False),
        (True, None, False, 3, True),
        (False, 1, False, 1, True),
        (False, 10, True, 10, True),
    ],
)
def test_a_run_solves_the_folders_task_with_the_settings_model_and_says_whether_it_is_partial(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    quick: bool,
    limit: int | None,
    noisy: bool,
    num_seeds: int,
    is_partial: bool,
) -> None:
    with serve(answers(fenced(RIGHT))) as server:
        monkeypatch.setenv("ARMILLARY_REMOTE_URL", server.url)
        rows = demo.run(quick=quick, data=folder, limit=limit, noisy=noisy)
    assert {(row.n, row.is_partial) for row in rows} == {(num_seeds, is_partial)}
    assert [body["seed"] for body in server.bodies if body["temperature"] > 0] == list(range(num_seeds))
    kept = list(read_records(folder / "benchmarks" / "results" / "demo.jsonl"))
    assert [record["is_partial"] for record in kept] == [is_partial] * 2


def test_a_noisy_machine_is_refused_before_anything_is_solved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "observe_machine", lambda: replace(MACHINE, load=99.0))
    with pytest.raises(UsageError, match="not quiet"):
        demo.run(quick=True, data=folder, limit=None, noisy=False)
    assert not (folder / "benchmarks").exists()
