"""Armillary answers with a language model, verifies the answer, repairs it and shows why."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "solve": "armillary.runtime.stack",
    "verify": "armillary.runtime.stack",
    "load": "armillary.runtime.stack",
    "TaskSpec": "armillary.core.tasks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'armillary' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
