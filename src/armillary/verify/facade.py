"""Judge code in one call: read the task, set up the jail that the settings ask for, climb the ladder.

Needs nothing but this package, so that verification is usable without any model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import NoneType

from armillary.core.errors import UsageError
from armillary.core.settings import Settings, load_settings
from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import Level, Verdict
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.spec import MAX_FILE_BYTES, load_task, parse_task
from armillary.verify.spec_literal import is_literal, is_task_text, read_literal
from armillary.verify.symbolic.adapter import Jails
from armillary.verify.symbolic.level import hold_against_reference
from armillary.verify.symbolic.request import open_explorer
from armillary.verify.verifier import CodeVerifier

SHOWN_CHARS = 60


def verify(
    task: TaskSpec | Path | str,
    code: str | None = None,
    *,
    seed: int = 0,
    prove: bool = False,
    settings: Settings | None = None,
) -> Verdict:
    """Judge source code against a task; also spelled ``armillary.verify(task, code)``.

    Args:
        task: a task, its file, or its text; a ``VERIFY(...)`` may be one line.
        code: Python source that defines the task's entry point; left out where a ``VERIFY(...)`` holds its own.
        seed: of the generated inputs.
        prove: also look for proofs that properties hold on all paths, and for an input on which the program and the
            task's reference differ; some ten seconds for each.
        settings: instead of those that ``load_settings`` finds.

    Raises:
        UsageError: an argument has another type, the task is empty, or the seed is below 0; or CrossHair is to prove
            and is not installed.
        NotFoundError: the task's file does not exist.
        TaskFormatError: what is there is no task.
        SandboxError: this machine cannot offer a jail as strong as the settings ask for.
    """
    spec, source = as_task_and_code(task, code)
    require_seed(seed)
    with _open_jails(settings or load_settings(), prove=prove) as (jail, explorer):
        verdict = CodeVerifier(jail, explorer=explorer).verify(spec, source, seed=seed)
        return verdict if explorer is None else hold_against_reference(Jails(jail, explorer), spec, source, verdict)


def as_task_and_code(task: TaskSpec | Path | str, code: str | None = None) -> tuple[TaskSpec, str]:
    """What is to be judged, and by what; a ``VERIFY(...)`` is both, unless it only names its code.

    Raises:
        UsageError, NotFoundError, TaskFormatError: as :func:`as_task`; or there is no code, or two.
    """
    require_type(code, (str, NoneType), "the code must be source text")
    text = _literal_in(task)
    if text:
        return read_literal(text, code or "")
    spec = as_task(task)
    if code is None:
        raise UsageError("there is no code to judge", hint="give its source; only VERIFY(...) may hold its own")
    return spec, code


def as_task(task: TaskSpec | Path | str) -> TaskSpec:
    """A task from itself, from a file, or from text: more than one line of YAML or Python, or one ``VERIFY(...)``.

    Raises:
        UsageError: it is nothing of these, or empty, or its file cannot be read.
        NotFoundError: the file does not exist.
        TaskFormatError: what is there is no task.
    """
    if isinstance(task, TaskSpec):
        return task
    require_type(task, (str, Path), "the task must be a TaskSpec, a path or text")
    if isinstance(task, str) and not task.strip():
        raise UsageError("the task is empty", hint="give its text or its file")
    if isinstance(task, str) and is_task_text(task):
        return parse_task(task)
    try:
        return load_task(task)
    except OSError as error:
        shown = str(task) if len(str(task)) <= SHOWN_CHARS else f"{str(task)[:SHOWN_CHARS]}..."
        raise UsageError(
            f"no task can be read from the file {shown!r}: {error.strerror}",
            hint="name a file, or give text of more than one line, or VERIFY(...)",
        ) from error


def _literal_in(task: TaskSpec | Path | str) -> str:
    """The ``VERIFY(...)`` that a task's text or file is, or nothing; what is wrong with a file, ``load_task`` says."""
    if isinstance(task, TaskSpec):
        return ""
    if isinstance(task, str) and is_task_text(task):
        return task if is_literal(task) else ""
    try:
        path = Path(task)
        is_readable = path.is_file() and path.stat().st_size <= MAX_FILE_BYTES
        text = path.read_text(encoding="utf-8-sig") if is_readable else ""
    except (OSError, TypeError, ValueError):
        return ""
    return text if is_literal(text, path.name) else ""


def require_type(value: object, types: tuple[type, ...], demand: str) -> None:
    """Refuse an argument that a caller without a type checker got wrong.

    Raises:
        UsageError: the value has none of the types.
    """
    if not isinstance(value, types):
        raise UsageError(f"{demand}, not {type(value).__name__}")


def require_seed(seed: object) -> None:
    """Refuse what is no seed.

    Raises:
        UsageError: it is no whole number or below 0.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError(f"the seed is {seed!r}, it must be a whole number of at least 0")


@contextmanager
def verifier_for(
    settings: Settings, *, prove: bool = False, on_level: Callable[[Level], None] | None = None
) -> Iterator[CodeVerifier]:
    """A verifier in a jail no weaker than the settings allow; the jail ends with the block.

    Args:
        settings: name the weakest jail that will do.
        prove: whether it also looks for proofs.
        on_level: told each level of the ladder as it is begun.

    Raises:
        SandboxError: this machine cannot offer such a jail.
        UsageError: CrossHair is to prove and is not installed.
    """
    with _open_jails(settings, prove=prove) as (jail, explorer):
        verifier = CodeVerifier(jail, explorer=explorer, on_level=on_level)
        # Asked now, so that a machine that is too weak is told before a model works for nothing.
        assert verifier.sandbox_tier
        yield verifier


@contextmanager
def _open_jails(settings: Settings, *, prove: bool) -> Iterator[tuple[Sandbox, Sandbox | None]]:
    tier = settings["sandbox.minimum_tier"]
    with ExitStack() as jails:
        jail = jails.enter_context(Sandbox(tier))
        yield jail, jails.enter_context(open_explorer(tier)) if prove else None
