"""The command line: one table of commands, each module imported only when it is named.

Turns every expected error into one line on stderr and an exit code; knows nothing about what a command does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command

import armillary
from armillary.cli.output import say
from armillary.core.errors import ArmillaryError, ExitCode

COMMANDS = {
    "solve": "Propose, test and repair code until it holds, and show why.",
    "verify": "Judge your own code against a task.",
    "replay": "Derive every verdict of a trace again, without the model.",
    "ask": "Ask the model and print its answer as it appears.",
    "pull": "Fetch a model.",
    "models": "List the models that are known and those that are here.",
    "doctor": "Show what this machine offers and which settings apply.",
    "bench": "Measure one topic on this machine.",
}


def main() -> None:
    """Entry point of the ``armillary`` script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; expected errors never leave as exceptions."""
    try:
        code = _dispatch(list(arguments) or ["--help"])
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # Typer makes the second out of the first
        return _silence()
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        say(f"error: {error.strerror or error}{place}")
        return ExitCode.FAILED
    return code


def _dispatch(arguments: list[str]) -> int:
    try:
        code = get_command(_application(arguments)).main(arguments, prog_name="armillary", standalone_mode=False)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except ArmillaryError as error:
        say(str(error) if error.exit_code == ExitCode.INTERRUPTED else f"error: {error}")
        return error.exit_code
    except typer.TyperException as error:
        say(f"error: {' '.join(error.format_message().split())}")
        return ExitCode.USAGE
    if code == ExitCode.INTERRUPTED:
        say("interrupted; nothing was changed")
    return int(code)


def _application(arguments: list[str]) -> typer.Typer:
    """Every command by name, but only the one that is asked for with its module behind it."""
    named = next((argument for argument in arguments if not argument.startswith("-")), "")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, help=armillary.__doc__)
    app.callback()(_global_options)
    for name, summary in COMMANDS.items():
        if name == named:
            app.command(name)(import_module(f"armillary.cli.{name}").command)
        else:
            app.command(name, help=summary)(_not_named)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        print(armillary.__version__)
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and stop.")
    ] = False,
) -> None:
    assert not version, "the callback has stopped already"


def _not_named() -> None:
    """Stand in the help for a command that this line does not ask for; never runs."""


def _silence() -> int:
    """Whoever read our output has gone: end without a word, and without one from the interpreter either."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    return ExitCode.FAILED
