"""Judge code in one call: read the task, set up the jail that the settings ask for, climb the ladder.

Needs nothing but this package, so that verification is usable without any model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from armillary.core.settings import Settings, load_settings
from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import Level, Verdict
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.spec import load_task, parse_task
from armillary.verify.verifier import CodeVerifier


def verify(task: TaskSpec | Path | str, code: str, *, seed: int = 0, settings: Settings | None = None) -> Verdict:
    """Judge source code against a task; also spelled ``armillary.verify(task, code)``.

    Args:
        task: a task, its file, or its text.
        code: Python source that defines the task's entry point.
        seed: of the generated inputs.
        settings: instead of those that ``load_settings`` finds.

    Raises:
        NotFoundError: the task's file does not exist.
        TaskFormatError: what is there is no task.
        SandboxError: this machine cannot offer a jail as strong as the settings ask for.
    """
    spec = as_task(task)
    with verifier_for(settings or load_settings()) as verifier:
        return verifier.verify(spec, code, seed=seed)


def as_task(task: TaskSpec | Path | str) -> TaskSpec:
    """A task from itself, from a file, or from text of more than one line: YAML, or a Python stub.

    Raises:
        NotFoundError: the file does not exist.
        TaskFormatError: what is there is no task.
    """
    if isinstance(task, TaskSpec):
        return task
    if isinstance(task, str) and "\n" in task:
        return parse_task(task)
    return load_task(task)


@contextmanager
def verifier_for(settings: Settings, *, on_level: Callable[[Level], None] | None = None) -> Iterator[CodeVerifier]:
    """A verifier in a jail no weaker than the settings allow; the jail ends with the block.

    Args:
        settings: name the weakest jail that will do.
        on_level: told each level of the ladder as it is begun.

    Raises:
        SandboxError: this machine cannot offer such a jail.
    """
    with Sandbox(settings["sandbox.minimum_tier"]) as jail:
        verifier = CodeVerifier(jail, on_level=on_level)
        # Asked now, so that a machine that is too weak is told before a model works for nothing.
        assert verifier.sandbox_tier
        yield verifier
