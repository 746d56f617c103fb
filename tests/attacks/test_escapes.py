"""Every way out is shut in both tiers and open where the layers that shut it are off; no honest program notices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attack_world import HERE

from armillary.bench.attack_form import Attack
from armillary.bench.attack_table import ControlRow, reason_against, run_attacks, run_controls, run_honest
from armillary.bench.attacks import ATTACKS
from armillary.bench.honest import HONEST

Names = dict[str, str]


@pytest.fixture(scope="module")
def beside() -> Iterator[Path]:
    """An empty folder that is empty again after every attack."""
    with TemporaryDirectory(dir=HERE) as folder:
        yield Path(folder)
        assert list(Path(folder).iterdir()) == []


@pytest.fixture(scope="module", params=["A", "B"])
def escaped(request: pytest.FixtureRequest, beside: Path) -> Names:
    """What each attack that got somewhere got, in one tier."""
    found: Names = {}
    for row in run_attacks(request.param, beside=beside):
        if not row.is_stopped:
            found[row.name] = "it escaped"
        elif row.num_left:
            found[row.name] = f"it left {row.num_left} processes behind"
    return found


@pytest.fixture(scope="module", params=["A", "B"])
def harmed(request: pytest.FixtureRequest) -> Names:
    return {row.name: row.detail for row in run_honest(request.param) if not row.is_unharmed}


@pytest.fixture(scope="module")
def controls(beside: Path) -> dict[str, ControlRow]:
    return {row.name: row for row in run_controls(beside=beside)}


@pytest.mark.parametrize("name", [attack.name for attack in ATTACKS])
def test_no_attack_escapes(escaped: Names, name: str) -> None:
    assert name not in escaped, escaped[name]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_succeeds_without_the_layers_that_stop_it(controls: dict[str, ControlRow], attack: Attack) -> None:
    if reason := reason_against(attack):
        pytest.skip(reason)
    assert controls[attack.name].has_succeeded, controls[attack.name].reason


@pytest.mark.parametrize("name", [item.name for item in HONEST])
def test_no_honest_program_is_harmed(harmed: Names, name: str) -> None:
    assert name not in harmed, harmed[name]
