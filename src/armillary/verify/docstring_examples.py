"""Find examples in prose and docstrings, in all spellings that people use, and read single ones. Runs nothing.

Arguments and results must be literals. An example that is missed costs a test; one that is misread refutes a right
answer, so everything around a call must be understood before the call counts. Long or crowded text is not read to its
end: ``MAX_CALLS`` calls are looked at, and literals up to ``literal_text.MAX_LITERAL_CHARS``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from armillary.core.tasks import Example, Origin
from armillary.core.values import canonical
from armillary.verify.example_pairs import find_pairs
from armillary.verify.example_values import Found, Spelled, result_at, without_explanations
from armillary.verify.example_wording import (
    ARROWS,
    CONNECTOR,
    MAX_CALLS,
    VERBS,
    is_called_wrong,
    is_disputed,
    stands_free,
)
from armillary.verify.literal_text import MAX_LITERAL_CHARS, OPENERS, closing_bracket, literal_prefix
from armillary.verify.source import SourceError, literal, parse_expression

_SPELLED = re.compile(rf"\s*(?:{ARROWS}|(?P<verb>{VERBS}))\s*")
_RAISES = re.compile(r"\s*raises\s+([A-Za-z_]\w*)")


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
    spelled += [*_doctests(text, entry_point, parameters), *find_pairs(text, parameters or ())]
    found: dict[str, Example] = {}
    for item in sorted(without_explanations(spelled, text), key=lambda item: item.place):
        example = replace(item.example, origin=origin)
        found.setdefault(canonical((example.arguments, example.expected, example.raises)), example)
    return tuple(found.values())


def parse_example(text: str, entry_point: str, parameters: tuple[str, ...] | None) -> Example:
    """Read one whole example, such as ``f(2) == 4`` or ``f([1]) raises ValueError``; unlike in prose, a bad one errs.

    Raises:
        SourceError: not a call of the entry point with literals and its result.
    """
    # Only what stands behind the call is a spelling of ours; inside, the same characters belong to the arguments.
    end = max(closing_bracket(text, text.find("("), max_chars=len(text)), 0) if "(" in text else 0
    call, rest = text[:end], text[end:]
    raising = _RAISES.fullmatch(rest.rstrip())
    if raising is not None:
        return Example(parse_call(call, entry_point, parameters), raises=raising.group(1))
    spelling = _SPELLED.match(rest)
    if not call or spelling is None:
        raise SourceError(f"{text!r} is no example; write {entry_point}(...) == result")
    result = rest[spelling.end() :].strip()
    if spelling["verb"] and re.search(r"\d\.$", result):
        raise SourceError(f"{text!r}: write the number as {result[:-1]} or as {result}0")
    return Example(parse_call(call, entry_point, parameters), literal(result))


def parse_call(text: str, entry_point: str, parameters: tuple[str, ...] | None) -> tuple[object, ...]:
    """The arguments of a call as literals.

    Raises:
        SourceError: another function, arguments that are no literals, or a wrong number of them.
    """
    arguments = call_arguments(parse_expression(text), entry_point, parameters)
    if arguments is None:
        wanted = f" and {len(parameters)} arguments" if parameters is not None else ""
        raise SourceError(f"{text.strip()!r} is no call of {entry_point} with literals{wanted}")
    return arguments


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


def _beginning(entry_point: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(entry_point)}\s?\(")


def _doctests(text: str, entry_point: str, parameters: tuple[str, ...] | None) -> Found:
    prompts = re.finditer(rf"^[ \t]*>>>[ \t]?(?={re.escape(entry_point)}\s?\()", text, re.MULTILINE)
    for prompt in islice(prompts, MAX_CALLS):
        stop = prompt.end() + 2 * MAX_LITERAL_CHARS
        source, rest = _doctest_source(text[prompt.end() : stop])
        try:
            node = parse_expression(source)
        except SourceError:
            continue
        arguments = call_arguments(node, entry_point, parameters)
        if arguments is None or "+SKIP" in source:
            continue
        lines = [line.strip() for line in _lines_until_stop(rest)]
        # Half an output may read as another one.
        is_cut = stop < len(text) and len(lines) > rest.count("\n")
        example = None if is_cut else _doctest_result(arguments, lines)
        if example is not None and (example.raises or not is_called_wrong(text, prompt.start())):
            yield Spelled(prompt.start(), example)


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
    text = "\n".join(lines)
    end = closing_bracket(text, 0) if text[0] in OPENERS else -1
    # One line, or the lines that one bracket spans.
    num_lines = text.count("\n", 0, max(end, 0)) + 1
    try:
        expected = literal("\n".join(lines[:num_lines]))
    except SourceError:
        return None
    # A further literal line means that this is printed output, not one result.
    is_printed = num_lines < len(lines) and literal_prefix(lines[num_lines], 0) is not None
    return None if is_printed else Example(arguments, expected)


def _inline(text: str, entry_point: str, parameters: tuple[str, ...] | None) -> Found:
    beginning = _beginning(entry_point)
    for call in islice(beginning.finditer(text), MAX_CALLS):
        end = closing_bracket(text, call.end() - 1)
        connector = None if end < 0 else CONNECTOR.match(text, end)
        if connector is None or _is_plain_doctest(text, call.start(), connector.group()):
            continue
        found = result_at(text, connector.end(), beginning)
        if found is None or not stands_free(text, call.start()) or is_disputed(text, call.start(), beginning):
            continue
        try:
            node = parse_expression(text[call.start() : end])
        except SourceError:
            continue
        arguments = call_arguments(node, entry_point, parameters)
        if arguments is not None and not _is_denied(text, call.start(), found.end):
            example = Example(arguments, found.value)
            yield Spelled(call.start(), example, connector.group().strip(), found.is_calculated)


def _prompt_of(text: str, start: int) -> str:
    """What stands on the line in front of ``start``, as far as a prompt would reach."""
    return text[max(0, start - 80) : start].rpartition("\n")[2].strip()


def _is_plain_doctest(text: str, start: int, connector: str) -> bool:
    """A ``>>> f(1)  # remark``: its result stands on the next line, not in the remark."""
    is_prompt = _prompt_of(text, start) == ">>>"
    return is_prompt and ("\n" in connector or re.fullmatch(r"\s*#\s*", connector) is not None)


def _is_denied(text: str, start: int, end: int) -> bool:
    """A ``>>> f(1) == 2`` whose output is not True, or that ends in a dot, which is Python's there."""
    if _prompt_of(text, start) != ">>>":
        return False
    rest, _, output = text[end : end + MAX_LITERAL_CHARS].partition("\n")
    return rest.startswith(".") or output.lstrip().startswith(("False", "Traceback"))


def _without_equations(found: list[Spelled]) -> list[Spelled]:
    """Leave out ``f(1) = 3`` where such lines give now a number, now a list: they are steps of a derivation."""
    kinds = {isinstance(item.example.expected, list | tuple | dict) for item in found if not item.is_calculated}
    return [item for item in found if item.connector != "="] if len(kinds) > 1 else found
