"""Without compiled kernels the eager twins serve, and doctor says why."""

from __future__ import annotations

import pytest

from armillary.kernels import native, select
from armillary.kernels.eager import EagerKernels


def test_eager_kernels_serve_when_nothing_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "instruction_sets", lambda: ())
    assert isinstance(select.best_kernels(2), EagerKernels)


def test_status_says_how_to_get_the_native_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "instruction_sets", lambda: ())
    assert "install a C++ compiler" in native.status()
