"""Build HTML and SVG that no text can break out of: whatever is not :class:`Markup` is escaped. Knows no page.

Characters that do not print, such as those that turn the direction of writing, are shown as their escapes. What comes
out is well-formed XML too, so that a strict parser can hold it to account.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

VOID_TAGS = frozenset({"meta", "br"})
KEPT_CHARS = frozenset("\n\t")


@dataclass(frozen=True, slots=True)
class Markup:
    """Source that is safe as it stands."""

    source: str


NOTHING = Markup("")


def escape_char(char: str) -> str:
    """How a character is shown that does not print, as Python would write it."""
    return char.encode("unicode_escape").decode("ascii")


def text(value: str) -> Markup:
    """A stranger's text; what does not print stands out as a marked escape."""
    if value.isprintable():
        return Markup(html.escape(value))
    parts = []
    for char in value:
        if char.isprintable() or char in KEPT_CHARS:
            parts.append(html.escape(char))
        else:
            parts.append(f'<span class="escape">{escape_char(char)}</span>')
    return Markup("".join(parts))


def tag(name: str, /, *children: Markup | str, **attributes: str) -> Markup:
    """One element.

    Args:
        name: its tag.
        children: text is escaped, markup is not.
        attributes: ``class_`` stands for ``class``, ``stroke_width`` for ``stroke-width``; values are escaped.
    """
    shown = "".join(f' {_attribute(key)}="{_value(value)}"' for key, value in attributes.items())
    if name in VOID_TAGS:
        return Markup(f"<{name}{shown} />")
    return Markup(f"<{name}{shown}>{join(*children).source}</{name}>")


def join(*children: Markup | str) -> Markup:
    """Several pieces one after the other."""
    return Markup("".join(text(child).source if isinstance(child, str) else child.source for child in children))


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _value(value: str) -> str:
    return html.escape("".join(char if char.isprintable() else escape_char(char) for char in value))
