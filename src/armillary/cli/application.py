"""One table of commands, each module imported only when it is named.

Turns every expected error into one line on stderr and an exit code; knows nothing about what a command does.
"""

from __future__ import annotations

import re
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
    "calibrate": "Turn your own labelled tasks into the risk of being wrong.",
    "ask": "Ask the model and print its answer as it appears.",
    "chat": "Talk with the model; the conversation is kept.",
    "pull": "Fetch a model.",
    "models": "List the models that are known and those that are here.",
    "doctor": "Show what this machine offers and which settings apply.",
    "bench": "Measure one topic on this machine.",
}
# PyTorch says so in a RuntimeError, in one of these ways.
NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|enforce fail|out of memory", re.IGNORECASE)


def dispatch(arguments: list[str]) -> int:
    """Run one command line and return its exit status.

    Raises:
        KeyboardInterrupt: Ctrl-C came where no command was there to tidy up.
        OSError: the machine failed, or nobody reads the output.
    """
    try:
        code = get_command(_application(arguments)).main(arguments, prog_name="armillary", standalone_mode=False)
    except ArmillaryError as error:
        say(str(error) if error.exit_code == ExitCode.INTERRUPTED else f"error: {error}")
        return error.exit_code
    except typer.TyperException as error:
        say(f"error: {' '.join(error.format_message().split())}")
        return ExitCode.USAGE
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not NO_MEMORY.search(str(error)):
            raise
        say("error: the machine has too little free memory for this (close other programs or take a smaller model)")
        return ExitCode.FAILED
    if code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
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
