"""How bytes and control tokens are spelled in text: the byte-level alphabet, and a guard against forged tokens.

Pure text work; knows no vocabulary file and no template.
"""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType

from armillary.core.errors import UsageError

REPLACEMENT = "\ufffd"
# Noncharacters first: they are reserved for a program's own use and mean nothing in any text.
_MARKERS = (*range(0xFDD0, 0xFDF0), *range(0xF0000, 0xFFFFE))


def _letters() -> dict[int, str]:
    """The letter that stands for each byte: itself if it prints, else the next one from U+0100 on."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printing]
    return {byte: chr(byte) for byte in printing} | {byte: chr(0x100 + at) for at, byte in enumerate(others)}


LETTER_OF_BYTE = MappingProxyType(_letters())
LETTERS = frozenset(LETTER_OF_BYTE.values())
BYTE_OF_LETTER = {ord(letter): byte for byte, letter in LETTER_OF_BYTE.items()}


def lacking_bytes(words: Collection[str]) -> bytes:
    """The bytes that no single-byte word stands for."""
    return bytes(byte for byte, letter in LETTER_OF_BYTE.items() if letter not in words)


def missing_as_replacement(text: str, missing: bytes) -> str:
    """``text`` with U+FFFD for each character that needs a missing byte.

    Raises:
        UnicodeEncodeError: the text holds half a surrogate pair.
    """
    encoded = text.encode()
    if len(encoded.translate(None, missing)) == len(encoded):
        return text
    return "".join(
        character if not set(character.encode()).intersection(missing) else REPLACEMENT for character in text
    )


class Guard:
    """Breaks control tokens that a text spells out, so that nobody but a template can write them.

    Args:
        words: the spellings of the control tokens, each of two characters or more.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = sorted(words, key=len, reverse=True)
        self._beginnings = tuple({word[:length] for word in words for length in range(1, len(word))})
        self._endings = tuple({word[length:] for word in words for length in range(1, len(word))})

    def marker(self, *texts: str) -> str:
        """A character that none of the texts holds.

        Raises:
            UsageError: the texts hold every character that could serve.
        """
        for code in _MARKERS:
            if not any(chr(code) in text for text in texts):
                return chr(code)
        raise UsageError("the conversation uses every private character of Unicode")

    def protect(self, text: str, marker: str) -> str:
        """Put the marker into each spelled-out control token, and where a neighbour could complete one.

        The text is otherwise unchanged, and unchanged altogether when it holds nothing of the kind.
        """
        for word in self._words:
            while word in text:  # again, because a word may overlap itself
                text = text.replace(word, word[0] + marker + word[1:])
        core = text.strip()
        start = text.index(core)
        end = start + len(core)
        after = marker if core.endswith(self._beginnings) else ""
        before = marker if core.startswith(self._endings) else ""
        return text[:start] + before + core + after + text[end:]
