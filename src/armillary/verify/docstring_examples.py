"""Find examples in prose and docstrings, in all spellings that people use. A doubtful one is left out.

Arguments and results must be literals. An example that is missed costs a test; one that is misread refutes a right
answer, so everything around a call must be understood before the call counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from armillary.core.tasks import Example, Origin
from armillary.core.values import canonical
from armillary.verify.literal_text import closing_bracket, literal_prefix
from armillary.verify.source import SourceError, literal, parse_expression

_CONNECTOR = re.compile(
    r"""[`'"]?\s*,?\s*(?:
        (?:==+>|=>|--?>|➞|→|⇒|⟹|==|=)
      | \#\s*(?:(?:==*>|->|➞|→|==|returns?|should\s+return)\s*)?
      | (?:(?:it|this|the\s+(?:output|result|function|answer))\s+)?
        (?:(?:should|must|will|would)\s+)?(?:returns?|gives?|yields?|outputs?|equals?|evaluates?\s+to|be|is)
        (?:\s+equal\s+to)?\b
    )\s*:?\s*[`]?""",
    re.VERBOSE,
)
# What may stand behind a result without changing it.
_AFTER_RESULT = re.compile(r"[`]?(?:\s*$|\s*\n|\s*[#(;]|\s*[.,;)](?=\s|$)|\s+(?!(?:if|or|and|when|unless|not|in|is|for"
                           r"|otherwise|else|elements?|times?|items?|x)\b)[A-Za-z])")  # fmt: skip
_MORE_VALUES = re.compile(r"[`]?\s*,\s*[\d'\"\[({+-]")
# What may not stand before a call: it would be a part of something larger.
_BEFORE_CALL = re.compile(
    r"(?:[-+*/%=<!~&|^@\[{\"']|\bnot\s|\bdef\s|\b(?:round|abs|len|sorted|list|set|str|int)\()\s*$"
)
_BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+`?$")
_INPUT = re.compile(
    r"(?:^[ \t]*(?:[-*]\s*)?(?:Sample\s+)?Input\s*(?:\d+)?\s*[:=]|\bFor\b)\s*", re.IGNORECASE | re.MULTILINE
)
_OUTPUT = re.compile(
    r"""\s*(?:[-*]\s*)?(?:Sample\s+)?Output\s*(?:\d+)?\s*[:=]\s*
      | [`]?\s*,?\s*(?:the\s+)?(?:output|result|answer|function)\s+
        (?:(?:should|must|will)\s+(?:be|return)|is|returns)\s+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SPOKEN = re.compile(r"(true|false)\b")
_PROMPT = re.compile(r"^[ \t]*>>>[ \t]?", re.MULTILINE)


def find_examples(
    text: str, entry_point: str, parameters: tuple[str, ...] | None = None, *, origin: Origin = "docstring"
) -> tuple[Example, ...]:
    """Every example of ``entry_point`` in ``text``, in order, each once.

    Args:
        text: prose, a docstring or a prompt.
        entry_point: the function whose calls count.
        origin: who wrote the text.
        parameters: names for keyword arguments; a call with another number of arguments is skipped. None if unknown.
    """
    spelled = _without_equations(list(_inline(text, entry_point, parameters)))
    spelled += [*_doctests(text, entry_point, parameters), *_pairs(text, parameters)]
    found: dict[str, Example] = {}
    for item in sorted(spelled, key=lambda item: item.place):
        example = replace(item.example, origin=origin)
        found.setdefault(canonical((example.arguments, example.expected, example.raises)), example)
    return tuple(found.values())


def call_arguments(
    node: ast.expr, entry_point: str, parameters: tuple[str, ...] | None = None
) -> tuple[object, ...] | None:
    """The literal arguments of a call of ``entry_point``, keywords put in their places; None for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != entry_point:
        return None
    try:
        values = [literal(item) for item in node.args]
        named = {item.arg: literal(item.value) for item in node.keywords}
    except SourceError:
        return None
    if named:
        rest = (parameters or ())[len(values) :]
        if set(named) != set(rest):
            return None
        values += [named[name] for name in rest]
    if parameters is not None and len(values) != len(parameters):
        return None
    return tuple(values)


class _Spelled(NamedTuple):
    place: int
    example: Example
    connector: str = ""


Found: TypeAlias = Iterator[_Spelled]


def _doctests(text: str, entry_point: str, parameters: tuple[str, ...] | None) -> Found:
    for prompt in _PROMPT.finditer(text):
        source, rest = _doctest_source(text[prompt.end() :])
        try:
            node = parse_expression(source)
        except SourceError:
            continue
        arguments = call_arguments(node, entry_point, parameters)
        if arguments is None:
            continue
        wanted = rest.split("\n\n", 1)[0] if rest.strip() else ""
        lines = [line.strip() for line in _lines_until_stop(wanted)]
        example = _doctest_result(arguments, lines)
        if example is not None:
            yield _Spelled(prompt.start(), example)


def _doctest_source(text: str) -> tuple[str, str]:
    """The statement behind one ``>>>`` with its ``...`` lines, and the text that follows it."""
    lines = text.split("\n")
    num_source = 1
    while num_source < len(lines) and re.match(r"\s*\.\.\.(\s|$)", lines[num_source]):
        num_source += 1
    source = [lines[0], *(line.strip()[3:].removeprefix(" ") for line in lines[1:num_source])]
    return "\n".join(source), "\n".join(lines[num_source:])


def _lines_until_stop(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith((">>>", '"""', "'''")):
            return
        yield line


def _doctest_result(arguments: tuple[object, ...], lines: list[str]) -> Example | None:
    if not lines:
        return None
    if lines[0].startswith("Traceback (most recent call last)"):
        named = re.match(r"(?:[\w.]*\.)?([A-Z]\w*)(?::|$)", lines[-1])
        return None if named is None else Example(arguments, raises=named.group(1))
    for num_lines in range(1, len(lines) + 1):
        try:
            expected = literal("\n".join(lines[:num_lines]))
        except SourceError:
            continue
        # A further literal line means that this is printed output, not one result.
        is_printed = num_lines < len(lines) and literal_prefix(lines[num_lines], 0) is not None
        return None if is_printed else Example(arguments, expected)
    return None


def _inline(text: str, entry_point: str, parameters: tuple[str, ...] | None) -> Found:
    for call in re.finditer(rf"(?<![\w.]){re.escape(entry_point)}\s?\(", text):
        end = closing_bracket(text, call.end() - 1)
        if end < 0 or not _may_precede_call(text[: call.start()]):
            continue
        try:
            node = parse_expression(text[call.start() : end])
        except SourceError:
            continue
        arguments = call_arguments(node, entry_point, parameters)
        if arguments is None:
            continue
        connector = _CONNECTOR.match(text, end)
        if connector is None or _is_plain_doctest(text, call.start(), connector.group()):
            continue
        found = _result(text, connector.end())
        if found is not None:
            yield _Spelled(call.start(), Example(arguments, found[0]), connector.group().strip())


def _may_precede_call(before: str) -> bool:
    line = before.rsplit("\n", 1)[-1].replace(">>>", "", 1)
    return _BULLET.fullmatch(line) is not None or _BEFORE_CALL.search(line) is None


def _is_plain_doctest(text: str, start: int, connector: str) -> bool:
    """A ``>>> f(1)  # remark``: its result stands on the next line, not in the remark."""
    line = text.rfind("\n", 0, start) + 1
    is_prompt = text[line:start].strip() == ">>>"
    return is_prompt and ("\n" in connector or re.fullmatch(r"\s*#\s*", connector) is not None)


def _without_equations(found: list[_Spelled]) -> list[_Spelled]:
    """Leave out ``f(1) = 3`` where such lines give now a number, now a list: they are steps of a derivation."""
    kinds = {isinstance(item.example.expected, list | tuple | dict) for item in found}
    return [item for item in found if item.connector != "="] if len(kinds) > 1 else found


def _result(text: str, start: int) -> tuple[Any, int] | None:
    """The literal at ``start`` and its end, if what follows cannot change it; ``true`` and ``false`` pass as such."""
    spoken = _SPOKEN.match(text, start)
    found = (spoken.group(1) == "true", spoken.end()) if spoken else literal_prefix(text, start)
    if found is None:
        return None
    after = text[found[1] : found[1] + 40]
    return found if _MORE_VALUES.match(after) is None and _AFTER_RESULT.match(after) is not None else None


def _pairs(text: str, parameters: tuple[str, ...] | None) -> Found:
    """``Input: grid = [[1, 2]], k = 3`` and then ``Output: [1]``, or ``For k = 3 the output should be 1``."""
    if not parameters:
        return
    for start in _INPUT.finditer(text):
        is_sentence = "nput" not in start.group()
        arguments, position = _assigned(text, start.end(), parameters, is_name_needed=is_sentence)
        output = _OUTPUT.match(text, position)
        if len(arguments) != len(parameters) or output is None:
            continue
        found = _result(text, output.end())
        if found is not None:
            yield _Spelled(start.start(), Example(tuple(arguments), found[0]))


def _assigned(text: str, start: int, parameters: tuple[str, ...], *, is_name_needed: bool) -> tuple[list[object], int]:
    """Literals for the parameters in order, each behind its name, and the index behind the last one."""
    arguments: list[object] = []
    position = start
    for name in parameters:
        optional = "" if is_name_needed else "?"
        label = re.compile(rf"[`\s]*(?:,|and\b)?\s*(?:{re.escape(name)}\s*[=:]\s*){optional}").match(text, position)
        found = None if label is None else literal_prefix(text, label.end())
        if found is None:
            break
        arguments.append(found[0])
        position = found[1]
    return arguments, position
