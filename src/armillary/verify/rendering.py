"""Show values and calls as Python source, the same in every process. Knows nothing of what they mean."""

from __future__ import annotations

import math
import re
from typing import Any

from armillary.core.errors import ValueCodecError
from armillary.core.values import Json, encode
from armillary.verify.comparison import kind_and_body

MAX_RENDERED_CHARS = 2_000
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}"), "frozenset": ("{", "}")}


def render(value: Any) -> str:
    """Like ``repr``, but sets are sorted: their own order changes from process to process."""
    return render_tagged(encode(value))


def render_tagged(tagged: Json) -> str:
    """Python source of a tagged value, cut when it is very long."""
    try:
        return shorten(_render(tagged))
    except (ValueCodecError, RecursionError):
        return "a malformed value"


def render_call(function: str, arguments: tuple[Any, ...]) -> str:
    """A call as Python source, cut when it is very long."""
    return shorten(f"{function}({', '.join(_render(encode(value)) for value in arguments)})")


def shorten(text: str, limit: int = MAX_RENDERED_CHARS) -> str:
    """At most ``limit`` characters, the cut marked with dots."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def visible(text: str) -> str:
    """The text on one line with escapes for what does not print: control characters could rule a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def steady(text: str, limit: int = 200) -> str:
    """The first line of an error message, printable, without memory addresses, which differ in every run."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return shorten(visible(_ADDRESS.sub("0x...", line)), limit)


def _render(tagged: Json) -> str:
    kind, body = kind_and_body(tagged)
    if kind == "dict":
        return "{" + ", ".join(f"{_render(key)}: {_render(item)}" for key, item in body) + "}"
    if kind in _BRACKETS:
        return _render_items(kind, [_render(item) for item in body])
    if kind == "bytes":
        return repr(bytes.fromhex(body))
    if kind == "float" and not math.isfinite(body):
        return f"float({str(body)!r})"
    if kind == "int" and body.bit_length() > 4_000:  # the interpreter refuses to print so many decimal digits
        return hex(body)
    return repr(body)


def _render_items(kind: str, items: list[str]) -> str:
    left, right = _BRACKETS[kind]
    if kind in ("set", "frozenset") and not items:
        return f"{kind}()"
    text = left + ", ".join(items) + ("," if kind == "tuple" and len(items) == 1 else "") + right
    return f"frozenset({text})" if kind == "frozenset" else text
