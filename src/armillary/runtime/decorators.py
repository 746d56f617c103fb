"""The decorators that a task in Python carries. They do nothing when the file runs: ``verify.spec_python`` reads them.

They exist so that such a file imports, runs and type-checks like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def _mark(*_values: object, **_named: object) -> Callable[[Function], Function]:
    """Take anything that the reader understands and give the function back as it was."""

    def unchanged(function: Function) -> Function:
        return function

    return unchanged


requires = _mark
ensures = _mark
laws = _mark
temporal = _mark
raises = _mark
examples = _mark
inputs = _mark
reference = _mark
budget = _mark
