"""``armillary ask``: one question, one answer, printed as it appears and kept. Verifies nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from armillary.cli.attachments import PIPE_NAME, is_piped, read_attachments, read_pipe, require_size
from armillary.cli.inputs import STDIN, read_text
from armillary.cli.options import takes
from armillary.cli.output import Interrupted, emit, keeping, say
from armillary.cli.speaker import Reply, SpeakerOptions, open_speaker, undisturbed
from armillary.core.errors import ArmillaryError, ExitCode, NotFoundError, UsageError
from armillary.core.settings import Settings, load_settings
from armillary.runtime.context_window import History
from armillary.runtime.conversation import Attachment, Conversation, conversations_folder, newest


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions(SpeakerOptions):
    """What ``armillary ask`` takes."""

    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="The question; - or nothing reads it from stdin.")
    ] = None
    more_files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="More files: what a shell makes of --file *.py.")
    ] = None
    file: Annotated[list[str] | None, typer.Option(help="Text file that goes along, or - for stdin; repeatable.")] = (
        None
    )
    goes_on: Annotated[bool, typer.Option("--continue", help="Go on with the last conversation.")] = False
    is_kept: Annotated[bool, typer.Option("--save/--no-save", help="Keep the conversation.")] = True
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False


@takes(AskOptions)
def command(options: AskOptions) -> int:
    """Ask the model and print its answer as it appears; the cost goes to stderr.

    What is piped in goes along with the question. Ctrl-C ends the answer; what was written by then is kept.
    """
    question, files = _question(options)
    settings = load_settings({"models.default": options.model, "remote.url": options.remote})
    with _conversation(options, settings) as conversation:
        with keeping(lambda: "nothing was written"):
            speaker = open_speaker(settings, options)
            history = History(conversation.system, conversation.turns)
            reply = speaker.ask(history, question, files, echo=not options.as_json)
        with undisturbed():
            is_kept = _keep(conversation, reply) and options.is_kept
        return _report(reply, conversation.name if is_kept else "", options)


def _question(options: AskOptions) -> tuple[str, tuple[Attachment, ...]]:
    """The question, and the texts that go along: what was piped in first."""
    names = [*(options.file or []), *(options.more_files or [])]
    if options.prompt is None or options.prompt == STDIN:
        question, piped = _question_from_stdin(options, names), ""
    else:
        question, piped = options.prompt, read_pipe() if STDIN not in names and is_piped() else ""
    if not question.strip():
        raise UsageError("the question is empty")
    files = _read_files(names)
    if piped.strip():
        files = (Attachment(PIPE_NAME, piped), *files)
    require_size(files)
    return question, files


def _question_from_stdin(options: AskOptions, names: list[str]) -> str:
    if STDIN in names:
        raise UsageError("stdin cannot be both the question and a file")
    if options.prompt is None and sys.stdin.isatty():
        raise UsageError("the question is missing", hint='armillary ask "...", or pipe it in')
    return read_text(STDIN)


def _read_files(names: list[str]) -> tuple[Attachment, ...]:
    try:
        return read_attachments(names)
    except NotFoundError as error:
        raise NotFoundError(error.message, hint="the question comes first, then --file and its files") from error


def _conversation(options: AskOptions, settings: Settings) -> Conversation:
    folder = conversations_folder(settings)
    if not options.goes_on:
        return Conversation(folder if options.is_kept else None, system=options.system or "")
    conversation = Conversation.resume(newest(folder))
    if conversation.repair_note:
        say(conversation.repair_note)
    if not options.is_kept:
        conversation.close()  # goes on in memory
    if options.system is not None:
        conversation.set_system(options.system)
    return conversation


def _keep(conversation: Conversation, reply: Reply) -> bool:
    """Whether the answer was worth keeping and could be; one that cannot be kept is an answer all the same."""
    if not reply.is_worth_keeping:
        return False
    try:
        conversation.add(reply.turn)
    except ArmillaryError as error:
        say(f"the conversation is not kept: {error}")
        return False
    return True


def _report(reply: Reply, name: str, options: AskOptions) -> int:
    if options.as_json:
        emit({**reply.to_json(), "conversation": name})
    if reply.turn.reason == "cancelled":
        kept = f" and are kept in {name}" if name else ""
        raise Interrupted(f"interrupted; {reply.num_tokens} tokens of the answer were written{kept}")
    if reply.turn.reason == "error":
        raise ArmillaryError(f"the model stopped: {reply.error}")
    say(reply.summary)
    return ExitCode.OK
