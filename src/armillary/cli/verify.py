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

_YAML_ENDINGS = (".yaml", ".yml")


def command(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="YAML, Python or VERIFY(...) file, VERIFY(...) itself, or - for stdin."),
    ],
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="Python file with the entry point, or - for stdin.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A program that the code must do the same as; TASK may then be the code."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated inputs.")] = 0,
    prove: Annotated[bool, typer.Option("--prove", help="Also explore all paths; some ten seconds for each.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> int:
    """Judge your own code against a task: examples, properties, generated inputs, another program, bounds, proofs.

    Exit status: 0 accepted, 6 refuted, 7 undecided.
    """
    if [task, code, against].count(STDIN) > 1:
        raise UsageError("only one file can come from stdin")
    spec, source = _read(task, code, None if against is None else read_text(against))
    from armillary.verify.facade import verify

    with keeping(lambda: "nothing was changed"):
        verdict = verify(spec, source, seed=seed, prove=prove)
    if as_json:
        emit(verdict_to_json(verdict))
    for line in verdict_lines(verdict):
        say(line)
    return exit_code(verdict)


def _read(task: str, code: str | None, reference: str | None) -> tuple[TaskSpec, str]:
    from armillary.verify.spec import parse_task
    from armillary.verify.spec_literal import is_literal, is_task_text, read_literal
    from armillary.verify.spec_reference import difference_task, with_reference

    is_text = is_task_text(task)
    text = task if is_text else read_text(task)
    if is_literal(text, "" if is_text else task):
        spec, source = read_literal(text, "" if code is None else read_text(code))
    elif code is not None:
        spec, source = parse_task(text, "stdin" if is_text or task == STDIN else task), read_text(code)
    elif reference is not None and not (is_text or task.lower().endswith(_YAML_ENDINGS)):
        return difference_task(text, reference), text
    else:
        hint = "name a Python file as CODE; only VERIFY(...) may hold its own"
        raise UsageError("there is no code to judge", hint=hint)
    return (spec if reference is None else with_reference(spec, reference)), source
