"""The fields of a task as they were written, checked and turned into a ``TaskSpec``. Knows no file format.

Every front end fills a ``Draft`` and says on which line each field stood, so that all errors name field and line.
"""

from __future__ import annotations

import difflib
import keyword
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import Budget, Example, Parameter, Predicate, TaskSpec
from armillary.core.values import canonical
from armillary.verify.docstring_examples import find_examples, parse_call, parse_example
from armillary.verify.domains import Domain, accepts, has_unknown, infer, parse_domain, split_outside_brackets
from armillary.verify.predicates import check_predicates
from armillary.verify.signature import Signature, parse_signature, signature_of
from armillary.verify.source import SourceError, defined_functions, parse_module

EXAMPLE_FORMS = "write `f(2) == 4`, or `call` with `returns` or `raises`, or `input` with `output`"
# Names that stand for several kinds; `domains` reads each as the commonest of them.
_ABSTRACT = re.compile(r"\b(Sequence|Iterable|Collection|MutableSequence|AbstractSet|Mapping|Number)\b")


@dataclass(slots=True)
class Draft:
    """Everything that a front end found; the names are those of the task file.

    Attributes:
        examples: texts, or tables with ``call``/``returns``/``raises`` or ``input``/``output``.
        lines: dotted path of a field -> 1-based line.
        stub_signature: from a stub in the prompt; ``signature`` goes first.
        docstring: where to look for the examples of the prompt's author; the prompt itself by default.
    """

    prompt: str = ""
    entry_point: str = ""
    signature: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    examples: list[Any] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)
    ensures: list[str] = field(default_factory=list)
    laws: list[str] = field(default_factory=list)
    temporal: list[str] = field(default_factory=list)
    raises: dict[str, str] = field(default_factory=dict)
    reference: str = ""
    budget: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    stub_signature: Signature | None = None
    docstring: str | None = None

    @contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Turn a ``SourceError`` inside into a ``TaskFormatError`` at this field."""
        try:
            yield
        except SourceError as error:
            raise TaskFormatError(error.message, field=path, line=self.line(path)) from error

    def line(self, path: str) -> int | None:
        """Line of a field, or of the nearest field around it."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path)


def refuse_unknown(name: str, known: tuple[str, ...], *, line: int | None = None, within: str = "") -> None:
    """Refuse a field that no task has, naming the nearest one and all that are known.

    Raises:
        TaskFormatError: ``name`` is not in ``known``.
    """
    if name in known:
        return
    path = f"{within}.{name}" if within else name
    near = difflib.get_close_matches(name, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise TaskFormatError("unknown field", field=path, line=line, hint=f"{guess}known: {', '.join(known)}")


def build_task(draft: Draft) -> TaskSpec:
    """Check every field and put the task together.

    Raises:
        TaskFormatError: a field is missing, malformed or contradicts another.
    """
    if not draft.prompt.strip():
        raise TaskFormatError("a task needs a prompt", field="prompt", line=draft.line("prompt"))
    if any("\ud800" <= char <= "\udfff" for char in draft.prompt):
        raise TaskFormatError("a lone surrogate is no text", field="prompt", line=draft.line("prompt"))
    signature = _signature(draft)
    parameters = _with_domains(draft, signature.parameters)
    names = tuple(item.name for item in parameters) if draft.signature or draft.inputs or draft.stub_signature else None
    task = TaskSpec(
        prompt=draft.prompt,
        entry_point=signature.name,
        parameters=parameters,
        returns=signature.returns,
        examples=_examples(draft, signature.name, names),
        requires=tuple(map(Predicate, draft.requires)),
        ensures=tuple(map(Predicate, draft.ensures)),
        laws=tuple(map(Predicate, draft.laws)),
        temporal=tuple(map(Predicate, draft.temporal)),
        raises=tuple(draft.raises.items()),
        reference=draft.reference,
        budget=_budget(draft),
    )
    _check_kinds(draft, task)
    _check_reference(draft, task.entry_point, None if names is None else len(names))
    check_predicates(task, draft.line)
    return task


def _signature(draft: Draft) -> Signature:
    if draft.signature:
        with draft.reading("signature"):
            found = parse_signature(draft.signature)
    elif draft.stub_signature is not None:
        found = draft.stub_signature
    else:
        names = tuple(Parameter(name) for name in draft.inputs)
        found = Signature(draft.entry_point, names, "", len(names))
    _refuse_uncallable(draft, found)
    # Python reads names in this form, so `größe` is one name however it was typed.
    name = unicodedata.normalize("NFKC", draft.entry_point) or found.name
    if not name:
        hint = "add `signature: def f(x: int) -> int`, or a Python stub to the prompt"
        raise TaskFormatError("a task needs the name of the function to write", field="entry_point", hint=hint)
    if not name.isidentifier() or keyword.iskeyword(name):
        raise TaskFormatError(f"{name!r} is no function name", field="entry_point", line=draft.line("entry_point"))
    if found.name not in (name, ""):
        message = f"the signature defines {found.name!r}, the entry point is {name!r}"
        raise TaskFormatError(message, field="entry_point", line=draft.line("entry_point"))
    return replace(found, name=name)


def _refuse_uncallable(draft: Draft, signature: Signature) -> None:
    names = [item.name for item in signature.parameters]
    twice = next((name for name in names if names.count(name) > 1), None)
    with draft.reading("signature"):
        if twice is not None:
            raise SourceError(f"the parameter {twice!r} stands here twice")
        if signature.takes_any_number:
            raise SourceError("inputs cannot be made for `*args`; take one list, or name each parameter")


def _with_domains(draft: Draft, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    known = tuple(item.name for item in parameters)
    inputs = {unicodedata.normalize("NFKC", name): (name, text) for name, text in draft.inputs.items()}
    for name, (spelled, text) in inputs.items():
        path = f"inputs.{spelled}"
        refuse_unknown(name, known, line=draft.line(path), within="inputs")
        with draft.reading(path):
            annotation = parameters[known.index(name)].annotation or "int"
            domain = _domain(text, annotation)
            if has_unknown(domain):
                raise SourceError(f"{text!r} names a type that inputs cannot be made of")
            if not _may_hold(parameters[known.index(name)].annotation, domain):
                raise SourceError(f"{text!r} contradicts the signature, which says {annotation!r}")
    return tuple(replace(item, domain=inputs.get(item.name, ("", ""))[1]) for item in parameters)


def _domain(text: str, annotation: str) -> Domain:
    """A parameter's domain; bounds alone narrow its annotation."""
    is_whole = any(part[0].isalpha() and not part.startswith(("len", "chars")) for part in _parts(text))
    return parse_domain(text if is_whole else f"{annotation or 'int'} | {text}")


def _may_hold(annotation: str, domain: Domain) -> bool:
    """Whether inputs of a domain contradict no annotation, as far as it can be read."""
    if not annotation or _ABSTRACT.search(annotation):
        return True
    try:
        return accepts(parse_domain(annotation), domain)
    except SourceError:
        return True  # Annotations are free text in Python.


def _check_kinds(draft: Draft, task: TaskSpec) -> None:
    """Refuse the task's own examples that return for an argument of another kind than ``inputs`` declares."""
    domains = [_domain(item.domain, item.annotation) if item.domain else None for item in task.parameters]
    for index, example in enumerate(task.examples[: len(draft.examples)]):
        for parameter, domain, value in zip(task.parameters, domains, example.arguments, strict=False):
            if domain is not None and not example.raises and not accepts(domain, infer([value])):
                path = f"examples[{index}]"
                message = f"its argument {parameter.name!r} is not of the kind that inputs declare: {parameter.domain}"
                raise TaskFormatError(message, field=path, line=draft.line(path))


def _parts(text: str) -> list[str]:
    return split_outside_brackets(text, "|")


def _examples(draft: Draft, entry_point: str, names: tuple[str, ...] | None) -> tuple[Example, ...]:
    found = []
    for index, raw in enumerate(draft.examples):
        path = f"examples[{index}]"
        with draft.reading(path):
            found.append(_example(raw, entry_point, names))
    known = {canonical((item.arguments, item.expected, item.raises)) for item in found}
    text = draft.prompt if draft.docstring is None else draft.docstring
    found += [
        example
        for example in find_examples(text, entry_point, names)
        if canonical((example.arguments, example.expected, example.raises)) not in known
    ]
    sizes = {len(example.arguments) for example in found}
    if names is None and len(sizes) > 1:
        message = "the examples do not agree on the number of arguments"
        raise TaskFormatError(message, field="examples", line=draft.line("examples"), hint="add a signature")
    return tuple(found)


def _example(raw: Any, entry_point: str, names: tuple[str, ...] | None) -> Example:
    if isinstance(raw, str):
        return parse_example(raw, entry_point, names)
    if not isinstance(raw, dict):
        raise SourceError(f"{raw!r} is no example; {EXAMPLE_FORMS}")
    keys = set(raw)
    if keys in ({"call", "returns"}, {"call", "raises"}) and isinstance(raw["call"], str):
        arguments = parse_call(raw["call"], entry_point, names)
    elif keys in ({"input", "output"}, {"input", "raises"}):
        arguments = _arguments(raw["input"], names)
    else:
        raise SourceError(f"an example has the fields {', '.join(sorted(map(str, keys)))}; {EXAMPLE_FORMS}")
    if "raises" in raw:
        if not isinstance(raw["raises"], str) or not raw["raises"].isidentifier():
            raise SourceError(f"{raw['raises']!r} is no exception's name")
        return Example(arguments, raises=raw["raises"])
    return Example(arguments, raw["returns"] if "returns" in raw else raw["output"])


def _arguments(given: Any, names: tuple[str, ...] | None) -> tuple[Any, ...]:
    if isinstance(given, dict) and names is not None and set(given) == set(names) and len(names) > 0:
        return tuple(given[name] for name in names)
    arguments = tuple(given) if isinstance(given, list | tuple) else (given,)
    if names is not None and len(arguments) != len(names):
        raise SourceError(f"input has {len(arguments)} values, the function takes {len(names)}; list one per parameter")
    return arguments


def _budget(draft: Draft) -> Budget:
    known = {item.name: type(item.default) for item in fields(Budget)}
    for name, value in draft.budget.items():
        path = f"budget.{name}"
        refuse_unknown(name, tuple(known), line=draft.line(path), within="budget")
        is_number = type(value) is int or (type(value) is float and known[name] is float)
        lowest = 0 if name == "max_rounds" else 1
        if not is_number or not lowest <= value <= 1e9:
            message = f"{value!r} is not a number from {lowest} on"
            raise TaskFormatError(message, field=path, line=draft.line(path))
    return Budget(**draft.budget)


def _check_reference(draft: Draft, entry_point: str, num_parameters: int | None) -> None:
    if not draft.reference:
        return
    with draft.reading("reference"):
        named = [node for node in defined_functions(parse_module(draft.reference)) if node.name == entry_point]
        if not named:
            raise SourceError(f"the reference defines no function {entry_point!r}")
        if num_parameters is not None and not signature_of(named[-1]).accepts(num_parameters):
            raise SourceError(
                f"the reference cannot be called with {num_parameters} arguments, as the task's function is"
            )
