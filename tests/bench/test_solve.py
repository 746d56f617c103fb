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
from armillary.bench.graded import Graded
from armillary.bench.humaneval import GradedProblem, graded_problems
from armillary.bench.machine import MachineState
from armillary.bench.rows import Row, append_record, read_records
from armillary.bench.solve import DATA_SETS, find_data_set, measure, run, together
from armillary.bench.solve_rows import TaskResult
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.messages import ModelIdentity
from armillary.core.tasks import Budget
from armillary.core.verdicts import Status, Verdict
from armillary.verify.sandbox.client import Sandbox

MACHINE = MachineState("a machine", 2, 0.1, 0.0, "abc")
BUDGET = Budget(num_candidates=3, max_rounds=1)
ADD, SUB, ADD_BASE_ONLY = (f"def add(x, y):\n    return {text}\n" for text in ("x + y", "x - y", "x + abs(y)"))
ROOT = "def root(x):\n    return x ** 0.5\n"
DOUBLE, TRIPLE = "def double(x):\n    return 2 * x\n", "def double(x):\n    return 3 * x\n"
TRUTH = {ADD: judged(3), ADD_BASE_ONLY: judged(3), ROOT: judged(3), DOUBLE: judged(3), TRIPLE: judged(2)}
# Each problem: the loop's requests, then all of its first proposals once more.
SCRIPT = [
    *([SUB], [ADD, SUB], [SUB], [ADD, SUB]),
    *([ROOT], [ROOT, ROOT], [ROOT], [ROOT, ROOT]),
    *([TRIPLE], [TRIPLE, TRIPLE], [DOUBLE], [TRIPLE], [TRIPLE, TRIPLE]),
]
BLANK = Row("", "", 0.0, "", None, "", None, "", 0, None, 2, 0.1, "a machine", "abc")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("B") as jail:
        yield jail


@pytest.fixture
def problems(sandbox: Sandbox, tmp_path: Path) -> list[GradedProblem]:
    return graded_problems(write_data(tmp_path), sandbox, budget=BUDGET)


def model_of(script: list[list[str]]) -> ScriptedModel:
    return ScriptedModel([[fenced(code) for code in codes] for codes in script])


def measured(model: ScriptedModel, problems: list[GradedProblem], folder: Path, **more: Any) -> list[Row]:
    options = {"blank": BLANK, "say": lambda line: None} | more
    return measure(DATA_SETS[0], model, OracleVerifier(TRUTH), problems, folder=folder, **options)


def value_of(rows: list[Row], metric: str) -> float:
    return next(row.value for row in rows if row.metric == f"humaneval: {metric}")


def test_every_stage_is_judged_by_the_hidden_tests(problems: list[GradedProblem], tmp_path: Path) -> None:
    rows = measured(model_of(SCRIPT), problems, tmp_path)
    shares = {
        "greedy pass@1": 1 / 3,
        "mean sample pass@1": 0.5,
        "pass@3": 2 / 3,
        "selected pass@1": 2 / 3,
        "pass@1 after revision": 1.0,
        "net errors removed": 1.0,
        "selection efficiency": 1.0,
        "wrong among verified": 0.0,
        "regressions": 0.0,
    }
    assert {metric: value_of(rows, metric) for metric in shares} == pytest.approx(shares)
    assert value_of(rows, "tokens per problem") > 0


def test_rows_and_results_are_kept(problems: list[GradedProblem], tmp_path: Path) -> None:
    lines: list[str] = []
    rows = measured(model_of(SCRIPT), problems, tmp_path, say=lines.append)
    assert [record["metric"] for record in read_records(tmp_path / "solve.jsonl")] == [row.metric for row in rows]
    kept = list(read_records(tmp_path / "solve-tasks.jsonl"))
    assert [record["task_id"] for record in kept] == ["HumanEval/0", "HumanEval/32", "HumanEval/2"]
    assert lines[0].startswith("1/3 HumanEval/0: greedy wrong, 1 of 3 right, final right as TESTED")


def test_a_stopped_run_goes_on_where_it_was(problems: list[GradedProblem], tmp_path: Path) -> None:
    measured(model_of(SCRIPT[:4]), problems[:1], tmp_path)
    rest = model_of(SCRIPT[4:])
    rows = measured(rest, problems, tmp_path)
    assert len(rest.requests) == 9
    assert value_of(rows, "pass@1 after revision") == 1.0


def test_results_of_other_code_do_not_count_whatever_the_commit(
    problems: list[GradedProblem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(model_of(SCRIPT), problems[:1], tmp_path)
    again = model_of(SCRIPT)
    measured(again, problems[:1], tmp_path, blank=replace(BLANK, commit="def"))
    assert not again.requests
    monkeypatch.setattr(topic, "SOLVING", ("reason/loop.py",))
    measured(again, problems[:1], tmp_path)
    assert len(again.requests) == 4


def test_several_sets_are_counted_together_once_they_are_whole() -> None:
    def result(name: str) -> TaskResult:
        return TaskResult(name, "", {}, (True,), True, True, True, True, "TESTED", True, 3.0, "accepted", 1, 1)

    whole = [result(f"HumanEval/{number}") for number in range(164)] + [result(f"MBPP/{n}") for n in range(11, 511)]
    rows = together([*whole, result("weekly-contest")], BLANK)
    assert {row.n for row in rows if "TESTED" in row.metric} == {664}
    assert {row.metric.partition(": ")[0] for row in rows} == {"humaneval+mbpp"}
    assert together(whole[1:], BLANK) == []


def test_a_single_proposal_has_no_ceiling_above_it(sandbox: Sandbox, tmp_path: Path) -> None:
    alone = graded_problems(write_data(tmp_path), sandbox, 1, budget=Budget(num_candidates=1, max_rounds=0))
    rows = measured(model_of([[ADD], [ADD]]), alone, tmp_path)
    assert value_of(rows, "pass@1") == 1.0


def test_results_in_another_form_are_refused(problems: list[GradedProblem], tmp_path: Path) -> None:
    append_record(tmp_path / "solve-tasks.jsonl", {"task_id": "HumanEval/0"})
    with pytest.raises(UsageError, match="another form"):
        measured(model_of(SCRIPT), problems, tmp_path)


def test_an_accepted_answer_that_the_extra_inputs_break_is_wrong(
    sandbox: Sandbox, problems: list[GradedProblem], tmp_path: Path
) -> None:
    first = problems[0]
    strict = replace(first, problem=replace(first.problem, plus_inputs=((1, -1),)))
    script = [[ADD_BASE_ONLY], [SUB, SUB], [ADD_BASE_ONLY], [SUB, SUB]]
    rows = measured(model_of(script), [strict], tmp_path)
    assert value_of(rows, "pass@1 after revision, base tests") == 1.0
    assert value_of(rows, "wrong among verified") == 1.0


def test_a_problem_that_contradicts_itself_is_counted_as_not_answered(
    problems: list[GradedProblem], tmp_path: Path
) -> None:
    verifier = OracleVerifier({}, on_task=Verdict(Status.SPEC_SUSPECT))
    model = model_of([[ADD], [ADD, ADD]])
    rows = measure(DATA_SETS[0], model, verifier, problems[:1], blank=BLANK, folder=tmp_path)
    assert value_of(rows, "pass@1 after revision") == 0.0
    assert value_of(rows, "answers presented as verified") == 0.0


def test_a_folder_tells_its_data_set(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="known: humaneval, mbpp, contests"):
        find_data_set_name(tmp_path)
    (tmp_path / "mbpp.jsonl").touch()
    assert find_data_set_name(tmp_path) == "mbpp"
    assert find_data_set_name(write_data(tmp_path)) == "humaneval"


def find_data_set_name(folder: Path) -> str:
    return find_data_set(folder).name


def test_without_data_the_topic_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="--data"):
        run(quick=True, data=None, limit=None, noisy=True)


def test_a_noisy_machine_is_refused_before_anything_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "STEAL_WINDOW_S", 0.0)
    monkeypatch.setattr(topic, "observe_machine", lambda: replace(MACHINE, load=99.0))
    with pytest.raises(UsageError, match="not quiet"):
        run(quick=True, data=write_data(tmp_path), limit=None, noisy=False)


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
    assert value_of(rows, "seconds per problem") > 0
    kept = list(read_records(tmp_path / "benchmarks" / "results" / "solve.jsonl"))
    assert {record["is_partial"] for record in kept} == {True}


def test_candidates_of_a_local_model_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "STEAL_WINDOW_S", 0.0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARMILLARY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ARMILLARY_MINIMUM_TIER", "B")
    monkeypatch.setattr(topic, "BUDGET", Budget(num_candidates=2, max_rounds=0))
    # The loop and the ceiling share what is recorded; the clock asks anew, with a verifier and without one.
    model = model_of([[ADD]] * 6)
    monkeypatch.setattr(ScriptedModel, "model", ModelIdentity("org/coder-0.5b.gguf", "0" * 64))
    monkeypatch.setattr(topic.stack, "generator_for", lambda settings: model)
    run(quick=True, data=write_data(tmp_path), limit=1, noisy=True)
    assert len(model.requests) == 6
    [path] = (tmp_path / "benchmarks" / "recordings").iterdir()
    assert path.name == "humaneval-coder-0.5b.jsonl"


def test_every_problem_is_graded(problems: list[GradedProblem]) -> None:
    graded: list[Graded] = list(problems)
    assert [item.id for item in graded] == ["HumanEval/0", "HumanEval/32", "HumanEval/2"]
    assert {item.group for item in graded} == {""}
