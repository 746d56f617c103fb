"""``armillary chat``: a conversation on the terminal, or line by line from a pipe. Verifies nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from armillary.cli.chat_commands import run_if_command
from armillary.cli.chat_input import LineReader, StreamLines, TerminalLines, read_turn
from armillary.cli.chat_session import Session
from armillary.cli.options import takes
from armillary.cli.output import Interrupted, keeping, say
from armillary.cli.speaker import SpeakerOptions, open_speaker
from armillary.core.errors import ArmillaryError, ExitCode, UsageError
from armillary.core.settings import Settings, load_settings
from armillary.runtime.conversation import Conversation, conversations_folder, find, newest

HISTORY_NAME = "chat_history"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions(SpeakerOptions):
    """What ``armillary chat`` takes."""

    goes_on: Annotated[bool, typer.Option("--continue", help="Go on with the last conversation.")] = False
    conversation: Annotated[
        str | None, typer.Option(metavar="NAME", help="Go on with this conversation; a part of its name will do.")
    ] = None
    file: Annotated[list[str] | None, typer.Option(help="Text file for the first question; repeatable.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per answer.")] = False


@takes(ChatOptions)
def command(options: ChatOptions) -> int:
    """Talk with the model; the conversation is kept, turn by turn.

    Lines that are piped in are asked one by one; answers go to stdout, all else to stderr. /help tells the commands.
    """
    settings = load_settings({"models.default": options.model, "remote.url": options.remote})
    with _session(options, settings) as session:
        for path in options.file or []:
            session.attach(path)
        if not sys.stdin.isatty():
            _run_script(session, StreamLines())
            return ExitCode.OK
        with closing(TerminalLines(settings.home / HISTORY_NAME)) as reader:
            say(f"{session.speaker.generator.model.name}; /help tells the commands, Ctrl-D leaves")
            _talk(session, reader)
        if session.conversation.name:
            say(f"kept as {session.conversation.name}")
    return ExitCode.OK


@contextmanager
def _session(options: ChatOptions, settings: Settings) -> Iterator[Session]:
    conversation = _conversation(options, settings)
    try:
        if options.system is not None:
            conversation.set_system(options.system)
        with keeping(lambda: "nothing was said"):
            speaker = open_speaker(settings, options)
    except BaseException:
        conversation.close()
        raise
    with closing(Session(settings, options, speaker, conversation, as_json=options.as_json)) as session:
        if conversation.name:
            session.say_where()
        yield session


def _conversation(options: ChatOptions, settings: Settings) -> Conversation:
    folder = conversations_folder(settings)
    if options.goes_on and options.conversation is not None:
        raise UsageError("--continue and --conversation name two conversations", hint="give one of them")
    if options.conversation is not None:
        return Conversation.resume(find(folder, options.conversation))
    return Conversation.resume(newest(folder)) if options.goes_on else Conversation(folder)


def _run_script(session: Session, reader: LineReader) -> None:
    """Take every turn in its order; the first error or Ctrl-C ends the chat."""
    with keeping(lambda: _what_is_kept(session)):
        while not session.is_over and _take_turn(session, reader):
            if session.was_stopped:
                raise KeyboardInterrupt


def _talk(session: Session, reader: LineReader) -> None:
    """Take turns until the user leaves; an error is told, and Ctrl-C leaves only when it comes twice."""
    while not session.is_over:
        try:
            if not _take_turn(session, reader):
                return
        except KeyboardInterrupt as stop:
            print(file=sys.stderr)
            if session.was_stopped:
                raise Interrupted(f"interrupted; {_what_is_kept(session)}") from stop
            session.was_stopped = True
            say("Ctrl-C again or Ctrl-D leaves")
        except ArmillaryError as error:
            say(f"error: {error}")


def _take_turn(session: Session, reader: LineReader) -> bool:
    typed = read_turn(reader)
    if typed is None:
        return False
    session.was_stopped = False
    if typed.text.strip() and (typed.is_block or not run_if_command(session, typed.text)):
        session.ask(typed.text)
    return True


def _what_is_kept(session: Session) -> str:
    name = session.conversation.name
    return f"the conversation is kept as {name}" if name else "nothing was said"
