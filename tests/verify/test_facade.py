"""One call that judges code, and the package that is that call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import armillary
from armillary.core.errors import NotFoundError, SandboxError, TaskFormatError, UsageError
from armillary.core.settings import load_settings
from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import Level, Status
from armillary.verify.facade import as_task, as_task_and_code, verifier_for, verify
from armillary.verify.sandbox import client
from armillary.verify.sandbox.tiers import TierReport

STUB = 'def double(n: int) -> int:\n    """Double it.\n\n    >>> double(3)\n    6\n    """\n'
RIGHT = "def double(n):\n    return 2 * n\n"


def test_right_code_is_accepted_and_wrong_code_refuted() -> None:
    assert verify(STUB, RIGHT).status is Status.EXAMPLES_PASS
    assert verify(STUB, "def double(n):\n    return n\n").status is Status.REFUTED


def test_the_package_can_be_called_whatever_was_imported_first() -> None:
    first = "import armillary; armillary.verify({0!r}, {1!r}); print(armillary.verify({0!r}, {1!r}).status)"
    later = "import armillary.verify.spec; print(armillary.verify({0!r}, {1!r}).status)"
    taken = "from armillary import verify; print(verify({0!r}, {1!r}).status)"
    for program in (first, later, taken):
        command = [sys.executable, "-c", program.format(STUB, RIGHT)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "EXAMPLES_PASS\n"


def test_the_seed_reaches_the_verdict() -> None:
    assert armillary.verify(STUB, RIGHT, seed=5).seed == 5


def test_a_task_is_taken_from_itself_text_or_file(tmp_path: Path) -> None:
    path = tmp_path / "task.py"
    path.write_text(STUB)
    task = as_task(STUB)
    assert isinstance(task, TaskSpec)
    assert as_task(task) is task
    assert as_task(path) == as_task(str(path)) == task


def test_what_is_no_task_is_told() -> None:
    with pytest.raises(NotFoundError):
        as_task("nothing.yaml")
    with pytest.raises(TaskFormatError):
        as_task("- a\n- b\n")


LINE = "VERIFY({0}, CONSTRAINTS=[input_constraints(x > 0), output_constraints(result == 2 * x)])"
DOUBLE = "def double(x):\n    return 2 * x"


def test_a_literal_of_one_line_is_a_source_with_its_code_inside_or_beside_it() -> None:
    inside = LINE.format(repr(DOUBLE))
    assert "\n" not in inside
    assert armillary.verify(inside).status is Status.TESTED
    assert verify(LINE.format(repr("def double(x): return x"))).status is Status.REFUTED
    assert as_task_and_code(LINE.format("double"), DOUBLE) == (as_task(inside), DOUBLE)
    assert as_task_and_code("# why\n" + inside) == as_task_and_code(inside)


def test_a_file_of_a_literal_holds_its_code_or_names_it(tmp_path: Path) -> None:
    (tmp_path / "line.verify").write_text(LINE.format(repr(DOUBLE)))
    (tmp_path / "named.txt").write_text(LINE.format("double"))
    expected = as_task_and_code(LINE.format(repr(DOUBLE)))
    assert as_task_and_code(tmp_path / "line.verify") == expected
    assert as_task_and_code(str(tmp_path / "named.txt"), DOUBLE) == expected


def test_a_file_that_exists_is_a_file_even_if_it_is_named_like_a_literal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("VERIFY(1).py").write_text(STUB)
    assert as_task("VERIFY(1).py").entry_point == "double"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LINE.format("double"),), "the code that 'double' stands for is not in the text"),
        ((LINE.format(repr(DOUBLE)), DOUBLE), "the code stands in the text and is given beside it"),
        (("VERIFY(f, CONSTRAINT: [])", DOUBLE), "line 1: column 11: expected 'CONSTRAINTS', found 'CONSTRAINT'"),
        (("VERIFY(f, \0", DOUBLE), "line 1: column 11: .* cannot be read"),
        ((STUB,), "there is no code to judge .give its source; only VERIFY"),
        (("verify(f)",), "no task file at verify"),
        (("line.verify",), "no task file at line.verify"),
    ],
    ids=repr,
)
def test_what_is_wrong_with_a_literal_is_told(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises((NotFoundError, TaskFormatError, UsageError), match=message) as caught:
        verify(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a" * 5000, "x"), "no task can be read from the file 'a{60}\\.\\.\\.': File name too long"),
        ((None, "x"), "the task must be a TaskSpec, a path or text, not NoneType"),
        (("", ""), "the task is empty"),
        ((" \n", ""), "the task is empty"),
        ((STUB, 5), "the code must be source text, not int"),
        ((STUB, b"x"), "the code must be source text, not bytes"),
        ((STUB, RIGHT, -1), "the seed is -1, it must be a whole number of at least 0"),
        ((STUB, RIGHT, 1.5), "the seed is 1.5"),
        ((STUB, RIGHT, True), "the seed is True"),
    ],
    ids=repr,
)
def test_a_wrong_argument_is_told_in_one_line(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        verify(*arguments[:2], **({"seed": arguments[2]} if len(arguments) > 2 else {}))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_jail_that_is_too_weak_is_told_before_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "probe_link", lambda link: TierReport("B", ()))
    with pytest.raises(SandboxError), verifier_for(load_settings(environment={})):
        pytest.fail("the block ran")


def test_levels_are_heard() -> None:
    levels: list[Level] = []
    with verifier_for(load_settings(environment={}), on_level=levels.append) as verifier:
        verifier.verify(as_task(STUB), RIGHT)
    assert set(levels) == {"policy", "examples"}
