"""Find where a literal or a bracket ends inside running text. Judges no prose around it."""

from __future__ import annotations

import re
from typing import Any

from armillary.verify.source import SourceError, literal

OPENERS = {"(": ")", "[": "]", "{": "}"}
MAX_LITERAL_CHARS = 2_000
# A dot behind the digits ends the sentence; a number it is only where Python itself reads it, inside brackets.
_ATOM = re.compile(
    r"[+-]?(?:\d[\d_]{0,200}(?:\.\d{1,200}|\.(?=[eE]))?|\.\d{1,200})(?:[eE][+-]?\d{1,9})?(?!\.{0,9}\w)"
    r"|(?:True|False|None)\b|set\(\)"
)
_STRING_PREFIX = re.compile(r"[bBrRuU]{0,2}(?=['\"])")


def closing_bracket(text: str, start: int, *, max_chars: int = MAX_LITERAL_CHARS) -> int:
    """Index just behind the bracket that closes the one at ``start``, strings respected; -1 if none near does."""
    stack: list[str] = []
    position, stop = start, min(len(text), start + max_chars)
    while position < stop:
        character = text[position]
        if character in "'\"":
            position = closing_quote(text, position, max_chars=stop - position)
            if position < 0:
                return -1
            continue
        if character in OPENERS:
            stack.append(OPENERS[character])
        elif character in OPENERS.values():
            if character != stack.pop():
                return -1
            if not stack:
                return position + 1
        position += 1
    return -1


def closing_quote(text: str, start: int, *, max_chars: int = MAX_LITERAL_CHARS) -> int:
    """Index just behind the string that opens at ``start``; -1 if the line, the text or the limit comes first."""
    quote = text[start]
    position, stop = start + 1, min(len(text), start + max_chars)
    while position < stop and text[position] != "\n":
        if text[position] == "\\":
            position += 2
            continue
        if text[position] == quote:
            return position + 1
        position += 1
    return -1


def literal_prefix(text: str, start: int) -> tuple[Any, int] | None:
    """The literal that begins exactly at ``start`` and the index behind it, or None."""
    end = _literal_end(text, start)
    if end < 0:
        return None
    source = text[start:end]
    try:
        value = literal(source)
    except SourceError:
        return None
    # A bracketed single value, such as ("Venus"), is as likely a tuple that lost its comma.
    if source.startswith("(") and type(value) is not tuple:
        return None
    return value, end


def _literal_end(text: str, start: int) -> int:
    if start >= len(text):
        return -1
    if text[start] in OPENERS:
        return closing_bracket(text, start)
    prefix = _STRING_PREFIX.match(text, start)
    if prefix is not None:
        return closing_quote(text, prefix.end())
    atom = _ATOM.match(text, start)
    return -1 if atom is None else atom.end()
