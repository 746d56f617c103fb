"""The benchmark from problems to rows, on a scripted model, judged in a real jail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_data import write_data
from fake_server import answers, serve
from reason_fakes import OracleVerifier, ScriptedModel, fenced, judged

from armillary.bench import machine as machine_module
from armillary.bench import solve as topic
from armillary.bench.humaneval import Problem, load_problems
from armillary.bench.machine import MachineState
from armillary.bench.rows import Row, append_record, read_records
from armillary.bench.solve import TaskResult, measure, net_errors_removed, run, summarise
from armillary.core.errors import UsageError
from armillary.core.tasks import Budget
from armillary.core.verdicts import Status, Verdict
from armillary.verify.sandbox.client import Sandbox

MACHINE = MachineState("a machine", 2, 0.1, 0.0, "abc")
BUDGET = Budget(num_candidates=3, max_rounds=1)
ADD, SUB, ADD_BASE_ONLY = (f"def add(x, y):\n    return {text}\n" for text in ("x + y", "x - y", "x + abs(y)"))
ROOT = "def root(x):\n    return x ** 0.5\n"
DOUBLE, TRIPLE = "def double(x):\n    return 2 * x\n", "def double(x):\n    return 3 * x\n"
TRUTH = {ADD: judged(3), ADD_BASE_ONLY: judged(3), ROOT: judged(3), DOUBLE: judged(3), TRIPLE: judged(2)}
SCRIPT = [[SUB], [ADD, SUB], [ROOT], [ROOT, ROOT], [TRIPLE], [TRIPLE, TRIPLE], [DOUBLE]]
BLANK = Row("", "", 0.0, "", None, "", None, "", 0, None, 2, 0.1, "a machine", "abc")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("B") as jail:
        yield jail


@pytest.fixture
def problems(tmp_path: Path) -> list[Problem]:
    return load_problems(write_data(tmp_path))


def model_of(script: list[list[str]]) -> ScriptedModel:
    return ScriptedModel([[fenced(code) for code in codes] for codes in script])


def measured(model: ScriptedModel, sandbox: Sandbox, problems: list[Problem], folder: Path, **more: Any) -> list[Row]:
    options = {"blank": BLANK, "budget": BUDGET, "say": lambda line: None} | more
    return measure(model, OracleVerifier(TRUTH), sandbox, problems, folder=folder, **options)


def value_of(rows: list[Row], metric: str) -> float:
    return next(row.value for row in rows if row.metric == metric)


def test_every_stage_is_judged_by_the_hidden_tests(sandbox: Sandbox, problems: list[Problem], tmp_path: Path) -> None:
    rows = measured(model_of(SCRIPT), sandbox, problems, tmp_path)
    shares = {
        "greedy pass@1": 1 / 3,
        "mean sample pass@1": 0.5,
        "pass@3": 2 / 3,
        "selected pass@1": 2 / 3,
        "pass@1 after revision": 1.0,
        "net errors removed": 1.0,
        "false accepts": 0.0,
        "regressions": 0.0,
        "errors reachable by selection": 0.5,
    }
    assert {metric: value_of(rows, metric) for metric in shares} == pytest.approx(shares)
    assert value_of(rows, "tokens per task") > 0


def test_the_row_of_many_answers_says_that_the_first_was_not_sampled(
    sandbox: Sandbox, problems: list[Problem], tmp_path: Path
) -> None:
    rows = measured(model_of(SCRIPT), sandbox, problems, tmp_path)
    baseline = next(row.baseline for row in rows if row.metric == "pass@3")
    assert baseline == "ceiling of selection: 1 greedy answer and 2 samples"


def test_rows_and_results_are_kept(sandbox: Sandbox, problems: list[Problem], tmp_path: Path) -> None:
    lines: list[str] = []
    rows = measured(model_of(SCRIPT), sandbox, problems, tmp_path, say=lines.append)
    assert [record["metric"] for record in read_records(tmp_path / "solve.jsonl")] == [row.metric for row in rows]
    kept = list(read_records(tmp_path / "solve-tasks.jsonl"))
    assert [record["task_id"] for record in kept] == ["HumanEval/0", "HumanEval/32", "HumanEval/2"]
    assert lines[0].startswith("1/3 HumanEval/0: greedy wrong, samples 1/2, final right as TESTED")


def test_a_stopped_run_goes_on_where_it_was(sandbox: Sandbox, problems: list[Problem], tmp_path: Path) -> None:
    measured(model_of(SCRIPT[:2]), sandbox, problems[:1], tmp_path)
    rest = model_of(SCRIPT[2:])
    rows = measured(rest, sandbox, problems, tmp_path)
    assert len(rest.requests) == 5
    assert value_of(rows, "pass@1 after revision") == 1.0


def test_results_of_another_commit_or_budget_do_not_count(
    sandbox: Sandbox, problems: list[Problem], tmp_path: Path
) -> None:
    measured(model_of(SCRIPT), sandbox, problems[:1], tmp_path)
    again = model_of(SCRIPT)
    measured(again, sandbox, problems[:1], tmp_path, blank=replace(BLANK, commit="def"))
    assert len(again.requests) == 2
    fewer = model_of([[SUB]])
    measured(fewer, sandbox, problems[:1], tmp_path, budget=Budget(num_candidates=1, max_rounds=0))
    assert len(fewer.requests) == 1


def test_results_in_another_form_are_refused(sandbox: Sandbox, problems: list[Problem], tmp_path: Path) -> None:
    append_record(tmp_path / "solve-tasks.jsonl", {"task_id": "HumanEval/0"})
    with pytest.raises(UsageError, match="another form"):
        measured(model_of(SCRIPT), sandbox, problems, tmp_path)


def test_an_accepted_answer_that_the_extra_inputs_break_is_a_false_accept(
    sandbox: Sandbox, problems: list[Problem], tmp_path: Path
) -> None:
    wrong = replace(problems[0], plus_inputs=((1, -1),))
    rows = measured(model_of([[ADD_BASE_ONLY], [SUB, SUB]]), sandbox, [wrong], tmp_path)
    assert value_of(rows, "false accepts") == 0.0
    assert value_of(rows, "false accepts, plus tests") == 1.0


def test_a_problem_that_contradicts_itself_is_counted_as_not_answered(
    sandbox: Sandbox, problems: list[Problem], tmp_path: Path
) -> None:
    verifier = OracleVerifier({}, on_task=Verdict(Status.SPEC_SUSPECT))
    rows = measure(model_of([]), verifier, sandbox, problems[:1], blank=BLANK, folder=tmp_path)
    assert value_of(rows, "pass@1 after revision") == 0.0
    assert value_of(rows, "answers presented as verified") == 0.0


def result(*, greedy: bool, final: bool, samples: tuple[bool, ...] = (True,)) -> TaskResult:
    return TaskResult("t", {}, greedy, samples, greedy, final, greedy, final, final, "X", "accepted", 10, 1.0, 0.5)


def test_what_was_broken_counts_against_what_was_mended() -> None:
    mended, broken = result(greedy=False, final=True), result(greedy=True, final=False)
    assert net_errors_removed([mended, mended, broken]) == 0.5
    assert net_errors_removed([broken]) == 0.0


def test_a_run_without_samples_or_errors_has_its_rows_all_the_same() -> None:
    rows = summarise([result(greedy=True, final=False, samples=())], BLANK)
    assert value_of(rows, "mean sample pass@1") == 0.0
    assert value_of(rows, "regressions") == 1.0
    assert next(row for row in rows if row.metric == "errors reachable by selection").n == 0
    assert next(row for row in rows if row.metric == "false accepts").interval is None


def test_without_data_the_topic_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="--data"):
        run(quick=True, data=None, limit=None, noisy=True)


def test_a_noisy_machine_is_refused_before_anything_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "STEAL_WINDOW_S", 0.0)
    monkeypatch.setattr(topic, "observe_machine", lambda: replace(MACHINE, load=99.0))
    with pytest.raises(UsageError, match="not quiet"):
        run(quick=True, data=tmp_path, limit=None, noisy=False)


def test_the_topic_runs_on_the_model_that_the_settings_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "STEAL_WINDOW_S", 0.0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARMILLARY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ARMILLARY_MINIMUM_TIER", "B")
    with serve(answers(fenced(ADD))) as server:
        monkeypatch.setenv("ARMILLARY_REMOTE_URL", server.url)
        rows = run(quick=True, data=write_data(tmp_path), limit=1, noisy=True)
    assert value_of(rows, "pass@1 after revision") == 1.0
    assert value_of(rows, "answers presented as verified") == 1.0
    kept = list(read_records(tmp_path / "benchmarks" / "results" / "solve.jsonl"))
    assert {record["is_partial"] for record in kept} == {True}
