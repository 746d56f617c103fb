"""Recorded samples from their files to rows, judged in a real jail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench_data import ADD as ADD_ROW
from codet_data import SOLUTIONS, TESTS, without_examples, write_recordings, write_rows

from armillary.bench import codet
from armillary.bench import machine as machine_module
from armillary.bench.codet_judge import JudgedProblem, judge_all
from armillary.bench.humaneval import GradedProblem
from armillary.bench.rows import Row, append_record, read_records
from armillary.bench.solve import find_data_set, measure_recorded, run
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.tasks import Budget, Example, Parameter, TaskSpec
from armillary.core.verdicts import Status, Verdict
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.verifier import CodeVerifier

BUDGET = Budget()
BLANK = Row("", "", 0.0, "", None, "", None, "", 0, None, 2, 0.1, "a machine", "abc")
NUM_PROGRAMS = 5 + 1 + 5


class CountingVerifier(CodeVerifier):
    """The real verifier, which notes the programs that it was asked about and can be interrupted."""

    def __init__(self, jail: Sandbox, *, interrupted_at: str = "nowhere") -> None:
        super().__init__(jail)
        self.verified: list[str] = []
        self.interrupted_at = interrupted_at

    def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
        if task.entry_point == self.interrupted_at:
            raise KeyboardInterrupt
        self.verified += [code] if code else []
        return super().verify(task, code, seed=seed)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("B", num_cores=2) as jail:
        yield jail


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_recordings(tmp_path)


@pytest.fixture
def problems(folder: Path, sandbox: Sandbox) -> list[GradedProblem]:
    return codet.load_problems(folder, sandbox, budget=BUDGET)


def judge(folder: Path, problems: list[GradedProblem], verifier: CountingVerifier) -> list[JudgedProblem]:
    recordings = codet.read_recordings(folder, problems)
    return judge_all(recordings, verifier, folder / "judged.jsonl", lambda line: None, num_threads=2)


def value_of(rows: list[Row], metric: str) -> float:
    return next(row.value for row in rows if row.metric == f"codegen: {metric}")


def test_recordings_find_their_problems_in_whatever_order(folder: Path, problems: list[GradedProblem]) -> None:
    found = codet.read_recordings(folder, problems)
    assert [item.problem.id for item in found] == ["HumanEval/0", "HumanEval/32", "HumanEval/2"]
    assert all(f"def {item.problem.task.entry_point}(" in code for item in found for code in item.programs)


def test_a_completion_ends_with_the_body_of_its_function(folder: Path, problems: list[GradedProblem]) -> None:
    found = codet.read_recordings(folder, problems)[0]
    assert found.programs[1].endswith("    return x + y\n")
    assert found.programs[0] == found.programs[4]


def test_functions_of_one_name_are_told_apart_by_what_their_prompts_say(
    folder: Path, problems: list[GradedProblem]
) -> None:
    other = 'def add(values):\n    """Add them all.\n    """\n'
    mine = without_examples(ADD_ROW)
    write_rows(folder / SOLUTIONS, [(other, ["    return sum(values)\n"]), (mine, ["    return 1\n"])])
    [found] = codet.read_recordings(folder, problems[:1])
    assert found.programs[0].endswith("return 1\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(1) == 2\n", [((1,), 2)]),
        ("\n    f(1) == 2, 'why'\nassert f(2) is None\n\nimport sys\n", [((1,), 2), ((2,), None)]),
        ("3 == f(x=1)", [((1,), 3)]),
        ("f(1) == 2\nassert f(2", [((1,), 2)]),
        ("f(1) == 2\nand so on\nassert f(3) == (\n", [((1,), 2)]),
        ("____ == f(1)\nassert f(x) == 1\nassert g(1) == 1\nassert f(1)\nassert f(1, 2) == 3\nassert f(1) < 2", []),
        ("".join(f"f({n}) == {n}\nassert " for n in range(9)), [((n,), n) for n in range(5)]),
    ],
)
def test_tests_are_read_where_they_are_calls_with_literals(
    text: str, expected: list[tuple[tuple[int, ...], object]]
) -> None:
    found = codet.read_tests(TaskSpec("", "f", parameters=(Parameter("x"),)), text)
    assert list(found) == [Example(arguments, result, origin="model") for arguments, result in expected]


def test_recordings_without_their_problems_say_what_is_missing(tmp_path: Path, sandbox: Sandbox) -> None:
    folder = write_recordings(tmp_path, with_problems=False)
    with pytest.raises(NotFoundError, match=r"no humaneval/HumanEval.jsonl.gz beside them") as error:
        codet.load_problems(folder, sandbox, budget=BUDGET)
    assert str(tmp_path / "humaneval") in str(error.value.hint)


def test_a_missing_or_foreign_file_is_told(folder: Path, problems: list[GradedProblem]) -> None:
    write_rows(folder / SOLUTIONS, [("def other():\n", ["    return 1\n"])])
    with pytest.raises(NotFoundError, match="nothing for HumanEval/0, add"):
        codet.read_recordings(folder, problems)
    write_rows(folder / SOLUTIONS, [(without_examples(ADD_ROW), [])])
    with pytest.raises(UsageError, match="without samples"):
        codet.read_recordings(folder, problems)
    (folder / SOLUTIONS).write_text('{"prompt": ""}\n')
    with pytest.raises(UsageError, match="no file of recorded samples"):
        codet.read_recordings(folder, problems)
    (folder / TESTS).unlink()
    write_rows(folder / SOLUTIONS, [(without_examples(ADD_ROW), [""])])
    with pytest.raises(NotFoundError, match=TESTS):
        codet.read_recordings(folder, problems)


def test_each_program_is_judged_once_by_examples_recorded_tests_and_hidden_tests(
    folder: Path, problems: list[GradedProblem], sandbox: Sandbox
) -> None:
    verifier = CountingVerifier(sandbox)
    add, _, double = judge(folder, problems, verifier)
    assert sorted(verifier.verified) == sorted(set(verifier.verified))
    assert len(verifier.verified) == NUM_PROGRAMS
    assert [item.is_right for item in add.judgements] == [False, True, True, True, False, False]
    assert [item.verdict.is_accepted for item in double.judgements] == [True, True, True, True, False, False]
    assert [item.passed for item in add.judgements][:3] == [(False, False, False), (True,) * 3, (True, True, False)]
    assert add.judgements[5].verdict.status == Status.REFUTED
    assert add.judgements[1].behaviour == add.judgements[3].behaviour != add.judgements[2].behaviour


def test_nothing_is_judged_again_until_programs_or_tests_change(
    folder: Path, problems: list[GradedProblem], sandbox: Sandbox
) -> None:
    first = judge(folder, problems, CountingVerifier(sandbox))
    again = CountingVerifier(sandbox)
    assert judge(folder, problems, again) == first
    assert not again.verified

    prompt = without_examples(ADD_ROW)
    write_rows(folder / SOLUTIONS, [(prompt, ["    return x + y\n", "    return 3\n"])])
    judge(folder, problems[:1], again)
    assert [code.splitlines()[-1] for code in again.verified] == ["    return 3"]

    write_rows(folder / TESTS, [(f"{prompt}    pass\n", ["add(1, 1) == 2"])])
    judge(folder, problems[:1], again)
    assert len(again.verified) == 3


def test_an_interrupted_run_keeps_the_problems_that_it_finished(
    folder: Path, problems: list[GradedProblem], sandbox: Sandbox
) -> None:
    with pytest.raises(KeyboardInterrupt):
        judge(folder, problems, CountingVerifier(sandbox, interrupted_at="double"))
    kept = [record["task_id"] for record in read_records(folder / "judged.jsonl")]
    assert kept == ["HumanEval/0", "HumanEval/32"]
    rest = CountingVerifier(sandbox)
    judge(folder, problems, rest)
    assert all("def double" in code for code in rest.verified)


def test_judgements_in_another_form_are_refused(folder: Path, problems: list[GradedProblem], sandbox: Sandbox) -> None:
    path = folder / "judged.jsonl"
    judge(folder, problems[:1], CountingVerifier(sandbox))
    [record] = read_records(path)
    append_record(path, record | {"programs": {"abc": ["REFUTED"]}})
    with pytest.raises(UsageError, match="another form"):
        judge(folder, problems[:1], CountingVerifier(sandbox))


def test_rules_of_choice_are_graded_by_both_sets_of_tests(folder: Path, sandbox: Sandbox) -> None:
    lines: list[str] = []
    options = {"path": folder / "judged.jsonl", "folder": folder, "say": lines.append}
    rows = measure_recorded(folder, sandbox, None, blank=BLANK, **options)
    shares = {
        "mean sample pass@1, 6 samples": (1 / 2 + 1 + 1 / 3) / 3,
        "pass@6, 6 samples": 1.0,
        "first that passes its examples, 6 samples": 2 / 3,
        "selected by examples and agreement, 6 samples": 2 / 3,
        "selection efficiency, selected by examples and agreement, 6 samples": 1 / 7,
        "selected by examples, agreement and the model's tests, 6 samples": 1.0,
        "selected by CodeT's rule, without examples, 6 samples, base tests": 1.0,
    }
    assert {metric: value_of(rows, metric) for metric in shares} == pytest.approx(shares)
    assert [record["metric"] for record in read_records(folder / "solve.jsonl")] == [row.metric for row in rows]
    assert lines[0] == (
        "1/3 HumanEval/0: 3 of 6 samples right, 3 pass the examples, 3 tests by the model; 5 programs judged now"
    )


def test_the_topic_finds_recordings_and_asks_no_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_module, "STEAL_WINDOW_S", 0.0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARMILLARY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ARMILLARY_MINIMUM_TIER", "B")
    assert find_data_set(folder).name == "codegen"
    rows = run(quick=False, data=folder, limit=1, noisy=True)
    assert value_of(rows, "pass@6, 6 samples") == 1.0
    assert all(row.is_partial for row in rows)
    # What a busy machine found must not be looked up by a quiet one.
    assert [path.name for path in (tmp_path / "benchmarks" / "recordings").iterdir()] == ["codegen-judged-noisy.jsonl"]
    kept = (tmp_path / "benchmarks" / "results" / "solve.jsonl").read_text().splitlines()
    assert [json.loads(line)["metric"] for line in kept] == [row.metric for row in rows]
    assert replace(rows[0], value=0.0).n == 1
