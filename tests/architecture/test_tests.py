"""Tests look at behaviour: names are sentences, nothing private is read, nothing is skipped without a word."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

MIN_NAME_WORDS = 2


@pytest.fixture(scope="module")
def trees(root: Path) -> dict[str, ast.Module]:
    paths = sorted((root / "tests").rglob("*.py"))
    return {str(path.relative_to(root)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def attributes(tree: ast.AST) -> Iterator[ast.Attribute]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def test_no_test_reads_a_private_attribute(trees: dict[str, ast.Module]) -> None:
    private = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, tree in trees.items()
        for node in attributes(tree)
        if node.attr.startswith("_")
        and not node.attr.startswith("__")
        and ast.unparse(node.value) not in ("self", "cls")
    ]
    assert not private


def test_no_test_imports_a_private_name(trees: dict[str, ast.Module]) -> None:
    private = [
        f"{name}:{node.lineno} {alias.name}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert not private


def test_names_of_tests_are_sentences(trees: dict[str, ast.Module]) -> None:
    short = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and len(node.name.removeprefix("test_").split("_")) < MIN_NAME_WORDS
    ]
    assert not short


def test_a_skipped_test_says_why(trees: dict[str, ast.Module]) -> None:
    silent = [
        f"{name}:{node.lineno}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("pytest.mark.skip", "pytest.skip", "pytest.mark.xfail")
        and not node.args
        and not any(keyword.arg == "reason" for keyword in node.keywords)
    ]
    assert not silent
