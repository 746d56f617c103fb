"""Keep conversations as JSON lines, one file each, and find them again. Asks no model and shows it nothing.

``<home>/conversations/<UTC time>-<first words>.jsonl`` holds one entry a line: ``begin``, ``system``, ``turn``,
``undo``. Lines are only ever added, and are on the disk before a call returns: a process that is killed loses the turn
in progress and no other. Who goes on with a conversation holds its file locked; who only reads it waits for nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

from armillary.core.errors import ArmillaryError, NotFoundError, UsageError
from armillary.core.messages import FinishReason, ModelIdentity, Usage
from armillary.core.settings import Settings

FORMAT_VERSION = 1
MAX_SLUG_BYTES = 40
MAX_NAMED = 5
SUFFIX = ".jsonl"


class ConversationError(ArmillaryError):
    """A conversation's file is damaged, in use, or cannot be written."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text that goes along with a question.

    Attributes:
        name: its path as the user wrote it, or ``stdin``.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and its answer.

    Attributes:
        question: the user's own words.
        answer: what was written; a part of it if ``reason`` is ``cancelled`` or ``error``.
        files: what went along with the question.
        model: the real model behind the answer.
    """

    question: str
    answer: str
    files: tuple[Attachment, ...] = ()
    reason: FinishReason = "stop"
    model: ModelIdentity = field(default_factory=lambda: ModelIdentity(""))
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Summary:
    """One row of a list of conversations.

    Attributes:
        note: what is wrong with the file, or empty.
    """

    name: str
    num_turns: int = 0
    first_question: str = ""
    note: str = ""


class Conversation:
    """A conversation that goes on; its file is made with the first turn, readable for its owner only.

    Args:
        folder: where the file will be; None keeps the conversation in memory only.
        system: system message.
    """

    def __init__(self, folder: Path | None, *, system: str = "") -> None:
        self.path: Path | None = None
        self.repair_note = ""
        self._state = _State(system=system)
        self._folder = folder
        self._file: int | None = None

    @classmethod
    def resume(cls, path: Path) -> Conversation:
        """Go on with a conversation; a last line that was cut off is removed from the file, with a note.

        Raises:
            NotFoundError: there is no such file.
            ConversationError: it is damaged elsewhere, or another process goes on with it.
        """
        conversation = cls(path.parent)
        conversation.path = path
        with _explained(path, "read"):
            conversation._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            conversation._take_over(conversation._file, path)
        except BaseException:
            conversation.close()
            raise
        return conversation

    @property
    def name(self) -> str:
        """What to call it by; empty until it has a file."""
        return "" if self.path is None else self.path.stem

    @property
    def system(self) -> str:
        """System message, or empty."""
        return self._state.system

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns that were not taken back, oldest first."""
        return tuple(self._state.turns)

    def set_system(self, text: str) -> None:
        """Replace the system message; an empty one removes it."""
        if text != self._state.system:
            if self._file is not None:
                self._write({"kind": "system", "text": text})
            self._state.system = text

    def add(self, turn: Turn) -> None:
        """Append a turn.

        Raises:
            ConversationError: the file cannot be written; it then ends as it did before.
        """
        self._begin(turn.question)
        self._write(_turn_to_json(turn))
        self._state.turns.append(turn)

    def undo(self) -> Turn:
        """Take the last turn back and return it.

        Raises:
            UsageError: there is none.
        """
        if not self._state.turns:
            raise UsageError("there is no turn to take back")
        self._write({"kind": "undo"})
        return self._state.turns.pop()

    def replace_last(self, turn: Turn) -> None:
        """Put a turn in the place of the last one, in one step.

        Raises:
            UsageError: there is none.
        """
        if not self._state.turns:
            raise UsageError("there is no turn to replace")
        self._write({"kind": "undo"}, _turn_to_json(turn))
        self._state.turns[-1] = turn

    def close(self) -> None:
        """Let go of the file; what comes after is kept in memory only. A second call does nothing."""
        self._folder = None
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _take_over(self, file: int, path: Path) -> None:
        _lock(file, path)
        with _explained(path, "read"):
            content = path.read_bytes()
        self._state, num_sound_bytes = _parse(content, path)
        with _explained(path, "write"):
            if num_sound_bytes < len(content):
                os.ftruncate(file, num_sound_bytes)
                self.repair_note = f"the last line of {path.name} was cut off and is left out"
            elif not content.endswith(b"\n"):
                os.write(file, b"\n")

    def _begin(self, question: str) -> None:
        if self._folder is None or self._file is not None:
            return
        # Two processes may begin at the same moment: only one of them makes a file of that name.
        path = self._folder / f"{_stamp()}-{_slug(question)}{SUFFIX}"
        with _explained(path, "write"):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            self.path = path
            _lock(self._file, path)
            _sync_folder(self._folder)
        self._write(
            {"kind": "begin", "version": FORMAT_VERSION, "time": round(time.time(), 3)},
            *([{"kind": "system", "text": self._state.system}] if self._state.system else []),
        )

    def _write(self, *entries: dict[str, Any]) -> None:
        if self._file is None:
            return
        assert self.path is not None, "an open file has a path"
        content = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
        with _explained(self.path, "write"):
            size_before = os.fstat(self._file).st_size
            try:
                while content:
                    content = content[os.write(self._file, content) :]
                os.fsync(self._file)
            except OSError:
                # Half a line would swallow the next one.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, size_before)
                raise


def conversations_folder(settings: Settings) -> Path:
    """Where conversations are kept."""
    return settings.home / "conversations"


def newest(folder: Path) -> Path:
    """The conversation that was used last.

    Raises:
        NotFoundError: there is none.
    """
    paths = _paths(folder)
    if not paths:
        raise NotFoundError("there is no conversation yet to go on with")
    return max(paths, key=lambda path: (path.stat().st_mtime_ns, path.name))


def find(folder: Path, name: str) -> Path:
    """The conversation whose name, or only whose name's part, is ``name``.

    Raises:
        NotFoundError: no name holds it.
        UsageError: several do.
    """
    wanted = name.removesuffix(SUFFIX)
    found = [path for path in _paths(folder) if wanted and wanted in path.stem]
    exact = [path for path in found if path.stem == wanted]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        raise UsageError(f"{len(found)} conversations match {name!r}", hint=f"such as {_named(found)}")
    known = _paths(folder)
    raise NotFoundError(f"no conversation is called {name!r}", hint=f"the last ones: {_named(known)}" if known else "")


def summaries(folder: Path) -> list[Summary]:
    """All conversations, oldest first; a damaged one says so."""
    return [_summary(path) for path in _paths(folder)]


def _summary(path: Path) -> Summary:
    try:
        with _explained(path, "read"):
            turns = _parse(path.read_bytes(), path)[0].turns
    except ArmillaryError as error:
        return Summary(path.stem, note=str(error))
    return Summary(path.stem, len(turns), turns[0].question if turns else "")


def _paths(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_file())


def _named(paths: list[Path]) -> str:
    return ", ".join(path.stem for path in paths[-MAX_NAMED:])


def _stamp() -> str:
    now = time.time()
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}.{int(now * 1e6) % 1_000_000:06d}Z"


def _slug(question: str) -> str:
    """The first words as a part of a file name, cut by bytes, because file systems count those."""
    words = "-".join(re.findall(r"\w+", question[: 4 * MAX_SLUG_BYTES].lower()))
    return words.encode("utf-8", "ignore")[:MAX_SLUG_BYTES].decode("utf-8", "ignore").strip("-") or "chat"


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConversationError(
            f"another process is in the conversation {path.stem}", hint="leave it there first"
        ) from error


def _sync_folder(folder: Path) -> None:
    """Without it a crash of the machine may lose the name of a file whose content it kept."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextlib.contextmanager
def _explained(path: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(f"no conversation {path}") from error
    except OSError as error:
        raise ConversationError(f"cannot {verb} the conversation {path}: {error.strerror}") from error


@dataclass(slots=True)
class _State:
    """What the lines so far add up to."""

    system: str = ""
    turns: list[Turn] = field(default_factory=list)

    def apply(self, entry: dict[str, Any]) -> None:
        """Take one line in; one that makes no sense raises what indexing, unpacking or a bad value raises."""
        kind = entry["kind"]
        if kind == "begin":
            if entry["version"] != FORMAT_VERSION:
                raise ValueError(f"version {entry['version']!r} is not {FORMAT_VERSION}")
        elif kind == "system":
            self.system = _text(entry["text"])
        elif kind == "turn":
            self.turns.append(_turn_from_json(entry))
        elif kind == "undo":
            self.turns.pop()
        else:
            raise ValueError(f"unknown kind {kind!r}")


def _parse(content: bytes, path: Path) -> tuple[_State, int]:
    """What a file says, and how many of its bytes are whole lines."""
    state = _State()
    num_sound_bytes = 0
    for number, line in enumerate(re.findall(rb"[^\n]*\n|[^\n]+", content), start=1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            if not line.endswith(b"\n"):
                break
            raise ConversationError(f"{path} is damaged: line {number} is not JSON") from error
        try:
            state.apply(entry)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ConversationError(f"{path} is damaged: line {number} is no entry ({error})") from error
        num_sound_bytes += len(line)
    return state, num_sound_bytes


def _turn_to_json(turn: Turn) -> dict[str, Any]:
    return {"kind": "turn", "time": round(time.time(), 3), **asdict(turn)}


def _turn_from_json(entry: dict[str, Any]) -> Turn:
    reason = entry["reason"]
    if reason not in get_args(FinishReason):
        raise ValueError(f"unknown reason {reason!r}")
    return Turn(
        question=_text(entry["question"]),
        answer=_text(entry["answer"]),
        files=tuple(Attachment(_text(item["name"]), _text(item["text"])) for item in entry["files"]),
        reason=reason,
        model=ModelIdentity(_text(entry["model"]["name"]), _text(entry["model"]["sha256"])),
        usage=Usage(int(entry["usage"]["prompt_tokens"]), int(entry["usage"]["completion_tokens"])),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
