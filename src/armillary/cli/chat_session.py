"""What a chat can do: ask, ask again, take back, load, save, and tell about itself. Reads no keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from armillary.cli.attachments import read_attachments, require_size
from armillary.cli.inputs import STDIN
from armillary.cli.output import columns, emit, say
from armillary.cli.speaker import Reply, Speaker, SpeakerOptions, open_speaker, undisturbed
from armillary.core.errors import ArmillaryError, NotFoundError, UsageError
from armillary.core.messages import Usage
from armillary.core.settings import Settings
from armillary.runtime.context_window import History, user_message
from armillary.runtime.conversation import (
    Attachment,
    Conversation,
    ConversationError,
    Turn,
    conversations_folder,
    find,
    summaries,
)

MAX_LISTED = 20
MAX_QUOTED_CHARS = 60


class Session:
    """One chat: a speaker, a conversation, and what goes along with the next question.

    Args:
        settings: where conversations are kept, and which models are known.
        options: how models are asked.
        speaker: the model at the beginning.
        conversation: the conversation at the beginning; :meth:`close` closes whichever is the last.
        as_json: print each answer as one JSON object when it is finished, not as it comes.
    """

    def __init__(
        self,
        settings: Settings,
        options: SpeakerOptions,
        speaker: Speaker,
        conversation: Conversation,
        *,
        as_json: bool = False,
    ) -> None:
        self.speaker = speaker
        self.conversation = conversation
        self.attached: tuple[Attachment, ...] = ()
        self.usage = Usage()
        self.is_over = False
        self.was_stopped = False
        self._settings = settings
        self._options = options
        self._as_json = as_json
        self._unanswered: str | None = None
        self._num_retries = 0

    def close(self) -> None:
        """Let go of the conversation."""
        self.conversation.close()

    def ask(self, question: str) -> None:
        """Ask with what is attached; ``was_stopped`` tells whether Ctrl-C ended the answer.

        Raises:
            ArmillaryError: the model failed; the question can be asked again by :meth:`retry`.
        """
        self._num_retries = 0
        self._unanswered = question
        self._answer(question)

    def retry(self) -> None:
        """Ask the last question again, in the place of its answer if there was one.

        Raises:
            UsageError: nothing was asked yet.
            ArmillaryError: the model failed.
        """
        if self._unanswered is not None:
            self._answer(self._unanswered)
            return
        if not self.conversation.turns:
            raise UsageError("there is no question yet to ask again")
        if self.speaker.sampling.temperature == 0:
            say("the same answer may come again: the temperature is 0 (--temperature 0.7 gives others)")
        self._num_retries += 1
        *earlier, last = self.conversation.turns
        reply = self._reply(tuple(earlier), last.question, last.files)
        self._keep(reply, self.conversation.replace_last)
        self._report(reply)

    def attach(self, path: str) -> None:
        """Let a text file go along with the next question.

        Raises:
            NotFoundError: there is no such file.
            UsageError: it is no text, or too long.
        """
        if path == STDIN:
            raise UsageError("stdin holds the turns of the chat", hint="name a file")
        files = (*self.attached, *read_attachments([str(Path(path).expanduser())]))
        require_size(files)
        self.attached = files
        say(f"{files[-1].name} ({len(files[-1].text)} characters) goes along with the next question")

    def undo(self) -> None:
        """Take the last question and its answer back.

        Raises:
            UsageError: there is none.
        """
        turn = self.conversation.undo()
        self._forget_retries()
        say(f"taken back: {quoted(turn.question)}")

    def save(self, target: str) -> None:
        """Write the conversation as Markdown into a file that must not exist yet.

        Raises:
            UsageError: it exists or cannot be written.
        """
        path = Path(target).expanduser()
        try:
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(to_markdown(self.conversation))
        except FileExistsError as error:
            raise UsageError(f"{path} exists already", hint="name another file") from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(f"{path} cannot be written: {reason}") from error
        say(f"written to {path}")

    def load(self, name: str) -> None:
        """Go on with another conversation; this one stays as it is.

        Raises:
            NotFoundError: no conversation is called so.
            UsageError: several are.
            ConversationError: it is damaged or in use.
        """
        path = find(conversations_folder(self._settings), name)
        if path != self.conversation.path:
            loaded = Conversation.resume(path)
            self.conversation.close()
            self.conversation = loaded
            self._forget_retries()
        self.say_where()

    def say_where(self) -> None:
        """Tell which conversation goes on, and what was mended in its file."""
        conversation = self.conversation
        if conversation.repair_note:
            say(conversation.repair_note)
        turns = "1 turn" if len(conversation.turns) == 1 else f"{len(conversation.turns)} turns"
        last = f", the last question: {quoted(conversation.turns[-1].question)}" if conversation.turns else ""
        say(f"going on with {conversation.name}: {turns}{last}")

    def say_list(self) -> None:
        """Tell the newest conversations."""
        rows = summaries(conversations_folder(self._settings))[-MAX_LISTED:]
        if not rows:
            raise NotFoundError("there is no conversation yet")
        for line in columns([(row.name, str(row.num_turns), row.note or quoted(row.first_question)) for row in rows]):
            say(line)

    def say_model(self) -> None:
        """Tell the model that answers."""
        model = self.speaker.generator.model
        context = self.speaker.window.context_tokens
        say(f"{model.name} (sha256 {model.sha256 or 'unknown'}, context {context or 'unknown'})")

    def switch_model(self, name: str) -> None:
        """Let another model answer from now on.

        Raises:
            NotFoundError: no such model here; the present one goes on.
        """
        self.speaker = open_speaker(self._settings, self._options, name)
        self.say_model()

    def say_tokens(self) -> None:
        """Tell how long the next prompt is so far, and what was paid."""
        window = self.speaker.window
        prompt = window.fit(self._history(self.conversation.turns), user_message("", self.attached))
        about = "" if window.is_exact else "about "
        left_out = f" without the oldest {prompt.num_left_out} turns" if prompt.num_left_out else ""
        say(
            f"the next prompt has {about}{prompt.num_tokens} tokens before its question{left_out}, the context "
            f"{window.context_tokens or 'an unknown number'}; paid in this chat: "
            f"{self.usage.prompt_tokens} + {self.usage.completion_tokens}"
        )

    def _history(self, turns: tuple[Turn, ...]) -> History:
        return History(self.conversation.system, turns)

    def _answer(self, question: str) -> None:
        reply = self._reply(self.conversation.turns, question, self.attached)
        self._keep(reply, self.conversation.add)
        if reply.is_worth_keeping:
            self._unanswered = None
            self.attached = ()
        self._report(reply)

    def _reply(self, turns: tuple[Turn, ...], question: str, files: tuple[Attachment, ...]) -> Reply:
        reply = self.speaker.ask(
            self._history(turns), question, files, echo=not self._as_json, num_earlier=self._num_retries
        )
        self.usage += reply.turn.usage
        self.was_stopped = reply.turn.reason == "cancelled"
        return reply

    def _keep(self, reply: Reply, keep: Callable[[Turn], None]) -> None:
        if not reply.is_worth_keeping:
            return
        try:
            with undisturbed():
                keep(reply.turn)
        except ConversationError as error:
            say(f"from here on this conversation is not kept: {error}")
            self.conversation.close()
            keep(reply.turn)

    def _report(self, reply: Reply) -> None:
        if self._as_json:
            emit({**reply.to_json(), "conversation": self.conversation.name})
        if self.was_stopped:
            say("stopped; what was written is kept" if reply.turn.answer else "stopped; nothing was written")
        elif reply.turn.reason == "error":
            raise ArmillaryError(f"the model stopped: {reply.error}", hint="/retry asks again")
        elif reply.cut:
            say(reply.cut)

    def _forget_retries(self) -> None:
        self._unanswered = None
        self._num_retries = 0


def quoted(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTED_CHARS else f"{line[: MAX_QUOTED_CHARS - 3]}..."


def to_markdown(conversation: Conversation) -> str:
    """A conversation for people to read."""
    parts = [f"# {conversation.name or 'Conversation'}"]
    if conversation.system:
        parts.append(f"## System\n\n{conversation.system}")
    for turn in conversation.turns:
        cut = "" if turn.reason == "stop" else f" ({turn.reason})"
        parts.append(f"## Question\n\n{user_message(turn.question, turn.files).content}")
        parts.append(f"## {turn.model.name}{cut}\n\n{turn.answer}")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
