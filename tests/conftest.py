"""Fixtures that several packages' tests share: the small real model, pulled once into the ordinary models folder."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from armillary.core.settings import load_settings

# A background job of a shell inherits an ignored SIGINT, and so would every process that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The pulled SmolLM2-135M; fetched on first use, some 98 MB."""
    from armillary.models.hub import pull

    settings = load_settings()
    sources = settings["models.sources"]
    return pull("smollm2-135m", models_folder=settings.home / "models", sources=sources).path


@pytest.fixture(scope="session")
def qwen_path() -> Path:
    """The pulled Qwen2.5-Coder-0.5B where it is on the machine; too large to be fetched for a test."""
    path = load_settings().home / "models" / "qwen2.5-coder-0.5b.gguf"
    if not path.is_file():
        pytest.skip("qwen2.5-coder-0.5b is not pulled on this machine")
    return path
