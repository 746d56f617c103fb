"""Every way out is shut, no honest program notices, and most ways do lead out where there is no jail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from textwrap import dedent

import pytest
from attack_programs import ATTACKS, BENIGN, MARK, Attack
from attack_world import World, descendants, outer_world

from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Limits

SMALL = Limits(wall_s=3.0, cpu_s=2, call_cpu_s=1.0)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with outer_world() as made:
        yield made


@pytest.fixture(scope="module")
def sandbox(world: World) -> Iterator[Sandbox]:
    with Sandbox("A", SMALL) as made:
        yield made


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_attack_escapes(sandbox: Sandbox, world: World, attack: Attack) -> None:
    sandbox.run("")
    before = descendants()
    result = sandbox.run(world.aim(attack.program))
    assert result.tier == "A"
    assert MARK not in result.stdout
    assert descendants() == before
    assert [path.name for path in world.canary.parent.iterdir()] == ["canary"]


@pytest.mark.parametrize("attack", [item for item in ATTACKS if item.shows_outside], ids=lambda attack: attack.name)
def test_the_attack_works_where_there_is_no_jail(world: World, attack: Attack) -> None:
    command = [sys.executable, "-c", world.aim(attack.program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, pass_fds=(world.open_canary,))
    (world.canary.parent / "written").unlink(missing_ok=True)
    assert MARK in done.stdout, done.stderr


@pytest.mark.parametrize("name", BENIGN)
def test_no_honest_program_is_broken(sandbox: Sandbox, name: str) -> None:
    result = sandbox.run(dedent(BENIGN[name]))
    assert result.load_error == ""
    assert result.stdout.startswith("OK")
    assert result.stopped_by == "exit"
