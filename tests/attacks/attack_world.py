"""A look at processes and descriptors, and the outer world of the attacks, beside the tests."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from armillary.bench.attack_world import World, descendants, open_descriptors
from armillary.bench.attack_world import outer_world as make_outer_world

__all__ = ["HERE", "descendants", "open_descriptors", "outer_world"]

HERE = Path(__file__).parent


def outer_world() -> AbstractContextManager[World]:
    return make_outer_world(HERE)
