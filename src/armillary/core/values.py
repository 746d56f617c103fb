"""Carry Python values as tagged JSON, exactly and within limits. Never runs code that a value brings along.

Plain JSON scalars stand for themselves; everything else is an object with one tag. Only exact built-in types are
carried: a subclass of ``int`` with its own ``__eq__`` is refused, not converted. Only ``Counter``, ``defaultdict`` and
``OrderedDict``, which equal a dict with the same pairs, are carried as such a dict. The length of a text is not limited
here but by whoever carries it.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, TypeAlias

from armillary.core.errors import IncomparableValueError, ValueCodecError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_DEPTH = 64
MAX_ITEMS = 200_000
MAX_INT_BITS = 1 << 16

# A metaclass may be the program's own: these read past it.
_LINE_OF_CLASS = type.__dict__["__mro__"].__get__
_NAMES_OF_CLASS = type.__dict__["__dict__"].__get__
_MODULE_OF_CLASS = type.__dict__["__module__"].__get__
_NAME_OF_CLASS = type.__dict__["__qualname__"].__get__


def encode(value: object) -> Json:
    """Turn a Python value into tagged JSON.

    Raises:
        IncomparableValueError: a type whose values equal none that can be carried.
        ValueCodecError: another inexact type, more than ``MAX_DEPTH`` levels or ``MAX_ITEMS`` items.
    """
    return _Encoder().encode(value, 0)


def decode(tagged: Json) -> Any:
    """Turn tagged JSON back into the Python value that it stands for.

    Raises:
        ValueCodecError: an unknown tag, or a form that ``encode`` never writes.
    """
    value = _decode(tagged, 0)
    try:
        is_exact = dumps(encode(value)) == dumps(tagged)
    except (TypeError, ValueError) as error:
        raise ValueCodecError("an encoded value holds something that JSON does not") from error
    if not is_exact:
        # Two spellings of one value would let equal values have different hashes.
        raise ValueCodecError("an encoded value is not spelled in the one way that is written")
    return value


def dumps(tagged: Json) -> str:
    """One canonical line of JSON: sorted keys, no spaces, ASCII only.

    Raises:
        ValueError: a float that is not finite; JSON has no spelling for it.
    """
    return json.dumps(tagged, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(value: object) -> str:
    """Encode and print a value; two values get the same text exactly when nothing tells them apart.

    So ``1``, ``1.0`` and ``True`` differ, and so do dictionaries in another order; two NaN do not.

    Raises:
        ValueCodecError: as for :func:`encode`.
    """
    return dumps(encode(value))


class _Encoder:
    def __init__(self) -> None:
        self.num_items = 0

    def encode(self, value: object, depth: int) -> Json:
        self.num_items += 1
        if depth > MAX_DEPTH:
            raise ValueCodecError(f"value is nested deeper than {MAX_DEPTH} levels")
        if self.num_items > MAX_ITEMS:
            raise ValueCodecError(f"value holds more than {MAX_ITEMS} items")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value  # type: ignore[return-value]  # narrowed by `kind`, which mypy cannot follow
        if kind is int:
            return _encode_int(value)  # type: ignore[arg-type]
        if kind is float:
            return _encode_float(value)  # type: ignore[arg-type]
        encoder = _CONTAINERS.get(kind)
        if encoder is None:
            message = f"values of type {_name_of(kind)} cannot leave the sandbox"
            raise IncomparableValueError(message) if _equals_only_its_own(kind) else ValueCodecError(message)
        return encoder(self, value, depth + 1)

    def items(self, values: Any, depth: int) -> list[Json]:
        return [self.encode(item, depth) for item in values]

    def pairs(self, pairs: Any, depth: int) -> Json:
        return {"dict": [self.items(pair, depth) for pair in pairs]}

    def sorted_items(self, values: Any, depth: int) -> list[Json]:
        return sorted(self.items(values, depth), key=dumps)


def _name_of(kind: type) -> str:
    module = _MODULE_OF_CLASS(kind)
    return f"{module}.{_NAME_OF_CLASS(kind)}" if type(module) is str else _NAME_OF_CLASS(kind)


def _equals_only_its_own(kind: type) -> bool:
    """Whether no value of this type equals one of another: identity decides, or, for a range, its own type."""
    first = next(item for item in _LINE_OF_CLASS(kind) if "__eq__" in _NAMES_OF_CLASS(item))
    return first is object or first is range


def _encode_int(value: int) -> Json:
    if value.bit_length() > MAX_INT_BITS:
        raise ValueCodecError(f"integer of {value.bit_length()} bits, at most {MAX_INT_BITS}")
    return value if value.bit_length() <= 53 else {"int": hex(value)}


def _encode_float(value: float) -> Json:
    if math.isfinite(value) and not (value == 0.0 and math.copysign(1.0, value) < 0):
        return value
    return {"float": repr(value)}


_CONTAINERS: dict[type, Callable[[_Encoder, Any, int], Json]] = {
    list: lambda encoder, value, depth: encoder.items(value, depth),
    tuple: lambda encoder, value, depth: {"tuple": encoder.items(value, depth)},
    set: lambda encoder, value, depth: {"set": encoder.sorted_items(value, depth)},
    frozenset: lambda encoder, value, depth: {"frozenset": encoder.sorted_items(value, depth)},
    dict: lambda encoder, value, depth: encoder.pairs(dict.items(value), depth),
    # Read past their own methods: Counter is a Python class, and a program may have patched it.
    Counter: lambda encoder, value, depth: encoder.pairs(dict.items(value), depth),
    defaultdict: lambda encoder, value, depth: encoder.pairs(dict.items(value), depth),
    OrderedDict: lambda encoder, value, depth: encoder.pairs(OrderedDict.items(value), depth),
    bytes: lambda encoder, value, depth: {"bytes": value.hex()},
    complex: lambda encoder, value, depth: {
        "complex": [encoder.encode(value.real, depth), encoder.encode(value.imag, depth)]
    },
}

_DECODERS: dict[str, Callable[[Any, int], Any]] = {
    "int": lambda body, depth: int(body, 16),
    "float": lambda body, depth: float(body),
    "tuple": lambda body, depth: tuple(_decode(item, depth) for item in body),
    "set": lambda body, depth: {_decode(item, depth) for item in body},
    "frozenset": lambda body, depth: frozenset(_decode(item, depth) for item in body),
    "dict": lambda body, depth: {_decode(key, depth): _decode(item, depth) for key, item in body},
    "bytes": lambda body, depth: bytes.fromhex(body),
    "complex": lambda body, depth: complex(_decode(body[0], depth), _decode(body[1], depth)),
}


def _decode(tagged: Json, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueCodecError(f"value is nested deeper than {MAX_DEPTH} levels")
    if isinstance(tagged, list):
        return [_decode(item, depth + 1) for item in tagged]
    if not isinstance(tagged, dict):
        return tagged
    if len(tagged) != 1:
        raise ValueCodecError("an encoded value has exactly one tag")
    tag, body = next(iter(tagged.items()))
    if tag not in _DECODERS:
        raise ValueCodecError(f"unknown value tag {reprlib.repr(tag)}")
    try:
        return _DECODERS[tag](body, depth + 1)
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        # The message of `error` may quote megabytes of a hostile value.
        raise ValueCodecError(f"malformed {tag!r} value ({type(error).__name__})") from error
