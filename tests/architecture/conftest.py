"""The source tree, parsed once, and the layer table. Judges nothing."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "armillary"


@dataclass(frozen=True)
class Import:
    """One import of our own code.

    Attributes:
        target: dotted module as written, such as ``armillary.core.tasks``.
        names: what is taken from it; empty for a plain ``import``.
        is_deferred: inside a function or under ``TYPE_CHECKING``, so not run when the module loads.
    """

    target: str
    names: tuple[str, ...]
    line: int
    is_deferred: bool


@dataclass(frozen=True)
class Module:
    """One source file.

    Attributes:
        name: dotted name, such as ``armillary.verify.ladder``.
        room: first name below ``armillary``, or empty for the face itself.
    """

    path: Path
    name: str
    room: str
    text: str
    tree: ast.Module

    @property
    def is_init(self) -> bool:
        return self.path.name == "__init__.py"

    def at(self, line: int) -> str:
        return f"{self.path.relative_to(ROOT)}:{line}"

    def imports(self) -> Iterator[Import]:
        yield from _imports(self.tree, is_deferred=False)


def _imports(node: ast.AST, *, is_deferred: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                if alias.name.split(".")[0] == "armillary":
                    yield Import(alias.name, (), child.lineno, is_deferred)
        elif isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "armillary":
            yield Import(child.module or "", tuple(alias.name for alias in child.names), child.lineno, is_deferred)
        deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or _is_type_checking(child)
        yield from _imports(child, is_deferred=is_deferred or deferred)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def read_modules(package: Path) -> tuple[Module, ...]:
    """Parse every file below a package folder."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        text = path.read_text(encoding="utf-8")
        modules.append(Module(path, ".".join(parts), parts[1] if len(parts) > 1 else "", text, ast.parse(text)))
    return tuple(modules)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def modules() -> tuple[Module, ...]:
    return read_modules(PACKAGE)


@pytest.fixture(scope="session")
def layers() -> dict[str, dict[str, Any]]:
    return tomllib.loads((Path(__file__).parent / "layers.toml").read_text(encoding="utf-8"))
