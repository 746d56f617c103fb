"""Read ``VERIFY(code, CONSTRAINTS: [...])``: a program and what it is held to, in one text. Runs nothing.

    VERIFY(code_solution, CONSTRAINTS: [
        input_constraints(x > 0),
        output_constraints(result % 2 == 0),
        temporal_constraints(steps < 1000),
    ])

``CONSTRAINTS=[...]`` means the same. The code is a quoted text, or a name for a fenced block that stands before it or
for a file that is given beside it. Its last function is judged, or the one of that name. Parameters without a type get
the one that the conditions suggest. All of it may stand on one line, the code quoted with escapes for its breaks.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import TaskSpec
from armillary.verify.docstring_examples import find_examples
from armillary.verify.draft import Draft, build_task
from armillary.verify.signature import signature_of
from armillary.verify.source import SourceError, defined_functions, literal, parse_expression, parse_module

KINDS: Final = {
    "input_constraints": "requires",
    "output_constraints": "ensures",
    "temporal_constraints": "temporal",
}
_FENCE = r"(?P<mark>`{3,}+|~{3,}+)[^\n`]*\n(?P<code>.*?\n)?[ \t]*(?P=mark)[ \t]*(?:\n|\Z)"
_BEFORE = re.compile(rf"(?:\s|#[^\n]*|{_FENCE})*", re.DOTALL)
_HEAD = re.compile(r"VERIFY\s*\(")
_SKIPPED = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT})
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OF_LISTS = frozenset({"len", "sum", "sorted", "max", "min", "all", "any", "set"})


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a constraint.

    Attributes:
        kind: the task's field that it belongs to: ``requires``, ``ensures`` or ``temporal``.
        line: where it stands, or None.
    """

    kind: str
    text: str
    line: int | None = None


@dataclass(slots=True)
class _Form:
    """What stands between the brackets of ``VERIFY``."""

    name: str = ""
    code: str = ""
    conditions: list[Condition] = field(default_factory=list)


def is_literal(text: str, name: str = "") -> bool:
    """Whether a text is ``VERIFY(...)``, behind nothing but comments and fenced code, or its file is named so."""
    return name.lower().endswith(".verify") or _HEAD.match(text, _start(text)) is not None


def is_task_text(argument: str) -> bool:
    """Whether what stands for a task is its own text, not the name of a file: it has lines, or is one ``VERIFY(...)``.

    A file that exists is one, whatever its name.
    """
    if "\n" in argument:
        return True
    return is_literal(argument) and not _is_file(argument)


def read_literal(text: str, code: str = "") -> tuple[TaskSpec, str]:
    """The task and the program to judge.

    Args:
        text: the whole literal.
        code: the program, where the text only names it.

    Raises:
        TaskFormatError: names line and column and what was expected, or the program is missing or not Python.
    """
    form = _Parser(text).parse()
    inside = form.code or _fenced_code(text)
    if inside and code:
        raise TaskFormatError("the code stands in the text and is given beside it", hint="leave one of the two out")
    if not inside and not code:
        hint = "quote it, put it before VERIFY between ``` lines, or name its file as CODE"
        raise TaskFormatError(f"the code that {form.name!r} stands for is not in the text", hint=hint)
    return task_of(inside or code, form.conditions, name=form.name), inside or code


def task_of(code: str, conditions: list[Condition], *, name: str = "") -> TaskSpec:
    """The task that a program is held to.

    Args:
        code: the program; its signature and docstring are the task's.
        conditions: what must hold.
        name: the function to judge, if the program defines one of that name; else its last one.

    Raises:
        TaskFormatError: no Python, no function, or a condition that cannot be evaluated.
    """
    try:
        function = _judged_function(code, name)
        draft = Draft(entry_point=function.name, stub_signature=signature_of(function))
    except SourceError as error:
        where = f" (its line {error.line})" if error.line else ""
        raise TaskFormatError(f"the code cannot be judged: {error.message}{where}") from error
    draft.docstring = ast.get_docstring(function) or ""
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    draft.prompt = draft.docstring or f"def {function.name}({ast.unparse(function.args)}){returns}: ..."
    for item in conditions:
        texts: list[str] = getattr(draft, item.kind)
        if item.line is not None:
            draft.lines[f"{item.kind}[{len(texts)}]"] = item.line
        texts.append(item.text)
    if not find_examples(draft.docstring, function.name):
        draft.inputs.update(_suggested_types(function, conditions))
    return build_task(draft)


def _judged_function(code: str, name: str) -> ast.FunctionDef:
    functions = defined_functions(parse_module(code))
    if not functions:
        raise SourceError("it defines no function")
    return next((item for item in functions if item.name == name), functions[-1])


class _Parser:
    def __init__(self, text: str) -> None:
        start = _start(text)
        self._text = text
        self._line_starts = [0, *(match.end() for match in re.finditer(r"\n", text))]
        self._first_line = text.count("\n", 0, start)
        self._first_column = start - self._line_starts[self._first_line]
        self._tokens = list(self._read(text[start:]))
        self._place = 0

    def parse(self) -> _Form:
        form = _Form()
        self._take("VERIFY")
        self._take("(")
        self._take_code(form)
        self._take(",", "a comma and CONSTRAINTS")
        self._take("CONSTRAINTS")
        self._take(":" if self._next.string == ":" else "=", "':' or '='")
        self._take("[")
        self._take_constraint(form)
        while self._next.string == ",":
            self._take(",")
            if self._next.string != "]":
                self._take_constraint(form)
        self._take("]", "a comma or ']'")
        if self._next.string == ",":
            self._take(",")
        self._take(")")
        if self._next.type != tokenize.ENDMARKER:
            raise self._expected("nothing more")
        return form

    @property
    def _next(self) -> tokenize.TokenInfo:
        return self._tokens[self._place]

    def _read(self, text: str) -> Iterator[tokenize.TokenInfo]:
        end = (1, 0)
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.ERRORTOKEN and not token.string.isspace():
                    raise self._error(token.start, f"{token.string!r} cannot be read, such as a quote that never ends")
                if token.type not in _SKIPPED and not token.string.isspace():
                    end = token.end
                    yield token
        except tokenize.TokenError as error:
            message, place = error.args
            if "multi-line statement" not in message:
                raise self._error(place, f"{message}: a quote or a bracket that is not closed") from error
            # A bracket is open: what is missing there, the parser knows better.
            yield tokenize.TokenInfo(tokenize.ENDMARKER, "", end, end, "")
        except SyntaxError as error:
            raise self._error((error.lineno or 1, (error.offset or 1) - 1), error.msg) from error

    def _take(self, string: str, wanted: str = "") -> None:
        if self._next.string != string:
            raise self._expected(wanted or repr(string))
        self._place += 1

    def _take_code(self, form: _Form) -> None:
        token = self._next
        if token.type == tokenize.STRING:
            form.code = self._quoted_code(token)
        elif token.type == tokenize.NAME:
            form.name = token.string
        else:
            raise self._expected("a name or quoted code")
        self._place += 1

    def _quoted_code(self, token: tokenize.TokenInfo) -> str:
        try:
            value = literal(token.string)
        except SourceError:
            value = None  # a formatted text
        if not isinstance(value, str) or not value.strip():
            raise self._expected("code as plain text")
        return textwrap.dedent(value)

    def _take_constraint(self, form: _Form) -> None:
        if self._next.string not in KINDS:
            raise self._expected(" or ".join(KINDS))
        kind = KINDS[self._next.string]
        self._place += 1
        self._take("(")
        form.conditions.append(self._condition(kind))
        while self._next.string == ",":
            self._take(",")
            if self._next.string != ")":
                form.conditions.append(self._condition(kind))
        self._take(")")

    def _condition(self, kind: str) -> Condition:
        first = self._place
        self._skip_condition()
        tokens = self._tokens[first : self._place]
        if not tokens:
            raise self._expected("a condition")
        text = self._text[self._offset(tokens[0].start) : self._offset(tokens[-1].end)]
        line, _ = self._where(tokens[0].start)
        return Condition(kind, self._condition_text(text, tokens[0]), line)

    def _skip_condition(self) -> None:
        """Go on to the comma or bracket that ends a condition; those inside of brackets and lambdas do not."""
        closing: list[str] = []
        num_lambdas = 0
        while self._next.type != tokenize.ENDMARKER:
            string = self._next.string
            if not closing and (string == ")" or (string == "," and not num_lambdas)):
                return
            if string in _PAIRS:
                closing.append(_PAIRS[string])
            elif string in _PAIRS.values() and (not closing or closing.pop() != string):
                raise self._expected("a bracket that closes the one before")
            elif not closing:
                num_lambdas += (string == "lambda") - (string == ":" and num_lambdas > 0)
            self._place += 1
        raise self._expected("')'")

    def _condition_text(self, text: str, first: tokenize.TokenInfo) -> str:
        """The condition as an expression of one line; a quoted one without its quotes, a lambda without its head."""
        try:
            # In brackets, as it may go on over lines and end with a comment.
            tree = parse_expression(f"({text}\n)")
        except SourceError as error:
            raise self._error(first.start, f"{text!r} is no condition: {error.message}") from error
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            return tree.value
        if isinstance(tree, ast.Lambda):
            return ast.unparse(tree.body)
        return ast.unparse(tree) if "\n" in text else text

    def _expected(self, wanted: str) -> TaskFormatError:
        token = self._next
        found = "the end" if token.type == tokenize.ENDMARKER else repr(token.string[:40])
        return self._error(token.start, f"expected {wanted}, found {found}")

    def _error(self, place: tuple[int, int], message: str) -> TaskFormatError:
        line, column = self._where(place)
        return TaskFormatError(f"column {column + 1}: {message}", line=line)

    def _where(self, place: tuple[int, int]) -> tuple[int, int]:
        """1-based line and 0-based column in the whole text."""
        line, column = place
        return self._first_line + line, column + (self._first_column if line == 1 else 0)

    def _offset(self, place: tuple[int, int]) -> int:
        line, column = self._where(place)
        return self._line_starts[line - 1] + column


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False  # no file can have such a name


def _start(text: str) -> int:
    """Where the text goes on behind comments and fenced code."""
    found = _BEFORE.match(text)
    return 0 if found is None else found.end()


def _fenced_code(text: str) -> str:
    """The last fenced block before the literal, or nothing."""
    blocks = [match["code"] or "" for match in re.finditer(_FENCE, text[: _start(text)], re.DOTALL)]
    return blocks[-1] if blocks else ""


def _suggested_types(function: ast.FunctionDef, conditions: list[Condition]) -> dict[str, str]:
    """Parameters without annotation -> the type of what they are compared with or given to."""
    bare = {item.arg for item in (*function.args.posonlyargs, *function.args.args) if item.annotation is None}
    found: dict[str, str] = {}
    for item in conditions:
        try:
            nodes = list(ast.walk(parse_expression(item.text)))
        except SourceError:
            continue  # refused with its field when the task is built
        for name, kind in (pair for node in nodes for pair in _suggestions(node)):
            if name in bare and (name not in found or kind == "float"):
                found[name] = kind
    return found


def _suggestions(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        kinds = [kind for side in sides for kind in _kind_of(side)]
        yield from ((side.id, kind) for side in sides if isinstance(side, ast.Name) for kind in kinds[:1])
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Name):
        yield node.left.id, "int"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_LISTS:
        yield from ((item.id, "list[int]") for item in node.args if isinstance(item, ast.Name))


def _kind_of(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.UnaryOp):
        yield from _kind_of(node.operand)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, str):
        yield type(node.value).__name__
