"""Without compiled kernels the eager twins serve, and doctor says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary.kernels import native, select
from armillary.kernels.eager import EagerKernels


@pytest.fixture
def no_compiled_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An install whose compiler left nothing beside the module."""
    with monkeypatch.context() as patch:
        patch.setattr(native, "__file__", str(tmp_path / "native.py"))
        native.library.cache_clear()
        yield
    native.library.cache_clear()


@pytest.mark.usefixtures("no_compiled_kernels")
def test_an_install_without_compiled_kernels_has_no_library_and_no_instruction_set() -> None:
    assert native.library() is None
    assert native.instruction_sets() == ()
    assert isinstance(select.best_kernels(1), EagerKernels)


def test_eager_kernels_serve_when_nothing_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "instruction_sets", lambda: ())
    assert isinstance(select.best_kernels(2), EagerKernels)


def test_status_says_how_to_get_the_native_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "instruction_sets", lambda: ())
    assert "install a C++ compiler" in native.status()
