"""The commands of a chat, one row each. What they do is in ``chat_session.py``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from armillary.cli.chat_session import Session
from armillary.cli.output import columns, say
from armillary.core.errors import UsageError

# A path such as /etc/hosts is no command: another slash follows its first word.
COMMAND = re.compile(r"/(\w+)(?:\s+(.*))?", re.DOTALL)
NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table.

    Attributes:
        arguments: as the help shows them.
        run: takes the session and what follows the command's name.
    """

    arguments: str
    about: str
    run: Callable[[Session, str], None]


def run_if_command(session: Session, text: str) -> bool:
    """Run a line that is a command, and tell whether it was one.

    Raises:
        UsageError: no command has that name; the known ones are named.
    """
    match = COMMAND.fullmatch(text.rstrip())
    if match is None:
        return False
    name, argument = match[1], (match[2] or "").strip()
    if name not in COMMANDS:
        raise UsageError(f"unknown command /{name}", hint=f"known: {', '.join(f'/{known}' for known in COMMANDS)}")
    COMMANDS[name].run(session, argument)
    return True


def _help(session: Session, argument: str) -> None:
    for line in columns([(f"/{name} {row.arguments}", row.about) for name, row in COMMANDS.items()]):
        say(line)
    say('A line that ends in \\ goes on; """ opens and closes a block. Ctrl-C stops an answer, Ctrl-D leaves.')


def _file(session: Session, argument: str) -> None:
    if argument == NOTHING:
        session.attached = ()
    elif argument:
        session.attach(argument)
        return
    say(f"attached: {', '.join(file.name for file in session.attached) or 'nothing'}")


def _system(session: Session, argument: str) -> None:
    if argument:
        session.conversation.set_system("" if argument == NOTHING else argument)
    say(f"system message: {session.conversation.system or 'none'}")


def _model(session: Session, argument: str) -> None:
    if argument:
        session.switch_model(argument)
    else:
        session.say_model()


def _save(session: Session, argument: str) -> None:
    session.save(_required(argument, "/save PATH"))


def _load(session: Session, argument: str) -> None:
    session.load(_required(argument, "/load NAME"))


def _exit(session: Session, argument: str) -> None:
    session.is_over = True


def _required(argument: str, usage: str) -> str:
    if not argument:
        raise UsageError("something is missing", hint=usage)
    return argument


COMMANDS = {
    "help": Command("", "these commands", _help),
    "file": Command("PATH", "let a text file go along with the next question; - takes all back", _file),
    "system": Command("TEXT", "set the system message; - removes it", _system),
    "undo": Command("", "take the last question and its answer back", lambda session, _: session.undo()),
    "retry": Command("", "ask the last question again", lambda session, _: session.retry()),
    "save": Command("PATH", "write the conversation as Markdown", _save),
    "load": Command("NAME", "go on with another conversation; a part of its name will do", _load),
    "list": Command("", "the newest conversations", lambda session, _: session.say_list()),
    "model": Command("NAME", "the model that answers; a name takes another one", _model),
    "tokens": Command("", "how long the conversation is, and what was paid", lambda session, _: session.say_tokens()),
    "exit": Command("", "leave; the conversation is kept", _exit),
}
