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
from armillary.verify.facade import as_task, verifier_for, verify
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
