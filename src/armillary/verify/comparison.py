"""Decide whether a result is the expected one: types count, floats within a tolerance. Runs nothing of the value's.

``True`` is not ``1`` and a tuple is not a list, unless the return annotation says otherwise than the expectation.
An ``int`` may stand where a float is expected; a float where an int is expected only if the annotation says float.
NaN equals NaN. Values stay in their tagged form: a hostile one could make the building of a set take very long.

Two numbers are the same when they are equal, or when at least one is a float and they differ by at most a millionth (so
that an example may be rounded to six digits behind the point, as HumanEval's own tests allow) that is also at most a
thousandth of the larger one (so that small numbers are not all zero); or, where they are large, by a billionth of the
larger one. What differs by less than 1e-12 is the same: sums of ordinary numbers carry such noise. An int and a float
without a fraction must be equal. Members of sets and keys of dicts have no tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from armillary.core.errors import ValueCodecError
from armillary.core.values import Json, decode, dumps
from armillary.verify.domains import UNKNOWN, Domain, parse_domain
from armillary.verify.source import SourceError

RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-6
LARGEST_SHARE = 1e-3
NOISE = 1e-12
_NUMBERS = ("bool", "int", "float", "complex")
_SEQUENCES = ("list", "tuple")


def matches(expected: Json, actual: Json, returns: str = "") -> bool:
    """Whether ``actual`` is what was expected of a function annotated with ``returns``; both are tagged JSON."""
    return _guarded(lambda: _matches(expected, actual, return_domain(returns)))


def equal_by_value(left: Json, right: Json) -> bool:
    """Python's ``==`` for two tagged values, floats within the tolerance: ``2 == 2.0``, but ``[2] != (2,)``."""
    return _guarded(lambda: _equal(left, right))


def kind_and_body(tagged: Json) -> tuple[str, Any]:
    """Name of the type and what a tagged value holds: a Python scalar, or tagged items.

    Raises:
        ValueCodecError: a form that is never written.
    """
    if isinstance(tagged, list):
        return "list", tagged
    if not isinstance(tagged, dict):
        return ("none" if tagged is None else type(tagged).__name__), tagged
    tag = next(iter(tagged), "")
    body = tagged.get(tag)
    if tag in ("int", "float", "complex"):
        return tag, decode(tagged)
    if tag == "bytes" and isinstance(body, str):
        return tag, body
    if tag not in ("tuple", "set", "frozenset", "dict") or not isinstance(body, list) or len(tagged) != 1:
        raise ValueCodecError(f"malformed value with tag {tag!r}")
    if tag == "dict" and not all(isinstance(pair, list) and len(pair) == 2 for pair in body):
        raise ValueCodecError("a dict is a list of pairs")
    return tag, body


def return_domain(returns: str) -> Domain:
    """The domain of a return annotation; unknown when there is none or it is not a type that we know."""
    if not returns:
        return UNKNOWN
    try:
        return parse_domain(returns)
    except SourceError:
        return UNKNOWN


def _guarded(compare: Callable[[], bool]) -> bool:
    try:
        return compare()
    except (ValueCodecError, RecursionError):  # a forged value equals nothing
        return False


def _matches(expected: Json, actual: Json, domain: Domain) -> bool:
    kind, wanted = kind_and_body(expected)
    found_kind, found = kind_and_body(actual)
    if kind in _NUMBERS and found_kind in _NUMBERS:
        return _numbers_match((kind, found_kind), domain) and _close(wanted, found)
    domain = _member_for(domain, kind)
    if kind in _SEQUENCES and found_kind in _SEQUENCES:
        if found_kind not in (kind, domain.kind) or len(wanted) != len(found):
            return False
        pairs = enumerate(zip(wanted, found, strict=True))
        return all(_matches(left, right, _item(domain, index)) for index, (left, right) in pairs)
    if kind != found_kind:
        return False
    if kind == "dict":
        value_domain = domain.items[1] if domain.kind == "dict" else UNKNOWN
        return _tables_equal(wanted, found, lambda left, right: _matches(left, right, value_domain))
    return _same(kind, wanted, found)


def _equal(left: Json, right: Json) -> bool:
    kind, ours = kind_and_body(left)
    other_kind, theirs = kind_and_body(right)
    if kind in _NUMBERS and other_kind in _NUMBERS:
        return _close(ours, theirs)
    if {kind, other_kind} == {"set", "frozenset"}:
        return _same("set", ours, theirs, _key)
    if kind != other_kind:
        return False
    if kind in _SEQUENCES:
        return len(ours) == len(theirs) and all(map(_equal, ours, theirs))
    return _tables_equal(ours, theirs, _equal, _key) if kind == "dict" else _same(kind, ours, theirs, _key)


def _same(kind: str, left: Any, right: Any, key: Callable[[Json], str] = dumps) -> bool:
    if kind in ("set", "frozenset"):
        return sorted(map(key, left)) == sorted(map(key, right))
    return bool(left == right)


def _tables_equal(
    left: list[list[Json]],
    right: list[list[Json]],
    same: Callable[[Json, Json], bool],
    key: Callable[[Json], str] = dumps,
) -> bool:
    ours = {key(name): item for name, item in left}
    theirs = {key(name): item for name, item in right}
    return ours.keys() == theirs.keys() and all(same(item, theirs[name]) for name, item in ours.items())


def _key(tagged: Json) -> str:
    """A text that two hashable values share exactly when Python calls them equal, NaN aside."""
    return dumps(_plain(tagged))


def _plain(tagged: Json) -> Json:
    kind, body = kind_and_body(tagged)
    if kind in _NUMBERS:
        number = _simplest(body)
        return {"number": hex(number) if isinstance(number, int) else repr(number)}  # hex has no limit of length
    if kind == "tuple":
        return {kind: [_plain(item) for item in body]}
    if kind in ("set", "frozenset"):
        return {"set": sorted((_plain(item) for item in body), key=dumps)}
    return tagged


def _simplest(number: Any) -> Any:
    """The same number as an int where it is whole, as a float where it is real."""
    if isinstance(number, complex):
        return number if number.imag else _simplest(number.real)
    return int(number) if _is_whole(number) else number


def _numbers_match(kinds: tuple[str, str], domain: Domain) -> bool:
    """Whether a number of the second kind may stand for one of the first."""
    if kinds == ("int", "float"):
        return any(item.kind == "float" for item in (domain.items if domain.kind == "union" else (domain,)))
    return kinds[0] == kinds[1] or kinds == ("float", "int")


def _member_for(domain: Domain, kind: str) -> Domain:
    """The member of a union that speaks of this kind, one of exactly its type before one of its family."""
    if domain.kind != "union":
        return domain
    for wanted in ((kind,), _SEQUENCES if kind in _SEQUENCES else ()):
        for member in domain.items:
            if member.kind in wanted:
                return member
    return UNKNOWN


def _item(domain: Domain, index: int) -> Domain:
    if domain.kind == "list" or (domain.kind == "tuple" and domain.is_variadic):
        return domain.items[0]
    return domain.items[index] if domain.kind == "tuple" and index < len(domain.items) else UNKNOWN


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right):
        return True
    if isinstance(left, complex) or isinstance(right, complex):
        return _close(left.real, right.real) and _close(left.imag, right.imag)
    if (isinstance(left, int) or isinstance(right, int)) and _is_whole(left) and _is_whole(right):
        return bool(left == right)
    try:
        share = LARGEST_SHARE * max(abs(left), abs(right))
        return math.isclose(left, right, rel_tol=RELATIVE_TOLERANCE, abs_tol=max(NOISE, min(ABSOLUTE_TOLERANCE, share)))
    except OverflowError:  # an integer beyond every float
        return bool(left == right)


def _is_whole(number: float) -> bool:
    return isinstance(number, int) or number.is_integer()  # an int has no such method before Python 3.12
