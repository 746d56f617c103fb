"""The main job from the command line: a scripted model, the real verifier, the real trace."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armillary.core.trace import read_trace
from armillary.runtime import stack

Run = Callable[..., Any]
TASK = 'prompt: Double it.\nsignature: "def f(n: int) -> int"\nexamples:\n  - f(1) == 2\n  - f(3) == 6\n'
RIGHT = "```python\ndef f(n):\n    return 2 * n\n```"
WRONG = "```python\ndef f(n):\n    return n + 1\n```"


@pytest.fixture(autouse=True)
def task(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(TASK)


def test_the_code_goes_to_stdout_and_everything_else_to_stderr(armillary: Run, scripted: Run) -> None:
    scripted(WRONG, RIGHT)
    ran = armillary("solve", "task.yaml", "--candidates", "2")
    assert (ran.code, ran.out) == (0, "def f(n):\n    return 2 * n\n")
    assert "a0: refuted, f(3) -> 4, expected 6\n" in ran.err
    assert "a1: accepted, EXAMPLES_PASS: passed 2 examples" in ran.err
    assert re.search(r"^2 attempts, 20 \+ \d+ tokens, .* stopped by: accepted$", ran.err, re.MULTILINE)


def test_a_refuted_answer_is_revised(armillary: Run, scripted: Run) -> None:
    model = scripted(WRONG, RIGHT)
    ran = armillary("solve", "task.yaml", "--candidates", "1", "--rounds", "1")
    assert ran.code == 0
    assert "a1 from a0: accepted" in ran.err
    assert "Call: f(3)" in model.requests[1].messages[-1].content


def test_an_answer_that_stays_refuted_exits_6(armillary: Run, scripted: Run) -> None:
    scripted(WRONG)
    ran = armillary("solve", "task.yaml", "--candidates", "1", "--rounds", "0")
    assert (ran.code, ran.out) == (6, "def f(n):\n    return n + 1\n")
    assert "counterexample (examples[1]): f(3)" in ran.err


def test_an_answer_that_nothing_can_test_exits_7(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    (tmp_path / "plain.yaml").write_text('prompt: Double it.\nsignature: "def f(n: int) -> int"\n')
    scripted(RIGHT)
    ran = armillary("solve", "plain.yaml", "--candidates", "1")
    assert ran.code == 7
    assert "UNKNOWN: " in ran.err


def test_an_answer_without_code_prints_none(armillary: Run, scripted: Run) -> None:
    scripted("")
    ran = armillary("solve", "task.yaml", "--candidates", "1", "--rounds", "0")
    assert (ran.code, ran.out) == (6, "")


def test_json_holds_code_verdict_cost_and_trace(armillary: Run, scripted: Run) -> None:
    scripted(RIGHT)
    body = armillary("solve", "task.yaml", "--candidates", "1", "--json").json
    assert body["code"] == "def f(n):\n    return 2 * n\n"
    assert body["verdict"]["status"] == "EXAMPLES_PASS"
    assert (body["attempt"], body["num_attempts"], body["prompt_tokens"]) == ("a0", 1, 10)
    assert Path(body["trace"]).is_file()


def test_the_trace_lies_in_the_home_folder_under_time_and_name(armillary: Run, scripted: Run, home: Path) -> None:
    scripted(RIGHT)
    ran = armillary("solve", "task.yaml", "--candidates", "1")
    (path,) = (home / "traces").iterdir()
    assert re.fullmatch(r"\d{8}T\d{6}\.\d{6}Z-f\.jsonl", path.name)
    assert ran.err.endswith(f"trace {path}\n")
    assert [event.kind for event in read_trace(path)][-1] == "answer"


def test_a_trace_that_was_named_replays(armillary: Run, scripted: Run) -> None:
    scripted(WRONG, RIGHT)
    armillary("solve", "task.yaml", "--candidates", "2", "--trace", "run.jsonl")
    ran = armillary("replay", "run.jsonl")
    assert (ran.code, ran.out) == (0, "2 of 2 verdicts and 4 of 4 decisions came out the same\n")


def test_proofs_are_looked_for_where_asked_and_replayed(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    pytest.importorskip("crosshair", reason="the extra `symbolic` is not installed")
    (tmp_path / "more.yaml").write_text('prompt: Add.\nsignature: "def f(n: int) -> int"\nensures:\n  - result > n\n')
    scripted("```python\ndef f(n):\n    return n + 1\n```")
    ran = armillary("solve", "more.yaml", "--candidates", "1", "--prove", "--trace", "run.jsonl")
    assert (ran.code, "PROVED" in ran.err) == (0, True)
    assert "a0: PROVED, the same again\n" in armillary("replay", "run.jsonl").err


def test_a_report_tells_the_run(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    scripted(WRONG, RIGHT)
    ran = armillary("solve", "task.yaml", "--candidates", "2", "--report", "new/run.html")
    assert ran.code == 0
    assert ran.err.endswith("report new/run.html\n")
    assert "EXAMPLES_PASS" in (tmp_path / "new" / "run.html").read_text()


def test_a_report_that_is_there_stops_the_run_before_it_begins(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    model = scripted(RIGHT)
    (tmp_path / "run.html").write_text("mine")
    ran = armillary("solve", "task.yaml", "--report", "run.html")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: run.html exists already (a report never overwrites; name another file)\n"
    assert model.requests == []


def test_an_interrupted_run_has_a_report_too(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    scripted(WRONG).stream = press_ctrl_c
    ran = armillary("solve", "task.yaml", "--trace", "run.jsonl", "--report", "run.html")
    assert (ran.code, ran.err.splitlines()[-1]) == (130, "interrupted; the trace so far is run.jsonl")
    assert "the run was interrupted" in (tmp_path / "run.html").read_text()


def press_ctrl_c(request: object) -> None:
    raise KeyboardInterrupt


def test_no_report_is_made_of_a_trace_that_was_there_before(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    scripted(RIGHT, RIGHT)
    assert armillary("solve", "task.yaml", "--candidates", "1", "--trace", "run.jsonl").code == 0
    ran = armillary("solve", "task.yaml", "--candidates", "1", "--trace", "run.jsonl", "--report", "run.html")
    assert ran.code == 2
    assert not (tmp_path / "run.html").exists()


def test_a_report_that_cannot_be_written_costs_no_answer(armillary: Run, scripted: Run) -> None:
    scripted(RIGHT)
    ran = armillary("solve", "task.yaml", "--candidates", "1", "--report", "task.yaml/run.html")
    assert (ran.code, ran.out) == (1, "def f(n):\n    return 2 * n\n")
    assert "error: cannot write task.yaml/run.html: " in ran.err


def test_options_replace_the_budget_of_the_task(armillary: Run, scripted: Run) -> None:
    scripted(RIGHT)
    options = ("--candidates", "1", "--rounds", "5", "--max-tokens", "900", "--max-seconds", "7.5", "--seed", "3")
    armillary("solve", "task.yaml", *options, "--trace", "run.jsonl")
    header, task = list(read_trace(Path("run.jsonl")))[:2]
    assert task.body["budget"] == {"num_candidates": 1, "max_rounds": 5, "max_tokens": 900, "max_seconds": 7.5}
    assert header.body["seed"] == 3


def test_a_task_may_come_from_stdin(armillary: Run, scripted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(RIGHT)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TASK.encode())))
    assert armillary("solve", "-", "--candidates", "1").code == 0


def test_a_task_may_be_a_decorated_stub(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    stub = 'from armillary import examples\n\n@examples("f(3) == 6")\ndef f(n: int) -> int:\n    """Double it."""\n'
    (tmp_path / "task.py").write_text(stub)
    scripted(RIGHT)
    assert armillary("solve", "task.py", "--candidates", "1").code == 0


def test_on_a_terminal_the_code_is_highlighted(armillary: Run, scripted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    scripted(RIGHT)
    armillary("solve", "task.yaml", "--candidates", "1")
    assert "\x1b[" in terminal.getvalue()
    assert "return" in terminal.getvalue()


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("nothing.yaml",), 3, "error: no file nothing.yaml\n"),
        (("task.yaml", "--candidates", "0"), 2, "error: Invalid value for '--candidates': "),
        (("task.yaml", "--candidates", "many"), 2, "error: Invalid value for '--candidates': "),
        (("task.yaml", "--rounds", "-1"), 2, "error: Invalid value for '--rounds': "),
        (("task.yaml", "--max-seconds", "0"), 2, "error: Invalid value for '--max-seconds': "),
        (("task.yaml", "--trace", "task.yaml"), 2, "error: task.yaml exists already (a trace never overwrites"),
        (("task.yaml", "--model", "qwen"), 3, "error: no model is called 'qwen' ("),
        (("task.yaml", "--model", "smollm2-135m"), 3, "error: smollm2-135m is not on this machine yet (run "),
        (("task.yaml", "--trace", "task.yaml/run.jsonl"), 1, "error: File exists: task.yaml"),
        (("task.yaml", "--remote", "http://127.0.0.1:9/v1", "--trace", "r.jsonl"), 1, "error: cannot reach http://127"),
    ],
)
def test_bad_input_ends_in_one_clear_line(
    armillary: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, line: str
) -> None:
    ran = armillary("solve", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.splitlines()[-1].startswith(line.rstrip("\n"))
    assert (tmp_path / "task.yaml").read_text() == TASK


def test_a_budget_that_is_too_small_exits_5(armillary: Run, scripted: Run) -> None:
    scripted(RIGHT)
    ran = armillary("solve", "task.yaml", "--max-tokens", "5")
    assert ran.code == 5
    assert "no answer was finished within 5 tokens" in ran.err


def test_ctrl_c_before_the_model_is_there_says_that_nothing_was_begun(
    armillary: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(settings: Any, model: Any = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "generator_for", stop)
    ran = armillary("solve", "task.yaml")
    assert (ran.code, ran.err) == (130, "interrupted; nothing was begun\n")


@pytest.mark.model
def test_the_real_model_proposes_and_is_judged(armillary: Run, real_model: str) -> None:
    options = ("--model", real_model, "--candidates", "2", "--rounds", "0", "--max-tokens", "800")
    ran = armillary("solve", "task.yaml", *options, "--json")
    assert ran.code in (0, 6)
    assert ran.json["completion_tokens"] > 0
    header = json.loads(Path(ran.json["trace"]).read_text().splitlines()[0])
    assert header["body"]["model"]["name"] == real_model
    assert armillary("replay", ran.json["trace"]).code == 0
