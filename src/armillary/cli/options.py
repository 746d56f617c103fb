"""Let a command take its options as one frozen dataclass instead of a long row of parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Options = TypeVar("Options")


def takes(kind: type[Options]) -> Callable[[Callable[[Options], int]], Callable[..., int]]:
    """Turn a function of one dataclass into a command with one option per field.

    Args:
        kind: frozen dataclass whose fields are annotated as Typer parameters are.
    """

    def decorate(function: Callable[[Options], int]) -> Callable[..., int]:
        def command(**values: Any) -> int:
            return function(kind(**values))

        command.__doc__ = function.__doc__
        command.__signature__ = inspect.signature(kind, eval_str=True)  # type: ignore[attr-defined]  # read by inspect
        return command

    return decorate
