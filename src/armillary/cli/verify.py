"""``armillary verify TASK [CODE]``: judge code that somebody else wrote. Changes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from armillary.cli.inputs import STDIN, read_text
from armillary.cli.output import emit, keeping, say
from armillary.cli.report import exit_code, verdict_lines
from armillary.core.errors import UsageError
from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import verdict_to_json


def command(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="YAML, Python or VERIFY(...) file, VERIFY(...) itself, or - for stdin."),
    ],
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="Python file with the entry point, or - for stdin.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated inputs.")] = 0,
    prove: Annotated[bool, typer.Option("--prove", help="Also look for proofs; some ten seconds for each.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> int:
    """Judge your own code against a task: examples, properties, generated inputs, bounds on steps, proofs.

    Exit status: 0 accepted, 6 refuted, 7 undecided.
    """
    if task == code == STDIN:
        raise UsageError("task and code cannot both come from stdin")
    spec, source = _read(task, code)
    from armillary.verify.facade import verify

    with keeping(lambda: "nothing was changed"):
        verdict = verify(spec, source, seed=seed, prove=prove)
    if as_json:
        emit(verdict_to_json(verdict))
    for line in verdict_lines(verdict):
        say(line)
    return exit_code(verdict)


def _read(task: str, code: str | None) -> tuple[TaskSpec, str]:
    from armillary.verify.spec import parse_task
    from armillary.verify.spec_literal import is_literal, is_task_text, read_literal

    is_text = is_task_text(task)
    text = task if is_text else read_text(task)
    if is_literal(text, "" if is_text else task):
        return read_literal(text, "" if code is None else read_text(code))
    spec = parse_task(text, "stdin" if is_text or task == STDIN else task)
    if code is None:
        hint = "name a Python file as CODE; only VERIFY(...) may hold its own"
        raise UsageError("there is no code to judge", hint=hint)
    return spec, read_text(code)
