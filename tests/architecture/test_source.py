"""What every source file owes its reader: docstrings, narrow handlers, reasons, no machine's own places."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BROAD = {"Exception", "BaseException"}
# What a program raises in the jail is data, whatever it is.
RUNS_STRANGERS = {"armillary.verify.fuel", "armillary.verify.sandbox.child", "armillary.verify.sandbox.zygote"}
# Spelled in halves, so that this file does not name what it forbids.
FORBIDDEN = tuple(
    first + second
    for first, second in (
        ("pypi.", "org"),
        ("pythonhosted.", "org"),
        ("download.pytorch.", "org"),
        ("registry.npmjs.", "org"),
        ("deb.debian.", "org"),
        ("index-", "url ht"),
        ("--find-", "links"),
        ("/opt/", "pypi"),
        ("/opt/", "wheels"),
    )
)
MAX_READ_BYTES = 2_000_000


def public_definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions and classes, and the public methods of public classes."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if child.name.startswith("_"):
            continue
        yield child
        if isinstance(child, ast.ClassDef):
            yield from public_definitions(child)


def is_overload(node: ast.AST) -> bool:
    return any("overload" in ast.unparse(item) for item in getattr(node, "decorator_list", []))


def test_every_module_says_what_it_is_for(modules: Any) -> None:
    silent = [module.at(1) for module in modules if module.text.strip() and ast.get_docstring(module.tree) is None]
    assert not silent


def test_every_public_name_has_a_docstring(modules: Any) -> None:
    silent = [
        f"{module.at(node.lineno)} {node.name}"
        for module in modules
        for node in public_definitions(module.tree)
        if ast.get_docstring(node) is None and not is_overload(node)
    ]
    assert not silent


def is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(item, ast.Name) and item.id in BROAD for item in ast.walk(handler.type))


def test_a_handler_of_everything_raises_again_unless_it_guards_a_strangers_program(modules: Any) -> None:
    swallowing = [
        module.at(node.lineno)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler)
        and is_broad(node)
        and not isinstance(node.body[-1], ast.Raise)
        and module.name not in RUNS_STRANGERS
    ]
    assert not swallowing


def test_a_handler_of_everything_says_why_on_its_line(modules: Any) -> None:
    silent = [
        module.at(node.lineno)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler)
        and is_broad(node)
        and ast.unparse(node.body[-1]) != "raise"
        and "#" not in module.text.splitlines()[node.lineno - 1]
    ]
    assert not silent


def test_every_silenced_warning_names_its_rule(modules: Any) -> None:
    bare = [
        module.at(number)
        for module in modules
        for number, line in enumerate(module.text.splitlines(), start=1)
        if re.search(r"#\s*noqa(?!:)|#\s*type:\s*ignore(?!\[)", line)
    ]
    assert not bare


def test_nothing_is_left_for_later(modules: Any) -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    left = [
        module.at(number)
        for module in modules
        for number, line in enumerate(module.text.splitlines(), start=1)
        if marks.search(line)
    ]
    assert not left


def test_no_tracked_file_names_a_package_host_or_a_machine_folder(root: Path) -> None:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=root, capture_output=True, check=True
    )
    named = []
    for name in listed.stdout.decode().split("\0"):
        path = root / name
        if not name or not path.is_file() or path.stat().st_size > MAX_READ_BYTES:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        named += [f"{name}: {word}" for word in FORBIDDEN if word in text]
    assert not named
