"""Armillary answers with a language model, verifies the answer, repairs it and shows why."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "armillary.runtime.stack": ("solve", "load"),
    "armillary.runtime.decorators": (
        "requires", "ensures", "laws", "temporal", "raises", "examples", "inputs", "reference", "budget",
    ),
    "armillary.verify.constraints": (
        "VERIFY", "input_constraints", "output_constraints", "temporal_constraints",
    ),
    "armillary.core.tasks": ("TaskSpec",),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "verify":
        return import_module("armillary.verify")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'armillary' has no attribute {name!r}")


def __dir__() -> list[str]:
    return ["__version__", "verify", *(name for names in _HOMES.values() for name in names)]
