"""Show Python source and the difference between two programs as markup, line by line. Runs nothing.

Source that is no Python is shown all the same, without colours from the first place on that cannot be read. Long lines
and long texts are cut, and say so.
"""

from __future__ import annotations

import builtins
import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from armillary.reason.markup import Markup, join, tag, text

MAX_LINE_CHARS = 2_000
MAX_LINES = 2_000
MAX_MARKED_CHARS = 400
CONTEXT_LINES = 3
BUILTIN_NAMES = frozenset(dir(builtins))
TOKEN_CLASSES = {
    tokenize.COMMENT: "comment",
    tokenize.STRING: "string",
    tokenize.NUMBER: "number",
    # Python 3.12 and later split f-strings into these.
    getattr(tokenize, "FSTRING_START", -1): "string",
    getattr(tokenize, "FSTRING_MIDDLE", -1): "string",
    getattr(tokenize, "FSTRING_END", -1): "string",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A coloured piece of one line, by columns."""

    start: int
    stop: int
    kind: str


@dataclass(frozen=True, slots=True)
class Clipped:
    """Lines of a text, cut to a size that a page can bear.

    Attributes:
        num_cut: characters left out, per line.
        num_lines_cut: lines left out at the end.
    """

    lines: tuple[str, ...]
    num_cut: tuple[int, ...]
    num_lines_cut: int


def clip(source: str) -> Clipped:
    """The first lines of a text, each with its first characters."""
    lines = source.removesuffix("\n").split("\n")
    kept = lines[:MAX_LINES]
    return Clipped(
        tuple(line[:MAX_LINE_CHARS] for line in kept),
        tuple(max(0, len(line) - MAX_LINE_CHARS) for line in kept),
        len(lines) - len(kept),
    )


def show_text(source: str) -> Markup:
    """Words as they stand, cut where they are too long."""
    return _block(clip(source), [], "prose")


def show_code(source: str) -> Markup:
    """Python source with its tokens coloured."""
    clipped = clip(source)
    return _block(clipped, _spans(clipped.lines), "code")


def _block(clipped: Clipped, spans: Sequence[Sequence[Span]], kind: str) -> Markup:
    parts = []
    for index, line in enumerate(clipped.lines):
        coloured = _coloured(line, spans[index]) if index < len(spans) else text(line)
        parts.append(join(coloured, _cut_note(clipped.num_cut[index]), "\n"))
    if clipped.num_lines_cut:
        parts.append(tag("span", f"[{clipped.num_lines_cut} more lines left out]\n", class_="note"))
    return tag("pre", tag("code", *parts), class_=kind, tabindex="0")


def _cut_note(num_cut: int) -> Markup | str:
    return tag("span", f" [{num_cut} more characters left out]", class_="note") if num_cut else ""


def _coloured(line: str, spans: Sequence[Span]) -> Markup:
    parts: list[Markup | str] = []
    at = 0
    for span in spans:
        parts += [line[at : span.start], tag("span", line[span.start : span.stop], class_=span.kind)]
        at = span.stop
    return join(*parts, line[at:])


def _spans(lines: Sequence[str]) -> list[list[Span]]:
    """Coloured pieces of each line, in order and apart from each other."""
    spans: list[list[Span]] = [[] for _ in lines]
    after_definition = False
    for token in _tokens("\n".join(lines) + "\n"):
        kind = "name" if after_definition else _kind(token)
        after_definition = token.type == tokenize.NAME and token.string in ("def", "class")
        if not kind:
            continue
        (first, left), (last, right) = token.start, token.end
        for row in range(first, min(last, len(lines)) + 1):
            start = left if row == first else 0
            stop = right if row == last else len(lines[row - 1])
            done = spans[row - 1][-1].stop if spans[row - 1] else 0
            if done <= start < stop:
                spans[row - 1].append(Span(start, stop, kind))
    return spans


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(source).readline)
    except (tokenize.TokenError, SyntaxError, ValueError):
        # From here on it is no Python; what was read before keeps its colours.
        return


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        if keyword.iskeyword(token.string):
            return "keyword"
        return "builtin" if token.string in BUILTIN_NAMES else ""
    return TOKEN_CLASSES.get(token.type, "")


def show_difference(before: str, after: str) -> Markup:
    """A unified difference of two programs, with what changed inside a line marked."""
    if before.rstrip("\n") == after.rstrip("\n"):
        return tag("p", "The same program again.")
    clipped = clip(before), clip(after)
    old, new = clipped[0].lines, clipped[1].lines
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    rows: list[Markup] = []
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        rows.append(tag("span", _hunk_head(group), class_="hunk"))
        for kind, old_start, old_stop, new_start, new_stop in group:
            rows += _rows(kind, old[old_start:old_stop], new[new_start:new_stop])
    is_cut = any(side.num_lines_cut or any(side.num_cut) for side in clipped)
    note = tag("p", "What is too long to show was not compared.", class_="note") if is_cut else ""
    return join(tag("pre", tag("code", *rows), class_="code difference", tabindex="0"), note)


def _hunk_head(group: Sequence[tuple[str, int, int, int, int]]) -> str:
    old_start, old_stop, new_start, new_stop = group[0][1], group[-1][2], group[0][3], group[-1][4]
    return f"@@ -{old_start + 1},{old_stop - old_start} +{new_start + 1},{new_stop - new_start} @@\n"


def _rows(kind: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Markup]:
    if kind == "equal":
        yield from (tag("span", " ", line, "\n", class_="same") for line in old)
        return
    # Lines of blocks of one length belong together; in others nobody can tell.
    pairs = list(zip(old, new, strict=True)) if len(old) == len(new) else []
    marked = [_marked(left, right) for left, right in pairs]
    removed = [left for left, _ in marked] or [text(line) for line in old]
    added = [right for _, right in marked] or [text(line) for line in new]
    yield from (tag("del", "-", line, "\n") for line in removed)
    yield from (tag("ins", "+", line, "\n") for line in added)


def _marked(old: str, new: str) -> tuple[Markup, Markup]:
    """Both lines, with the pieces in which they differ marked."""
    if max(len(old), len(new)) > MAX_MARKED_CHARS:
        return text(old), text(new)
    left: list[Markup | str] = []
    right: list[Markup | str] = []
    for kind, old_start, old_stop, new_start, new_stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pieces = old[old_start:old_stop], new[new_start:new_stop]
        left.append(pieces[0] if kind == "equal" or not pieces[0] else tag("mark", pieces[0]))
        right.append(pieces[1] if kind == "equal" or not pieces[1] else tag("mark", pieces[1]))
    return join(*left), join(*right)
