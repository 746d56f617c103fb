"""Judge code in one call: read the task, set up the jail that the settings ask for, climb the ladder.

Needs nothing but this package, so that verification is usable without any model.
"""

from __future__ import annotations

from pathlib import Path

from armillary.core.settings import Settings, load_settings
from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import Verdict
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
    return verifier_for(settings or load_settings()).verify(spec, code, seed=seed)


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


def verifier_for(settings: Settings) -> CodeVerifier:
    """A verifier in a jail no weaker than the settings allow.

    Raises:
        SandboxError: this machine cannot offer one.
    """
    return CodeVerifier(Sandbox(settings["sandbox.minimum_tier"]))
