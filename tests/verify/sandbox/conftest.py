"""Tier C for the tests: skipped where its extra is not installed, compiled once for all runs of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from armillary.core.errors import SandboxError
from armillary.verify.sandbox.wasm_module import find_interpreter


@pytest.fixture(scope="session")
def interpreter() -> Path:
    """The file of tier C's interpreter."""
    try:
        return find_interpreter()
    except SandboxError:
        pytest.skip("tier C comes with the extra `wasm`")


@pytest.fixture(scope="session")
def wasm_home(interpreter: Path, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose compiled interpreter stays from one run of the tests to the next, where they may keep anything."""
    cache = getattr(pytestconfig, "cache", None)
    return Path(cache.mkdir("home-of-tier-c") if cache else tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def compiled_folder(wasm_home: Path) -> Path:
    """Where in that home it is kept."""
    return wasm_home / "wasm"


@pytest.fixture
def in_wasm_home(wasm_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings name that home."""
    monkeypatch.setenv("ARMILLARY_HOME", str(wasm_home))
