"""What values a parameter may take: read from a type, a bound such as ``int | 0..100``, or example values.

A domain says what is possible; making values of it is the work of ``generate``.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from armillary.core.tasks import Parameter, TaskSpec
from armillary.verify.literal_text import OPENERS
from armillary.verify.source import SourceError, literal

Kind = Literal[
    "int", "float", "bool", "str", "bytes", "complex", "none", "list", "tuple", "dict", "set", "frozenset", "union",
    "choice", "any", "unknown",
]  # fmt: skip
Number: TypeAlias = int | float

MAX_MIN_SIZE = 10_000
MAX_DEPTH = 32

_NAMES: dict[str, Kind] = {
    "int": "int", "float": "float", "bool": "bool", "str": "str", "bytes": "bytes", "complex": "complex",
    "None": "none", "NoneType": "none", "list": "list", "List": "list", "Sequence": "list", "Iterable": "list",
    "Collection": "list", "MutableSequence": "list", "tuple": "tuple", "Tuple": "tuple", "dict": "dict", "Dict": "dict",
    "Mapping": "dict", "set": "set", "Set": "set", "frozenset": "frozenset", "FrozenSet": "frozenset",
    "AbstractSet": "set", "Any": "any", "object": "any", "Number": "float", "Union": "union", "Optional": "union",
    "Literal": "choice",
}  # fmt: skip
_SIZED: frozenset[Kind] = frozenset({"list", "tuple", "dict", "set", "frozenset", "str", "bytes"})
# A value of an earlier kind may stand for one of a later kind.
_TOWER: tuple[Kind, ...] = ("bool", "int", "float", "complex")
_NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})?\s*\.\.\s*({_NUMBER})?")
_BOUND = re.compile(rf"(>=|<=|>|<)\s*({_NUMBER})")
_LENGTH = re.compile(r"len\s*(>=|<=|==|>|<|=)\s*(\d{1,18})")
_LENGTHS = re.compile(r"len\s+(\d{1,18})\s*\.\.\s*(\d{1,18})")
_CHARS = re.compile(r"chars\s+(?:in\s+)?(['\"].*['\"])", re.DOTALL)
_TYPE_OF_VALUE: dict[type, Kind] = {
    bool: "bool", int: "int", float: "float", str: "str", bytes: "bytes", complex: "complex", type(None): "none",
    list: "list", tuple: "tuple", dict: "dict", set: "set", frozenset: "frozenset",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of values.

    Attributes:
        items: element domains; ``(key, value)`` of a dict, the members of a union, the places of a fixed tuple.
        low, high: inclusive bounds of numbers; None is open.
        min_length, max_length: inclusive bounds of a container's size; None leaves it to the generator.
        alphabet: the only characters of strings; empty allows all.
        seen: characters of the examples' strings; made strings use these, but others lie in the domain too.
        choices: all the values of a ``choice``.
        is_variadic: a tuple of any length over ``items[0]``.
    """

    kind: Kind
    items: tuple[Domain, ...] = ()
    low: Number | None = None
    high: Number | None = None
    min_length: int = 0
    max_length: int | None = None
    alphabet: str = ""
    seen: str = ""
    choices: tuple[Any, ...] = ()
    is_variadic: bool = False


UNKNOWN = Domain("unknown")


def parse_domain(text: str) -> Domain:
    """Read a type with bounds: ``list[int | 0..9] | len<=5``, ``str | chars 'ab'``, ``int | None``, ``float | >= 0``.

    Raises:
        SourceError: a bound that fits no type beside it, or a type that is not written like one.
    """
    members: list[Domain] = []
    bounds: list[str] = []
    for part in split_outside_brackets(text, "|"):
        (bounds if _is_bound(part) else members).append(part)  # type: ignore[arg-type]  # sorted out just below
    domains = [_parse_member(str(part)) for part in members]
    for bound in bounds:
        narrowed = [_narrow(domain, bound) for domain in domains]
        if narrowed == domains:
            raise SourceError(f"{bound!r} bounds nothing in {text!r}")
        domains = narrowed
    size = least_size(found := _union(domains))
    if size > MAX_MIN_SIZE:
        raise SourceError(f"{text!r} asks for inputs of at least {size} items; they may need {MAX_MIN_SIZE}")
    return found


def least_size(domain: Domain) -> int:
    """Items and characters of the smallest value."""
    if domain.kind in ("str", "bytes"):
        return max(1, domain.min_length)
    if domain.kind == "union":
        return max(map(least_size, domain.items))
    inner = sum(map(least_size, domain.items))
    if domain.kind == "tuple" and not domain.is_variadic:
        return max(1, inner)
    return max(1, domain.min_length * inner)


def accepts(declared: Domain, given: Domain) -> bool:
    """Whether some value of one domain is of a kind that another declares; bounds and choices count for nothing."""
    if declared.kind == "choice":
        return accepts(infer(declared.choices), given)
    if given.kind == "choice":
        return accepts(declared, infer(given.choices))
    if {declared.kind, given.kind} & {"any", "unknown"}:
        return True
    if declared.kind == "union":
        return any(accepts(item, given) for item in declared.items)
    if given.kind == "union":
        return any(accepts(declared, item) for item in given.items)
    if declared.kind in _TOWER and given.kind in _TOWER:
        return _TOWER.index(given.kind) <= _TOWER.index(declared.kind)
    if declared.kind != given.kind:
        return False
    if declared.kind == "tuple" and declared.is_variadic != given.is_variadic:
        [item], items = (declared.items, given.items) if declared.is_variadic else (given.items, declared.items)
        return all(accepts(item, other) if declared.is_variadic else accepts(other, item) for other in items)
    return len(declared.items) == len(given.items) and all(map(accepts, declared.items, given.items))


def parameter_domains(task: TaskSpec) -> tuple[Domain, ...]:
    """One domain per parameter, what the types leave open filled in from the examples' arguments."""
    examples = [example.arguments for example in task.examples]
    parameters = task.parameters or tuple(Parameter("") for _ in (examples[0] if examples else ()))
    return tuple(
        refine(_declared(parameter), [arguments[index] for arguments in examples if index < len(arguments)])
        for index, parameter in enumerate(parameters)
    )


def has_unknown(domain: Domain) -> bool:
    """Whether nothing is known of the values at some place, so that none can be made honestly."""
    return domain.kind == "unknown" or any(has_unknown(item) for item in domain.items)


def refine(domain: Domain, values: Sequence[Any]) -> Domain:
    """Fill what a domain leaves open with what the values show: element types and usual characters."""
    if domain.kind in ("unknown", "any"):
        return infer(values) if values else domain
    if domain.kind == "union":
        return replace(domain, items=tuple(refine(item, _fitting(item, values)) for item in domain.items))
    if domain.kind == "str" and not domain.alphabet:
        return replace(domain, seen="".join(sorted({c for value in values if type(value) is str for c in value})))
    if domain.kind == "dict" and domain.items:
        tables = [value for value in values if type(value) is dict]
        columns = ([key for table in tables for key in table], [item for table in tables for item in table.values()])
        return replace(domain, items=tuple(map(refine, domain.items, columns)))
    if domain.kind == "tuple" and not domain.is_variadic:
        rows = [value for value in values if type(value) is tuple and len(value) == len(domain.items)]
        return replace(
            domain, items=tuple(refine(item, [row[i] for row in rows]) for i, item in enumerate(domain.items))
        )
    if domain.items:
        elements = [item for value in values if type(value).__name__ == domain.kind for item in _ordered(value)]
        return replace(domain, items=(refine(domain.items[0], elements),))
    return domain


def infer(values: Sequence[Any]) -> Domain:
    """The narrowest domain by type that holds all values."""
    kinds: dict[Kind, list[Any]] = {}
    for value in values:
        kinds.setdefault(_TYPE_OF_VALUE.get(type(value), "unknown"), []).append(value)
    return _union([_infer_kind(kind, group) for kind, group in kinds.items()]) if kinds else UNKNOWN


def contains(domain: Domain, value: Any) -> bool:
    """Whether a value lies in the domain; an ``int`` counts as a ``float``."""
    if domain.kind in ("any", "unknown"):
        return True
    if domain.kind == "union":
        return any(contains(item, value) for item in domain.items)
    if domain.kind == "choice":
        return any(type(item) is type(value) and item == value for item in domain.choices)
    kind = _TYPE_OF_VALUE.get(type(value), "unknown")
    if kind != domain.kind and (kind, domain.kind) != ("int", "float"):
        return False
    if domain.kind in ("int", "float"):
        return (domain.low is None or value >= domain.low) and (domain.high is None or value <= domain.high)
    if domain.kind in _SIZED:
        return _contains_sized(domain, value)
    return True


def split_outside_brackets(text: str, separator: str) -> list[str]:
    """Split at a character that stands in no bracket and no quotes; parts come stripped.

    Raises:
        SourceError: an empty part, brackets and quotes that do not match or are nested deeper than ``MAX_DEPTH``.
    """
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in OPENERS:
            depth += 1
            if depth > MAX_DEPTH:
                raise SourceError(f"a type that is nested deeper than {MAX_DEPTH} levels")
        elif character in OPENERS.values():
            depth -= 1
        if character == separator and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += character
    stripped = [part.strip() for part in parts]
    if depth or quote or not all(stripped):
        raise SourceError(f"{text!r} is not a type with bounds")
    return stripped


def _declared(parameter: Parameter) -> Domain:
    text = parameter.domain or parameter.annotation
    if parameter.domain and all(_is_bound(part) for part in split_outside_brackets(parameter.domain, "|")):
        text = f"{parameter.annotation or 'int'} | {parameter.domain}"
    try:
        return parse_domain(text)
    except SourceError:
        # Annotations are free text in Python; the task's own bounds were checked when it was read.
        return UNKNOWN


def _is_bound(part: str) -> bool:
    return any(pattern.fullmatch(part) for pattern in (_RANGE, _BOUND, _LENGTH, _LENGTHS, _CHARS))


def _parse_member(text: str) -> Domain:
    text = text.strip("'\"") if text[0] in "'\"" else text
    head = re.fullmatch(r"(?:[\w.]+\.)?(\w+)\s*(?:\[(.*)\])?", text, re.DOTALL)
    if head is None:
        raise SourceError(f"{text!r} is not a type")
    kind = _NAMES.get(head.group(1), "unknown")
    inner = head.group(2)
    if kind == "choice":
        return Domain(kind, choices=tuple(literal(part) for part in split_outside_brackets(inner or "", ",")))
    parts = [] if inner is None or inner.strip() == "()" else split_outside_brackets(inner, ",")
    if kind == "union":
        if not parts:
            return UNKNOWN
        members = [parse_domain(part) for part in parts]
        return _union([*members, Domain("none")] if head.group(1) == "Optional" else members)
    if kind == "tuple":
        is_variadic = inner is None or (len(parts) == 2 and parts[1] == "...")
        items = tuple(parse_domain(part) for part in parts if part != "...") or (
            (Domain("any"),) if is_variadic else ()
        )
        return Domain(kind, items, is_variadic=is_variadic)
    wanted = {"list": 1, "set": 1, "frozenset": 1, "dict": 2}.get(kind, 0)
    if wanted == 0 or not parts:
        return Domain(kind, (Domain("any"),) * wanted)
    if len(parts) != wanted:
        raise SourceError(f"{text!r} needs {wanted} element types")
    return Domain(kind, tuple(parse_domain(part) for part in parts))


def _narrow(domain: Domain, bound: str) -> Domain:
    if domain.kind == "union":
        return replace(domain, items=tuple(_narrow(item, bound) for item in domain.items))
    if domain.kind in ("int", "float"):
        return _narrow_number(domain, bound)
    if chars := _CHARS.fullmatch(bound):
        return replace(domain, alphabet=_alphabet(bound, chars.group(1))) if domain.kind == "str" else domain
    if domain.kind not in _SIZED:
        return domain
    if lengths := _LENGTHS.fullmatch(bound):
        return _of_length(domain, bound, int(lengths.group(1)), int(lengths.group(2)))
    if length := _LENGTH.fullmatch(bound):
        operator, size = length.group(1), int(length.group(2))
        low = {">=": size, ">": size + 1, "==": size, "=": size}.get(operator, domain.min_length)
        high = {"<=": size, "<": size - 1, "==": size, "=": size}.get(operator, domain.max_length)
        return _of_length(domain, bound, low, high)
    return domain


def _of_length(domain: Domain, bound: str, low: int, high: int | None) -> Domain:
    if low > MAX_MIN_SIZE:
        raise SourceError(f"{bound!r} asks for inputs longer than {MAX_MIN_SIZE}")
    if high is not None and low > high:
        raise SourceError(f"{bound!r} leaves no length")
    return replace(domain, min_length=low, max_length=high)


def _alphabet(bound: str, text: str) -> str:
    found = literal(text)
    if type(found) is not str or not found:
        raise SourceError(f"{bound!r} is no alphabet; write one text with all its characters")
    return found


def _narrow_number(domain: Domain, bound: str) -> Domain:
    if span := _RANGE.fullmatch(bound):
        low, high = (None if text is None else _number(text) for text in span.groups())
    elif limit := _BOUND.fullmatch(bound):
        low, high = _limit(domain, limit.group(1), _number(limit.group(2)))
    else:
        return domain
    low, high = domain.low if low is None else low, domain.high if high is None else high
    if domain.kind == "int":
        low, high = None if low is None else math.ceil(low), None if high is None else math.floor(high)
    if low is not None and high is not None and low > high:
        raise SourceError(f"{bound!r} leaves no number")
    return replace(domain, low=low, high=high)


def _limit(domain: Domain, operator: str, value: Number) -> tuple[Number | None, Number | None]:
    """The inclusive bounds that ``>``, ``>=``, ``<`` or ``<=`` set."""
    if operator == ">":
        value = math.floor(value) + 1 if domain.kind == "int" else value + 1e-9
    elif operator == "<":
        value = math.ceil(value) - 1 if domain.kind == "int" else value - 1e-9
    return (value, None) if operator[0] == ">" else (None, value)


def _number(text: str) -> Number:
    try:
        value = int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError as error:
        raise SourceError(f"a bound of {len(text)} digits") from error
    if not abs(value) <= sys.float_info.max:
        raise SourceError(f"the bound {text[:40]} is larger than a float can be")
    return value


def _union(domains: list[Domain]) -> Domain:
    return domains[0] if len(domains) == 1 else Domain("union", tuple(domains))


def _fitting(domain: Domain, values: Sequence[Any]) -> list[Any]:
    return [value for value in values if _TYPE_OF_VALUE.get(type(value)) == domain.kind]


def _infer_kind(kind: Kind, values: list[Any]) -> Domain:
    if kind == "unknown":
        return UNKNOWN
    if kind == "tuple":
        lengths = {len(value) for value in values}
        if len(lengths) == 1:
            return refine(Domain(kind, (UNKNOWN,) * lengths.pop()), values)
        return refine(Domain(kind, (Domain("any"),), is_variadic=True), values)
    num_items = {"list": 1, "set": 1, "frozenset": 1, "dict": 2}.get(kind, 0)
    return refine(Domain(kind, (Domain("any"),) * num_items), values)


def _ordered(value: Any) -> list[Any]:
    return sorted(value, key=repr) if type(value) in (set, frozenset) else list(value)


def _contains_sized(domain: Domain, value: Any) -> bool:
    if len(value) < domain.min_length or (domain.max_length is not None and len(value) > domain.max_length):
        return False
    if domain.kind == "str":
        return not domain.alphabet or set(value) <= set(domain.alphabet)
    if domain.kind == "bytes":
        return True
    if domain.kind == "dict":
        return all(contains(domain.items[0], k) and contains(domain.items[1], v) for k, v in value.items())
    if domain.kind == "tuple" and not domain.is_variadic:
        return len(value) == len(domain.items) and all(map(contains, domain.items, value))
    return all(contains(domain.items[0], item) for item in value)
