"""Turn the bytes of tokens into text that may be shown at once. Nothing that was returned is ever taken back.

Held back are incomplete UTF-8 characters and any ending that may grow into a stop string.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import NamedTuple


class TextState(NamedTuple):
    """Everything that a text stream remembers.

    Attributes:
        pending: bytes of a character that is not complete.
        held: text that may be the beginning of a stop string.
        is_stopped: whether a stop string has appeared.
    """

    pending: bytes = b""
    held: str = ""
    is_stopped: bool = False


class TextStream:
    """Incremental decoder with stop strings.

    The text ends before the stop string that is complete first, the longest if several are complete at once. So the
    result does not depend on how the bytes were cut into tokens.

    Args:
        stop: strings that end the text, none of them empty.
    """

    def __init__(self, stop: Iterable[str] = ()) -> None:
        self._stop = tuple(stop)
        self._longest_hold = max((len(text) for text in self._stop), default=1) - 1
        self.state = TextState()

    @property
    def is_stopped(self) -> bool:
        """Whether a stop string has appeared; all that follows is dropped."""
        return self.state.is_stopped

    def push(self, token_bytes: bytes) -> str:
        """Add the bytes of one token and return what may be shown now."""
        return self._advance(token_bytes, is_last=False)

    def flush(self) -> str:
        """Return what was held back; an incomplete character becomes U+FFFD."""
        return self._advance(b"", is_last=True)

    def _advance(self, token_bytes: bytes, *, is_last: bool) -> str:
        if self.state.is_stopped:
            return ""
        encoded = self.state.pending + token_bytes
        decoded, num_used = codecs.utf_8_decode(encoded, "replace", is_last)
        text = self.state.held + decoded
        end = self._find_stop(text)
        if end is not None:
            self.state = TextState(is_stopped=True)
            return text[:end]
        num_held = 0 if is_last else self._num_held(text)
        shown = len(text) - num_held
        self.state = TextState(encoded[num_used:], text[shown:])
        return text[:shown]

    def _find_stop(self, text: str) -> int | None:
        """Where the stop string that is complete first begins."""
        found = [(start + len(stop), start) for stop in self._stop if (start := text.find(stop)) >= 0]
        return min(found)[1] if found else None

    def _num_held(self, text: str) -> int:
        """Length of the longest ending of the text that begins a stop string."""
        for length in range(min(self._longest_hold, len(text)), 0, -1):
            ending = text[-length:]
            if any(stop.startswith(ending) for stop in self._stop):
                return length
        return 0
