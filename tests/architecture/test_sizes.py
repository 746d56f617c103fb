"""Files, functions and whole rooms stay small enough to be read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 80
MAX_PARAMETERS = 8
MAX_INIT_LINES = 30
MAX_EXAMPLE_LINES = 60
MAX_NATIVE_LINES = 1_500
MAX_HEART_LINES = 7_000
HEART = ("engine", "attention", "kernels")


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def body_lines(function: Function) -> int:
    """Lines from ``def`` to the end, the docstring not counted."""
    first = function.body[0]
    docstring = 0
    if ast.get_docstring(function, clean=False) is not None:
        docstring = (first.end_lineno or first.lineno) - first.lineno + 1
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def num_parameters(function: Function) -> int:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([item for item in named if item.arg not in ("self", "cls")])


def num_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def native_files(root: Path) -> list[Path]:
    folder = root / "src" / "armillary" / "kernels" / "native"
    return sorted([*folder.glob("*.cpp"), *folder.glob("*.hpp")])


def test_no_file_is_longer_than_500_lines(modules: Any, root: Path) -> None:
    paths = [module.path for module in modules] + sorted(root.glob("tests/**/*.py")) + sorted(root.glob("tools/*.py"))
    long = [f"{path.relative_to(root)}: {num_lines(path)}" for path in paths if num_lines(path) > MAX_FILE_LINES]
    assert not long


def test_no_function_is_longer_than_80_lines(modules: Any) -> None:
    long = [
        f"{module.at(function.lineno)} {function.name}: {body_lines(function)}"
        for module in modules
        for function in functions(module.tree)
        if body_lines(function) > MAX_FUNCTION_LINES
    ]
    assert not long


def test_no_function_takes_more_than_8_parameters(modules: Any) -> None:
    wide = [
        f"{module.at(function.lineno)} {function.name}: {num_parameters(function)}"
        for module in modules
        for function in functions(module.tree)
        if num_parameters(function) > MAX_PARAMETERS
    ]
    assert not wide


def test_init_files_hold_at_most_30_lines(modules: Any) -> None:
    long = [module.at(1) for module in modules if module.is_init and num_lines(module.path) > MAX_INIT_LINES]
    assert not long


def test_examples_hold_at_most_60_lines(root: Path) -> None:
    long = [path.name for path in root.glob("examples/*") if path.is_file() and num_lines(path) > MAX_EXAMPLE_LINES]
    assert not long


def test_native_kernels_hold_at_most_1500_lines(root: Path) -> None:
    assert sum(num_lines(path) for path in native_files(root)) <= MAX_NATIVE_LINES


def test_engine_attention_and_kernels_hold_at_most_7000_lines_together(modules: Any, root: Path) -> None:
    python = sum(num_lines(module.path) for module in modules if module.room in HEART)
    assert python + sum(num_lines(path) for path in native_files(root)) <= MAX_HEART_LINES
