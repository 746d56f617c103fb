"""Hold the fields of a JSON form to the types that were written. Converts nothing."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def exactly(value: Any, kind: type[T]) -> T:
    """``value``, if its type is exactly ``kind``; a boolean is no integer.

    Raises:
        TypeError: it is of another type.
    """
    if type(value) is not kind:
        raise TypeError(f"{type(value).__name__} where {kind.__name__} belongs")
    return value


def number(value: Any) -> float:
    """``value``, if it is an integer or a float; JSON has one number type for both.

    Raises:
        TypeError: it is neither.
    """
    return value if type(value) is int else exactly(value, float)


def one_of(value: Any, choices: tuple[str, ...]) -> Any:
    """``value``, if it is one of the choices.

    Raises:
        ValueError: it is none of them.
    """
    if value not in choices:
        raise ValueError(f"none of {', '.join(choices)}")
    return value
