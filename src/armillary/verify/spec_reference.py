"""Make a task of a program to compare with, alone or beside what a task says already. Runs nothing."""

from __future__ import annotations

from dataclasses import replace

from armillary.core.errors import TaskFormatError, UsageError
from armillary.core.tasks import TaskSpec
from armillary.verify.domains import parameter_domains
from armillary.verify.signature import signature_of
from armillary.verify.source import SourceError, defined_functions, parse_module
from armillary.verify.spec_literal import task_of


def difference_task(code: str, reference: str) -> TaskSpec:
    """The task to do what another program does: its last function that both define, with its types and docstring.

    Where the reference names no types, both are the code's.

    Raises:
        TaskFormatError: the reference is not Python, or the two share no function that can be called alike.
    """
    try:
        theirs = defined_functions(parse_module(reference))
    except SourceError as error:
        raise _no_reference(error) from error
    ours = _functions_in(code)
    shared = [item for item in theirs if not ours or item.name in ours]
    if not shared:
        raise TaskFormatError(f"the reference defines no function of the code's: {', '.join(ours) or 'it has none'}")
    name = shared[-1].name
    is_bare = not any(item.annotation for item in (*shared[-1].args.posonlyargs, *shared[-1].args.args))
    source = code if is_bare and name in ours else reference
    return with_reference(task_of(source, [], name=name), reference)


def with_reference(task: TaskSpec, reference: str) -> TaskSpec:
    """The task with a program to compare with.

    Raises:
        UsageError: the task has one already.
        TaskFormatError: the program is not Python, or has no function that can be called as the task's.
    """
    if task.reference:
        raise UsageError("the task has a reference already", hint="leave one of the two out")
    number = len(parameter_domains(task))
    try:
        named = [item for item in defined_functions(parse_module(reference)) if item.name == task.entry_point]
        accepts = bool(named) and signature_of(named[-1]).accepts(number)
    except SourceError as error:
        raise _no_reference(error) from error
    if not accepts:
        raise TaskFormatError(f"the reference defines no function {task.entry_point!r} that takes {number} arguments")
    return replace(task, reference=reference)


def _functions_in(code: str) -> list[str]:
    """Names of a program's functions; none where it is not Python, which its verdict will say."""
    try:
        return [item.name for item in defined_functions(parse_module(code))]
    except SourceError:
        return []


def _no_reference(error: SourceError) -> TaskFormatError:
    where = f" (its line {error.line})" if error.line else ""
    return TaskFormatError(f"the reference cannot be read: {error.message}{where}")
