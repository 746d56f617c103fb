"""Take the code out of a model's answer: fenced or not, with talk around it or cut short. Repairs no code.

Looks at no more than the first ``MAX_TEXT_CHARS`` characters, and parses no more than ``MAX_PARSED_CHARS`` in all its
tries together, so that no answer keeps it busy.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from armillary.verify.policy import bound_names
from armillary.verify.source import SourceError, parse_module

# Possessive: none of these runs can match otherwise when it is shorter, and trying that is quadratic on a long line.
_FENCE = re.compile(r"^[ \t>]*+(?P<mark>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)[^\n`]*+$", re.MULTILINE)
_PYTHON = frozenset({"", "python", "py", "python3", "python2", "py3", "ipython", "pycon"})
_FIRST_LINE = re.compile(
    r"^(?:def |async def |class |import |from \w[\w.]* import |@\w|[A-Za-z_]\w*\s*(?::[^\n]*)?=)", re.MULTILINE
)
MAX_STARTS = 30
# The longest answer that a search asks for, 640 tokens, has some 3,000 characters.
MAX_TEXT_CHARS = 40_000
MAX_PARSED_CHARS = 80_000
# What one try costs however short its text is.
CHARS_PER_TRY = 200


def extract_code(text: str, entry_point: str) -> str:
    """The program in an answer, preferably the part that defines ``entry_point``.

    Text that holds no such program comes back as its likeliest block, or stripped, so that the policy can say what is
    wrong with it.
    """
    text = text[:MAX_TEXT_CHARS]
    blocks = list(_fenced_blocks(text))
    tries = _Tries()
    for candidate in (*blocks, _without_fences(text)):
        found = _program_in(candidate, entry_point, tries)
        if found is not None:
            return found
    named = [block for block in blocks if re.search(rf"\bdef {re.escape(entry_point)}\b", block)]
    return (named or blocks or [text])[0].strip("\n").rstrip() + "\n"


def _fenced_blocks(text: str) -> Iterator[str]:
    """Contents of code fences, Python ones first; a fence that never closes runs to the end."""
    others = []
    position = 0
    while (opening := _FENCE.search(text, position)) is not None:
        mark = opening["mark"]
        closing = re.compile(rf"^[ \t>]*{mark[0]}{{{len(mark)}}}[ \t]*$", re.MULTILINE).search(text, opening.end())
        end = len(text) if closing is None else closing.start()
        block = textwrap.dedent(text[opening.end() : end]).strip("\n") + "\n"
        if opening["language"].lower() in _PYTHON:
            yield block
        else:
            others.append(block)
        position = len(text) if closing is None else closing.end()
    yield from others


def _without_fences(text: str) -> str:
    return _FENCE.sub("", text)


class _Tries:
    """What may still be parsed of one answer."""

    def __init__(self) -> None:
        self._chars_left = MAX_PARSED_CHARS

    def allow(self, text: str) -> bool:
        """Whether so long a text may be parsed, which counts as done."""
        cost = len(text) + CHARS_PER_TRY
        if cost > self._chars_left:
            return False
        self._chars_left -= cost
        return True


def _program_in(text: str, entry_point: str, tries: _Tries) -> str | None:
    """The longest program in a text that defines the entry point: talk before and behind it is left out."""
    starts = [match.start() for match in _FIRST_LINE.finditer(text)]
    for start in [0, *starts][:MAX_STARTS]:
        program = _cut_behind(text[start:], tries)
        if program is not None and entry_point in bound_names(program.body):
            return _source_of(text[start:], program)
    return None


def _cut_behind(text: str, tries: _Tries) -> ast.Module | None:
    """Parse the longest run of whole top-level statements from the start."""
    lines = text.split("\n")
    while lines and tries.allow(text := "\n".join(lines)):
        try:
            return parse_module(text)
        except SourceError as error:
            broken = min(error.line or len(lines), len(lines)) - 1
        # Never cut inside of a statement: half a function may parse and mean something else.
        while broken > 0 and not _begins_statement(lines[broken]):
            broken -= 1
        lines = lines[:broken]
    return None


def _begins_statement(line: str) -> bool:
    return (
        bool(line)
        and not line[0].isspace()
        and line[0] not in ")]}#"
        and not line.startswith(("else", "elif", "except", "finally"))
    )


def _source_of(text: str, program: ast.Module) -> str:
    """The lines of the parsed statements, without talk that happens to parse behind them."""
    statements = list(program.body)
    while len(statements) > 1 and _is_talk(statements[-1]):
        statements.pop()
    last = statements[-1].end_lineno or 0
    return "\n".join(text.split("\n")[:last]).strip("\n") + "\n"


def _is_talk(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Name | ast.Constant)
