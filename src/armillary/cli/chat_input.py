"""Read the turns of a chat: from a terminal with a history of lines, or line by line from anything else.

A line that ends in a backslash goes on; three double quotes open and close a block. Knows no command and no model.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from armillary.cli.inputs import MAX_TEXT_BYTES
from armillary.core.errors import UsageError

QUOTES = '"""'
PROMPT = "> "
PROMPT_MORE = ". "
MAX_HISTORY_LINES = 1000


@dataclass(frozen=True, slots=True)
class Typed:
    """One turn as it was typed.

    Attributes:
        is_block: whether it stood in quotes, and so cannot be a command.
    """

    text: str
    is_block: bool = False


class LineReader(Protocol):
    """Where lines come from."""

    def read_line(self, prompt: str) -> str | None:
        """The next line without its end, or None after the last one."""
        ...


def read_turn(reader: LineReader) -> Typed | None:
    """The next turn, of one line or of several; None at the end.

    Raises:
        UsageError: a block has no end, or a line is no text.
        KeyboardInterrupt: Ctrl-C while typing.
    """
    line = reader.read_line(PROMPT)
    if line is None:
        return None
    if line.lstrip().startswith(QUOTES):
        return Typed(_rest_of_block(reader, line.lstrip().removeprefix(QUOTES)), is_block=True)
    lines = []
    while line is not None and line.endswith("\\"):
        lines.append(line.removesuffix("\\"))
        line = reader.read_line(PROMPT_MORE)
    return Typed("\n".join([*lines, line or ""]))


def _rest_of_block(reader: LineReader, line: str | None) -> str:
    lines = []
    while line is not None:
        if line.rstrip().endswith(QUOTES):
            lines.append(line.rstrip().removesuffix(QUOTES))
            return "\n".join(lines).strip("\n")
        lines.append(line)
        line = reader.read_line(PROMPT_MORE)
    raise UsageError(f"a block that {QUOTES} opened has no end")


class StreamLines:
    """Lines of stdin, whatever it is; prints no prompt."""

    def __init__(self) -> None:
        self._number = 0

    def read_line(self, prompt: str) -> str | None:
        """The next line without its end, or None after the last one."""
        line = sys.stdin.buffer.readline(MAX_TEXT_BYTES + 1)
        self._number += 1
        if not line:
            return None
        if len(line) > MAX_TEXT_BYTES:
            raise UsageError(f"line {self._number} of stdin is longer than {MAX_TEXT_BYTES} bytes")
        try:
            return line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise UsageError(f"line {self._number} of stdin is not UTF-8 text") from error


class TerminalLines:
    """Lines that are typed and edited; earlier ones come back with the arrow keys, also in the next chat.

    Args:
        history_path: file of the lines, readable for its owner only.
    """

    def __init__(self, history_path: Path) -> None:
        import readline

        self._readline = readline
        self._history_path = history_path
        readline.clear_history()
        # A chat without yesterday's lines is a chat all the same.
        with contextlib.suppress(OSError):
            history_path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(history_path, os.O_CREAT | os.O_CLOEXEC, 0o600))
            readline.read_history_file(history_path)

    def read_line(self, prompt: str) -> str | None:
        """The next line without its end, or None after Ctrl-D."""
        before = self._readline.get_current_history_length()
        try:
            line = self._ask(prompt)
        except EOFError:
            print(file=sys.stderr)
            return None
        except UnicodeDecodeError as error:
            raise UsageError("that line is not UTF-8 text") from error
        if self._readline.get_current_history_length() > before:
            with contextlib.suppress(OSError):
                self._readline.append_history_file(1, self._history_path)
        return line

    def close(self) -> None:
        """Cut the history to its newest lines."""
        self._readline.set_history_length(MAX_HISTORY_LINES)
        with contextlib.suppress(OSError):
            self._readline.append_history_file(0, self._history_path)
        self._readline.set_history_length(-1)

    def _ask(self, prompt: str) -> str:
        if sys.stdout.isatty():
            return input(prompt)
        # The answers go elsewhere, and the prompt must not go with them.
        print(prompt, end="", file=sys.stderr, flush=True)
        return input()
