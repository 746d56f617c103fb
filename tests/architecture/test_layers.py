"""Imports point down the layer table, nothing runs in a circle, and nothing is imported by relative path."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

Layers = dict[str, dict[str, Any]]


def rooms_of(item: Any) -> list[str]:
    """The rooms that an import reaches: ``from armillary import verify`` counts as ``verify``."""
    parts = item.target.split(".")
    return [parts[1]] if len(parts) > 1 else list(item.names)


def test_every_package_has_a_place_in_the_layer_table(modules: Any, layers: Layers) -> None:
    unknown = {module.room for module in modules if module.room} - set(layers)
    assert not unknown


def test_the_table_itself_only_points_to_lower_levels(layers: Layers) -> None:
    upward = [
        (room, target)
        for room, entry in layers.items()
        for target in entry["imports"]
        if layers[target]["level"] >= entry["level"]
    ]
    assert not upward


def test_every_import_is_allowed_by_the_table(modules: Any, layers: Layers) -> None:
    forbidden = []
    for module in modules:
        if not module.room:
            continue
        allowed = {"core", module.room, *layers[module.room]["imports"]}
        forbidden += [
            f"{module.at(item.line)}: {module.room} -> {room}"
            for item in module.imports()
            for room in rooms_of(item)
            if room not in allowed
        ]
    assert not forbidden


def test_no_module_imports_itself_by_a_detour(modules: Any) -> None:
    names = {module.name for module in modules}
    graph = {
        module.name: {
            target
            for item in module.imports()
            if not item.is_deferred
            for target in (item.target, *(f"{item.target}.{name}" for name in item.names))
            if target in names and target != module.name
        }
        for module in modules
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_imports_are_absolute(modules: Any) -> None:
    relative = [
        module.at(node.lineno)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert not relative


def test_contributing_prints_the_table_that_is_enforced(root: Path, layers: Layers) -> None:
    rows = re.findall(r"^\| (\d) \| `(\w+)` \| (.+?) \|", (root / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    printed = {name: (int(level), set(re.findall(r"`(\w+)`", imports))) for level, name, imports in rows}
    assert printed == {room: (entry["level"], set(entry["imports"])) for room, entry in layers.items()}
