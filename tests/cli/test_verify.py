"""Judging somebody's code, with the real verifier and its jail."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
TASK = 'prompt: Double it.\nsignature: "def f(n: int) -> int"\nexamples:\n  - f(1) == 2\n  - f(3) == 6\n'
RIGHT = "def f(n):\n    return 2 * n\n"
WRONG = "def f(n):\n    return n + 1\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(TASK)
    (tmp_path / "plain.yaml").write_text('prompt: Double it.\nsignature: "def f(n: int) -> int"\n')
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)


def test_right_code_is_accepted_with_its_checks(armillary: Run) -> None:
    ran = armillary("verify", "task.yaml", "right.py")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("EXAMPLES_PASS: passed 2 examples")
    assert "examples[1]  user     1       passed  f(3) == 6" in ran.err


def test_wrong_code_is_refuted_with_a_counterexample(armillary: Run) -> None:
    ran = armillary("verify", "task.yaml", "wrong.py")
    assert ran.code == 6
    assert ran.err.endswith("  counterexample (examples[1]): f(3)\n    expected  6\n    got       4\n")


def test_without_anything_to_test_against_it_is_undecided(armillary: Run) -> None:
    ran = armillary("verify", "plain.yaml", "right.py")
    assert ran.code == 7
    assert ran.err.startswith("UNKNOWN: ")


def test_json_holds_the_whole_verdict(armillary: Run) -> None:
    body = armillary("verify", "task.yaml", "wrong.py", "--json", "--seed", "5").json
    assert (body["status"], body["seed"]) == ("REFUTED", 5)
    assert body["counterexample"]["call"] == "f(3)"


def test_code_may_come_from_stdin(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(RIGHT.encode())))
    assert armillary("verify", "task.yaml", "-").code == 0


def test_a_task_may_come_from_stdin(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TASK.encode())))
    assert armillary("verify", "-", "right.py").code == 0


def test_code_that_is_no_python_is_refuted_not_an_error(armillary: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(n: return n")
    ran = armillary("verify", "task.yaml", "broken.py")
    assert ran.code == 6
    assert ran.err.startswith("REFUTED: line 1: not Python")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- a\n- b\n", "error: line 1: this is a list, not a task"),
        ("prompt: x\nexmaples: []\n", "error: line 2, exmaples: unknown field (did you mean 'examples'?"),
        ('prompt: x\nsignature: "def f(n"\n', "error: line 2, signature: "),
        ("prompt: [x\n", "error: line 2: not YAML: "),
        ('prompt: x\nsignature: "def f(n)"\nexamples:\n  - f(1) ==\n', "error: line 4, examples[0]: "),
        ('prompt: x\nsignature: "def f(n)"\nbudget:\n  num_candidates: 0\n', "error: line 4, budget.num_candidates: "),
        ("", "error: the file is empty"),
    ],
)
def test_yaml_that_is_no_task_names_line_and_field(armillary: Run, tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "task.yaml").write_text(text)
    ran = armillary("verify", "task.yaml", "right.py")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(line)
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("nothing.yaml", "right.py"), 3, "error: no file nothing.yaml\n"),
        (("task.yaml", "nothing.py"), 3, "error: no file nothing.py\n"),
        ((".", "right.py"), 2, "error: . is a folder, not a file\n"),
        (("task.yaml", "binary.py"), 2, "error: binary.py is not UTF-8 text (byte 1)\n"),
        (("-", "-"), 2, "error: only one file can come from stdin\n"),
        (("task.yaml", "-", "--against", "-"), 2, "error: only one file can come from stdin\n"),
        (("right.py", "--against", "nothing.py"), 3, "error: no file nothing.py\n"),
    ],
)
def test_bad_input_is_one_line_and_its_exit_code(
    armillary: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, line: str
) -> None:
    (tmp_path / "binary.py").write_bytes(b"\x00\xff")
    ran = armillary("verify", *arguments)
    assert (ran.code, ran.out, ran.err) == (code, "", line)


def test_a_seed_below_zero_is_wrong_usage(armillary: Run) -> None:
    ran = armillary("verify", "task.yaml", "right.py", "--seed", "-1")
    assert (ran.code, ran.out) == (2, "")
    assert "--seed" in ran.err


LITERAL = (
    "VERIFY(code_solution, CONSTRAINTS: [input_constraints(x > 0), output_constraints(result % 2 == 0), "
    "temporal_constraints(steps < 1000)])\n"
)
DOUBLE = "def code_solution(x):\n    return 2 * x\n"


def test_a_literal_with_its_code_inside_needs_no_second_file(armillary: Run, tmp_path: Path) -> None:
    (tmp_path / "line.verify").write_text(f"```python\n{DOUBLE}```\n{LITERAL}")
    ran = armillary("verify", "line.verify")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("TESTED: passed ")
    assert "result % 2 == 0" in ran.err


def test_a_literal_may_name_code_of_another_file(armillary: Run, tmp_path: Path) -> None:
    (tmp_path / "line.txt").write_text(LITERAL)
    (tmp_path / "code.py").write_text("def code_solution(x):\n    return x\n")
    ran = armillary("verify", "line.txt", "code.py")
    assert ran.code == 6
    assert "counterexample (ensures[0]): code_solution(1)" in ran.err


def test_a_literal_may_be_the_argument_itself(armillary: Run, tmp_path: Path) -> None:
    inside = LITERAL.strip().replace("code_solution,", f"{DOUBLE!r},")
    ran = armillary("verify", inside)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("TESTED: passed ")
    (tmp_path / "code.py").write_text("def code_solution(x):\n    return x\n")
    assert armillary("verify", LITERAL.strip(), "code.py").code == 6


def test_a_task_may_be_text_of_several_lines(armillary: Run) -> None:
    assert armillary("verify", TASK, "right.py").code == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((LITERAL.strip(),), "error: the code that 'code_solution' stands for is not in the text"),
        (("VERIFY(f, CONSTRAINT: [])", "right.py"), "error: line 1: column 11: expected 'CONSTRAINTS', found"),
        (("task.yaml",), "error: there is no code to judge (name a Python file as CODE"),
        (("line.verify",), "error: the code that 'code_solution' stands for is not in the text"),
        (("task.verify", "right.py"), "error: line 1: column 1: expected 'VERIFY', found 'prompt'"),
    ],
)
def test_missing_code_and_a_literal_that_is_none_are_one_line(
    armillary: Run, tmp_path: Path, arguments: tuple[str, ...], line: str
) -> None:
    (tmp_path / "line.verify").write_text(LITERAL)
    (tmp_path / "task.verify").write_text(TASK)
    ran = armillary("verify", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(line)


TYPED = "def f(n: int) -> int:\n    return n + n\n"


def test_code_may_be_held_against_another_program_alone(armillary: Run, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPED)
    ran = armillary("verify", "right.py", "--against", "typed.py")
    assert ran.code == 0
    assert "the same results as the reference" in ran.err
    ran = armillary("verify", "wrong.py", "--against", "typed.py")
    assert (ran.code, "counterexample (reference): f(0)\n    expected  0\n    got       1" in ran.err) == (6, True)


def test_code_that_is_no_python_is_refuted_beside_another_program_too(armillary: Run, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "broken.py").write_text("def f(n: return n")
    ran = armillary("verify", "broken.py", "--against", "typed.py")
    assert (ran.code, ran.err.startswith("REFUTED: line 1: not Python")) == (6, True)


def test_another_program_may_stand_beside_a_task(armillary: Run, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "line.verify").write_text(LITERAL.replace("code_solution", repr("def f(x: int):\n    return x + x")))
    for task in (("task.yaml", "right.py"), ("line.verify",)):
        ran = armillary("verify", *task, "--against", "typed.py")
        assert (ran.code, "the same results as the reference" in ran.err) == (0, True)


def test_exploring_finds_the_difference_that_no_generated_input_shows(armillary: Run, tmp_path: Path) -> None:
    pytest.importorskip("crosshair")
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "odd.py").write_text("def f(n: int) -> int:\n    return 2 * n if n != 73193 else 5\n")
    assert armillary("verify", "odd.py", "--against", "typed.py").code == 0
    ran = armillary("verify", "odd.py", "--against", "typed.py", "--prove")
    assert ran.code == 6
    assert "counterexample (reference): f(73193)\n    expected  146386\n    got       5" in ran.err
    same = armillary("verify", "right.py", "--against", "typed.py", "--prove")
    assert (same.code, same.err.startswith("PROVED: holds on all paths; ")) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("task.yaml", "--against", "right.py"), "error: there is no code to judge (name a Python file as CODE"),
        (("right.py", "--against", "other.py"), "error: the reference defines no function of the code's: f"),
        (("task.yaml", "right.py", "--against", "other.py"), "error: the reference defines no function 'f' that"),
        (("right.py", "--against", "task.yaml"), "error: the reference cannot be read: invalid syntax (its line 1)"),
    ],
)  # fmt: skip
def test_a_program_that_cannot_be_compared_with_is_one_line(
    armillary: Run, tmp_path: Path, arguments: tuple[str, ...], line: str
) -> None:
    (tmp_path / "other.py").write_text("def g(n): return n\n")
    ran = armillary("verify", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(line)
