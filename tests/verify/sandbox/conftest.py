"""Tier C for the tests: skipped where its extra is not installed, compiled once for all runs of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary.core.errors import SandboxError
from armillary.verify.sandbox.wasm import WasmLink
from armillary.verify.sandbox.wasm_module import find_interpreter


@pytest.fixture(scope="session")
def interpreter() -> Path:
    """The file of tier C's interpreter."""
    try:
        return find_interpreter()
    except SandboxError:
        pytest.skip("tier C comes with the extra `wasm`")


@pytest.fixture(scope="session")
def compiled_folder(interpreter: Path, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the compiled interpreter is kept from one run of the tests to the next, where they may keep anything."""
    cache = getattr(pytestconfig, "cache", None)
    folder = cache.mkdir("wasm") if cache else tmp_path_factory.mktemp("wasm")
    folder.chmod(0o700)
    return Path(folder)


@pytest.fixture(scope="module")
def wasm_link(compiled_folder: Path) -> Iterator[WasmLink]:
    """A running host of tier C."""
    link = WasmLink(folder=compiled_folder)
    yield link
    link.close()
