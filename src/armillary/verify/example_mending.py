"""Mend a docstring whose examples do not say what they mean, so that they can be read; the prompt is not touched.

Three slips are known: escapes that Python took out of the docstring, words without quotes, and another name for the
function. The last two are mended only where no example can be read otherwise and all of them share the slip.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re

from armillary.core.tasks import Example
from armillary.verify.docstring_examples import find_examples
from armillary.verify.domains import accepts, has_unknown, infer, parse_domain
from armillary.verify.example_wording import CONNECTOR
from armillary.verify.literal_text import closing_bracket
from armillary.verify.signature import Signature
from armillary.verify.source import SourceError, literal, parse_expression

# A text that calls more functions than this is no list of examples of one.
MAX_NAMES = 10
MAX_MENDED = 50

_BUILT_IN = frozenset(dir(builtins)) | frozenset(keyword.kwlist)
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,80})\s?\(")
# Words of a text whose function answers yes or no, and how the names of such functions begin.
_ASKS = re.compile(r"\b(?:true|false|whether|bool(?:ean)?s?)\b", re.IGNORECASE)
_QUESTIONS = frozenset({"is", "are", "has", "have", "can", "was", "does", "should", "contains", "any", "all"})
_QUOTED = re.compile(r"""(?<!\w)(?:"[^"\n]{0,400}"|'[^'\n]{0,400}')(?!\w)""")
_ANNOUNCES = re.compile(r"\b(?:examples?|samples?|usage)\b", re.IGNORECASE)
_OWN_LINE = re.compile(r"(?:[-*+•`\s]|\d{1,3}[.)]|>>>|assert\b|for\b)*")
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# A letter behind an odd number of backslashes: Python made a line end of it.
_LINE_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)(\\[nr])")


def mended_docstring(docstring: str, source: str, signature: Signature, known: frozenset[str]) -> str:
    """The docstring with its examples as they were meant, or as it is.

    Args:
        docstring: its text, the indentation cleaned.
        source: the literal as it stands in the file.
        signature: the function to write.
        known: names that the file uses.
    """
    names = tuple(item.name for item in signature.parameters)
    examples = find_examples(docstring, signature.name, names)
    restored = _with_escapes(source)
    if restored and _only_adds_line_ends(find_examples(restored, signature.name, names), examples):
        return restored
    if examples:
        return docstring
    return _with_quotes(docstring, signature, known) or _with_name(docstring, signature, known) or docstring


def _with_escapes(source: str) -> str:
    """The text of a literal with escapes of line ends left as they are written; empty where there are none."""
    if source[:1] not in ("'", '"') or _LINE_ESCAPE.search(source) is None:
        return ""
    kept = _LINE_ESCAPE.sub(r"\1\\\2", source)
    # In brackets, as the parts of a literal may stand on several lines.
    return inspect.cleandoc(str(literal(f"({kept})")))


def _only_adds_line_ends(ours: tuple[Example, ...], theirs: tuple[Example, ...]) -> bool:
    """Whether examples are the others and some more, in which texts have several lines."""
    added = [item for item in ours if item not in theirs]
    is_within = all("\\n" in repr((item.arguments, item.expected)) for item in added)
    return bool(added) and is_within and all(item in ours for item in theirs)


def _with_quotes(text: str, signature: Signature, known: frozenset[str]) -> str:
    """The text with ``is_calm("abc")`` for ``is_calm(abc)``; empty unless all calls can be mended so."""
    calls = _example_calls(text, signature.name)
    if not calls or any(len(node.args) != len(signature.parameters) for _, _, node in calls):
        return ""
    said_in_calls = " ".join(text[start:end] for start, end, _ in calls)
    columns = list(zip(*(node.args for _, _, node in calls), strict=True))
    reserved = known | _BUILT_IN | {item.name for item in signature.parameters}
    for parameter, column in zip(signature.parameters, columns, strict=True):
        words = {item.id for item in column if isinstance(item, ast.Name)}
        is_text = parameter.annotation == "str" or (not parameter.annotation and _is_said_text(text, parameter.name))
        if words and not (is_text and all(map(_is_text, column)) and _are_values(words, reserved)):
            return ""
        if any(_num_said(text, word) != _num_said(said_in_calls, word) for word in words):
            return ""
    mended = text
    for start, end, node in reversed(calls):
        node.args = [ast.Constant(item.id) if isinstance(item, ast.Name) else item for item in node.args]
        mended = mended[:start] + ast.unparse(node) + mended[end:]
    found = find_examples(mended, signature.name, tuple(item.name for item in signature.parameters))
    return mended if len(found) == len({ast.dump(node) for _, _, node in calls}) else ""


def _example_calls(text: str, name: str) -> list[tuple[int, int, ast.Call]]:
    """Where the calls begin and end, each with its tree; none unless all of them have plain arguments and a result."""
    found: list[tuple[int, int, ast.Call]] = []
    for call in re.finditer(rf"(?<![\w.]){re.escape(name)}\s?\(", text):
        end = closing_bracket(text, call.end() - 1)
        if end < 0 or CONNECTOR.match(text, end) is None or len(found) == MAX_MENDED:
            return []
        try:
            node = parse_expression(text[call.start() : end])
        except SourceError:
            return []
        if not isinstance(node, ast.Call) or node.keywords:
            return []
        found.append((call.start(), end, node))
    return found


def _is_said_text(text: str, name: str) -> bool:
    """Whether a text says of a parameter that it is a string: ``the string s``, or ``s is a string``."""
    kind, name = r"\b(?:string|word|text|str)\b", re.escape(name)
    before = rf"{kind}[\s`'\"]{{1,3}}{name}\b"
    behind = rf"\b{name}\b[\s`'\":(]{{1,3}}(?:(?:is|be|as)\s)?(?:an?\s|the\s)?{kind}"
    return re.search(rf"{before}|{behind}", text) is not None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _are_values(words: set[str], reserved: frozenset[str]) -> bool:
    """Whether bare words look like texts, not like variables: several, of letters, no constants and no known names."""
    is_plain = all(word.isascii() and word.isalpha() and (len(word) == 1 or not word.isupper()) for word in words)
    return len(words) > 1 and max(map(len, words)) > 1 and is_plain and not words & reserved


def _num_said(text: str, word: str) -> int:
    """How often a text names a word outside of quotes; a single letter may be an article, so where it gets a value."""
    following = r"\b" if len(word) > 1 else r"(?=`|\s{0,9}(?::=|[=:](?![=>])))"
    return len(re.findall(rf"\b{re.escape(word)}{following}", _QUOTED.sub("", text)))


def _with_name(text: str, signature: Signature, known: frozenset[str]) -> str:
    """The text with the function's own name in the examples of another; empty unless that one can be no other."""
    names = {found.group(1) for found in _CALLED.finditer(text)}
    if signature.name in names or len(names) > MAX_NAMES:
        return ""
    named = {name: found for name in names if (found := find_examples(text, name))}
    if len(named) != 1:
        return ""
    ((name, examples),) = named.items()
    places = [found.start() for found in re.finditer(rf"\b{re.escape(name)}\b", text)]
    reserved = known | _BUILT_IN | {item.name for item in signature.parameters}
    is_free = name not in reserved and _is_other_name(name, signature.name, text)
    if not is_free or len(places) != len(examples) or not _is_listed(text, places):
        return ""
    mended = re.sub(rf"\b{re.escape(name)}\b", signature.name, text)
    found = find_examples(mended, signature.name, tuple(item.name for item in signature.parameters))
    is_whole = len(found) == len(examples) and all(_fits(item, signature, text) for item in found)
    return mended if is_whole else ""


def _is_other_name(name: str, entry_point: str, text: str) -> bool:
    """Whether a name is no part of the other, as ``word_count`` may be of it, and none of what the text tells of."""
    parts, others = _parts(name), _parts(entry_point)
    told = r"[\W_]{1,9}".join(parts)
    is_told_of = re.search(rf"\b{told}\b", re.sub(rf"\b{name}\b", "", text), re.IGNORECASE) is not None
    return len(parts) > 1 and not set(parts) <= set(others) and not is_told_of


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _NAME_PART.findall(name)]


def _is_listed(text: str, places: list[int]) -> bool:
    """Whether calls stand on lines of their own, below one that announces examples or behind prompts."""
    lines = [text[:place].split("\n") for place in places]
    above = next((line for line in reversed(lines[0][:-1]) if line.strip()), "")
    is_announced = _ANNOUNCES.search(above) is not None or lines[0][-1].lstrip().startswith(">>>")
    return is_announced and all(_OWN_LINE.fullmatch(line[-1]) for line in lines)


def _fits(example: Example, signature: Signature, text: str) -> bool:
    """Whether an example contradicts no annotation that can be read, and answers a question with yes or no."""
    given = list(zip(signature.parameters, example.arguments, strict=True))
    pairs = [(item.annotation, value) for item, value in given]
    if not example.raises:
        is_question = bool(_QUESTIONS.intersection(_parts(signature.name)[:1])) or _ASKS.search(text) is not None
        pairs += [(signature.returns, example.expected), ("bool" if is_question else "", example.expected)]
    return all(_is_of_type(annotation, value) for annotation, value in pairs if annotation)


def _is_of_type(annotation: str, value: object) -> bool:
    try:
        domain = parse_domain(annotation)
    except SourceError:
        return True  # Annotations are free text in Python.
    return has_unknown(domain) or accepts(domain, infer([value]))
