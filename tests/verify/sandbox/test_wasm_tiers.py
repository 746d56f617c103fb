"""Tier C is taken where nothing stronger is to be had, if it may be, or where it is asked for by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from attack_world import descendants
from other_machine import on_a_machine_without

from armillary.cli import doctor
from armillary.core.errors import SandboxError
from armillary.core.settings import load_settings
from armillary.verify.facade import verifier_for
from armillary.verify.sandbox import link, tiers
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.wasm import LOST_IN_TIER_C
from armillary.verify.symbolic.request import open_explorer

pytestmark = pytest.mark.usefixtures("in_wasm_home")


def test_a_stronger_tier_is_taken_where_it_is_to_be_had() -> None:
    with Sandbox("C") as sandbox:
        assert sandbox.tier == "A"


def test_where_the_kernel_offers_no_jail_tier_c_runs_if_it_may() -> None:
    found = on_a_machine_without("landlock_create_ruleset", "C")
    assert (found["probed"], found["stdout"], found["tier"]) == ("none", "ran\n", "C")


@pytest.mark.parametrize("way", ["has no children that report", "ends during a job"])
def test_a_zygote_that_is_of_no_use_is_ended_first(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = descendants()
    python, script, stand_in = sys.executable, Path(__file__).with_name("false_zygote.py"), tmp_path / "python"
    stand_in.write_text(
        f'#!/bin/sh\ncase "$*" in *wasm_host*) exec "{python}" "$@" ;; esac\nexec "{python}" "{script}" "{way}" "$@"\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setattr(link, "KILL_S", 0.3)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    with Sandbox("C") as sandbox:
        assert sandbox.tier == "C"
        assert len(descendants() - others) == 1


def test_where_it_may_not_the_error_names_the_way_to_it() -> None:
    found = on_a_machine_without("landlock_create_ruleset", "B")
    assert found["stdout"] is None
    assert "pip install 'armillary[wasm]' and ARMILLARY_MINIMUM_TIER=C" in found["error"]


def test_on_another_system_tier_c_runs_if_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with Sandbox("C") as sandbox:
        assert sandbox.run("print('ran')").stdout == "ran\n"


@pytest.mark.parametrize("tier", ["A", "B"])
def test_on_another_system_the_others_name_it(monkeypatch: pytest.MonkeyPatch, tier: str) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with Sandbox(tier) as sandbox, pytest.raises(SandboxError, match=r"needs Linux.*armillary.wasm.*TIER=C"):
        sandbox.run("")


def test_the_trial_of_tier_c_names_what_it_lacks() -> None:
    report = tiers.probe_tier_c()
    assert (report.tier, [layer.name for layer in report.layers], report.reason) == ("C", ["wasm", tiers.TRIAL], "")
    assert all(loss in report.layers[-1].detail for loss in LOST_IN_TIER_C)


def test_without_the_extra_there_is_no_tier_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    report = tiers.probe_tier_c()
    assert (report.tier, report.reason) == ("none", "wasm: tier C is not installed (pip install 'armillary[wasm]')")


def test_the_settings_choose_it_for_verdicts() -> None:
    with verifier_for(load_settings({"sandbox.minimum_tier": "C only"})) as verifier:
        assert verifier.sandbox_tier == "C"


def test_proofs_need_a_tier_that_has_room_for_packages() -> None:
    pytest.importorskip("crosshair", reason="CrossHair comes with the extra `symbolic`")
    with open_explorer("C only") as jail, pytest.raises(SandboxError, match="no room for installed packages"):
        jail.run("")


def test_the_doctor_shows_it_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARMILLARY_MINIMUM_TIER", "C only")
    assert doctor.command(as_json=True) == 0
    found = json.loads(capsys.readouterr().out)["sandbox"]
    assert (found["tier"], found["is_enough"]) == ("C", True)


def test_the_doctor_shows_it_below_what_else_was_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARMILLARY_MINIMUM_TIER", "B")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert doctor.command(as_json=True) == 1
    told = capsys.readouterr()
    found = json.loads(told.out)["sandbox"]
    assert (found["tier"], [layer["name"] for layer in found["layers"]]) == ("C", ["zygote", "wasm", "trial"])
    assert "the sandbox is tier C, the settings ask for B" in told.err
