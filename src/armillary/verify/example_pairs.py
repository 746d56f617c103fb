"""Find examples without a call: ``Input:`` and ``Output:`` lines, and sentences such as ``For n = 3 the output is 4``.

Every parameter must have its literal; nothing is read where the words between might set further conditions.
"""

from __future__ import annotations

import re
from itertools import islice

from armillary.core.tasks import Example
from armillary.verify.example_values import Found, Spelled, result_at, value_at
from armillary.verify.example_wording import MAX_CALLS, WINDOW_CHARS, is_disputed, leaves_open

_INPUT = re.compile(
    r"(?:^[ \t]*(?:[-*][ \t]*)?(?:Sample[ ])?Input[ ]?(?:\d{1,3})?[ ]?[:=]|\bFor\b)\s{0,80}",
    re.IGNORECASE | re.MULTILINE,
)
_OUTPUT = re.compile(
    r"""\s{0,80}(?:[-*]\s{0,9})?(?:Sample\s)?Output\s?(?:\d{1,3})?\s?[:=]\s{0,80}
      | `?\s{0,80}(?:,\s{0,80})?(?:the\s{1,9})?(?:output|result|answer|function)\s{1,9}
        (?:(?:should|must|will)\s{1,9}(?:be|return)|is|returns)\s{1,80}
    """,
    re.IGNORECASE | re.VERBOSE,
)
# `, the sum of its digits will be 6`: a value on the way from the inputs to the output, which follows from them.
_ASIDE = re.compile(
    r""",?[ ](?:the|its)[ ](?:[a-z]{1,20}[ ])?
        (?:sum|product|number|count|total|difference|average|mean|length|maximum|minimum|digits)\b[^\n.,;:"'`=]{0,100}?
        \b(?:will[ ]be|is|are|equals)[ ]-?\d{1,20}(?:\.\d{1,20})?
        ,?(?:[ ](?:so|and|thus|hence|therefore),?)?(?=[ ])
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Lines of earlier pairs and what is told of them; none of it speaks of the next pair.
_PAIR = re.compile(r"\b(?:Input|Output|Explanation|For)\b", re.IGNORECASE)
_BETWEEN = re.compile(r"`?\s{0,80}(?:,|and\b)?\s{0,80}`?")
_NAMED_LINE = re.compile(r"[ \t]{0,80}(?:[-*][ \t]{1,9})?`?([A-Za-z_]\w{0,80})`?[ \t]?[:=](?!=)[ \t]{0,80}")
_LINE_END = re.compile(r"[ \t]{0,80},?[ \t]{0,80}\n")
# Lines of steps may stand between the inputs and what they give.
_RETURN = re.compile(
    r"[ \t]{0,80}(?:\n[ \t]{0,80}(?:--?>|=>|➞|→)[^\n]{0,400}){0,9}\n([ \t]{0,80})returns?(?:[ \t]?[=:])?[ \t]{1,9}"
)
_ANNOUNCED = re.compile(r"\b(?:examples?|e\.g\.|samples?)[^\n]{0,80}$", re.IGNORECASE | re.MULTILINE)
_CONTROL = re.compile(r"[ \t]*(?:if|elif|else|for(?![ ]example)|while|with|def|try|except|finally|class|match|case)\b")


def find_pairs(text: str, parameters: tuple[str, ...]) -> Found:
    """Every pair of inputs and output; none where no parameter is known."""
    if parameters:
        yield from _told(text, parameters)
        yield from _assigned_and_returned(text, parameters)


def _told(text: str, parameters: tuple[str, ...]) -> Found:
    """``Input: grid = [[1, 2]], k = 3`` and then ``Output: [1]``, or ``For k = 3 the output should be 1``."""
    labels = _labels(parameters)
    for start in islice(_INPUT.finditer(text), MAX_CALLS):
        is_sentence = "nput" not in start.group()
        arguments, position = _assigned(text, start.end(), labels, is_name_needed=is_sentence)
        if len(arguments) != len(parameters) and not is_sentence:
            arguments, position = _listed(text, start.end(), parameters)
        output = _after_aside(text, position) if is_sentence else _OUTPUT.match(text, position)
        if len(arguments) != len(parameters) or output is None or is_disputed(text, start.start(), _PAIR):
            continue
        found = result_at(text, output.end(), _INPUT)
        if found is not None:
            example = Example(tuple(arguments), found.value)
            yield Spelled(start.start(), example, is_calculated=found.is_calculated)


def _labels(parameters: tuple[str, ...]) -> list[re.Pattern[str]]:
    return [re.compile(rf"\s{{0,80}}{re.escape(name)}\s?[=:]\s{{0,80}}") for name in parameters]


def _assigned(
    text: str, start: int, labels: list[re.Pattern[str]], *, is_name_needed: bool
) -> tuple[list[object], int]:
    """Literals for the parameters in order, each behind its name, and the index behind the last one."""
    arguments: list[object] = []
    position = start
    for label in labels:
        between = _BETWEEN.match(text, position)
        assert between is not None
        named = label.match(text, between.end())
        if named is None and is_name_needed:
            break
        found = value_at(text, (named or between).end())
        if found is None:
            break
        arguments.append(found.value)
        position = found.end
    return arguments, position


def _listed(text: str, start: int, parameters: tuple[str, ...]) -> tuple[list[object], int]:
    """Literals from lines ``name: value``, in the order of the parameters, and the index behind the last line."""
    values: dict[str, object] = {}
    position = start
    for _ in parameters:
        line = _NAMED_LINE.match(text, position)
        found = None if line is None else value_at(text, line.end())
        end = None if found is None else _LINE_END.match(text, found.end)
        if line is None or found is None or end is None:
            return [], start
        values[line.group(1)] = found.value
        position = end.end()
    names = _places(list(values), parameters)
    return [values[name] for name in names], position


def _places(labels: list[str], parameters: tuple[str, ...]) -> list[str]:
    """For each parameter its label: the same name, or in order a longer one such as ``tank_capacity``; else none."""
    if set(labels) == set(parameters):
        return list(parameters)
    pairs = list(zip(labels, parameters, strict=False))
    is_alike = all(label == name or label.endswith(f"_{name}") for label, name in pairs)
    is_known = len(pairs) == len(parameters) and any(label == name for label, name in pairs)
    return labels if is_alike and is_known else []


def _after_aside(text: str, position: int) -> re.Match[str] | None:
    """How the output is announced; on the same line, one value on the way to it may be told before."""
    output = _OUTPUT.match(text, position)
    aside = _ASIDE.match(text, position) if output is None else None
    if aside is None or leaves_open(aside.group()):
        return output
    output = _OUTPUT.match(text, aside.end())
    return output if output is not None and "\n" not in output.group() else None


def _assigned_and_returned(text: str, parameters: tuple[str, ...]) -> Found:
    """A line ``xs = [3, 1]`` and below it ``return [1, 3]``, where an example is announced."""
    labels = _labels(parameters)
    beginning = re.compile(rf"^([ \t]{{0,80}})(?={re.escape(parameters[0])}[ \t]?=(?!=))", re.MULTILINE)
    announcement = _ANNOUNCED.search(text)
    first = len(text) if announcement is None else announcement.end()
    end = -1
    for start in islice(beginning.finditer(text), MAX_CALLS):
        arguments, position = _assigned(text, start.end(), labels, is_name_needed=True)
        given = _RETURN.match(text, position) if len(arguments) == len(parameters) else None
        if given is None or given.group(1) != start.group(1) or is_disputed(text, start.start(), _PAIR):
            continue
        is_next = end >= 0 and not text[end : start.start()].strip()
        if start.start() < first or not (is_next or _is_headed(text, start.start())):
            continue
        found = result_at(text, given.end(), beginning)
        if found is not None:
            end = found.end
            yield Spelled(start.start(), Example(tuple(arguments), found.value), is_calculated=found.is_calculated)


def _is_headed(text: str, start: int) -> bool:
    """Whether the line above ends with a colon and begins no block of code."""
    lines = text[max(0, start - WINDOW_CHARS) : start].split("\n")[:-1]
    above = next((line.rstrip() for line in reversed(lines) if line.strip()), "")
    return above.endswith(":") and _CONTROL.match(above) is None
