"""The lock covers what the project asks for, with hashes, without torch and without a place to fetch from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

LOCKED_EXTRAS = ("engine", "dev")


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~\[; ]", name, maxsplit=1)[0]).lower()


@pytest.fixture(scope="module")
def lock(root: Path) -> str:
    return (root / "requirements" / "lock.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pinned(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+) \\$", lock, re.MULTILINE))


def test_everything_asked_for_is_pinned(root: Path, pinned: dict[str, str]) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = set(project["dependencies"])
    for extra in LOCKED_EXTRAS:
        wanted |= set(project["optional-dependencies"][extra])
    missing = {normalised(item) for item in wanted} - set(pinned) - {"torch"}
    assert not missing, "run `make lock`"


def test_torch_and_what_only_torch_brings_stay_out(pinned: dict[str, str]) -> None:
    brought = [name for name in pinned if re.match(r"torch|triton|nvidia|sympy|networkx|mpmath|cuda", name)]
    assert not brought


def test_every_pin_carries_a_hash(lock: str, pinned: dict[str, str]) -> None:
    blocks = [block for block in re.split(r"\n(?=[a-z])", lock) if "==" in block]
    assert len(blocks) == len(pinned)
    assert all("--hash=sha256:" in block for block in blocks)


def test_the_lock_names_no_place_to_fetch_from(lock: str) -> None:
    options = [line for line in lock.splitlines() if line.lstrip().startswith("-") and "--hash=" not in line]
    assert not options
    assert "://" not in lock


def test_the_base_has_at_most_four_dependencies(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(project["dependencies"]) <= 4
