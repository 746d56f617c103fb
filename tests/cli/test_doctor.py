"""The report on this machine."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from armillary.cli import doctor
from armillary.verify.sandbox.outcomes import Layer
from armillary.verify.sandbox.tiers import TierReport

Run = Callable[..., Any]
SECTIONS = ("machine", "sandbox: tier ", "engine", "models", "settings")


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> None:
    report = TierReport("B", (Layer("namespaces", False, "Operation not permitted"), Layer("seccomp", True, "")))
    monkeypatch.setattr(doctor, "probe", lambda: report)


def test_every_part_of_the_real_machine_has_its_section(armillary: Run) -> None:
    ran = armillary("doctor")
    titles = [line for line in ran.out.splitlines() if not line.startswith(" ")]
    assert len(titles) == len(SECTIONS)
    assert all(title.startswith(section) for title, section in zip(titles, SECTIONS, strict=True))
    assert "seccomp" in ran.out
    assert "processor" in ran.out


def test_every_setting_is_shown_with_its_place(armillary: Run, tmp_path: Path) -> None:
    (tmp_path / "armillary.toml").write_text("[engine]\nthreads = 1\n")
    settings = armillary("doctor", "--json").json["settings"]
    assert settings["engine.threads"] == {"value": "1", "source": str(tmp_path / "armillary.toml")}
    assert settings["home"]["source"] == "environment"
    assert settings["models.default"]["source"] == "default"


def test_a_key_is_never_shown(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_REMOTE_KEY", "hush-hush")
    ran = armillary("doctor")
    assert "(set, not shown)" in ran.out
    assert "hush-hush" not in ran.out


@pytest.mark.usefixtures("weak")
def test_a_sandbox_that_is_too_weak_fails_and_names_the_layer(armillary: Run) -> None:
    ran = armillary("doctor")
    assert ran.code == 1
    assert "namespaces  FAILS  Operation not permitted" in ran.out
    assert ran.err == "error: the sandbox is tier B, the settings ask for A: code will not be run\n"


@pytest.mark.usefixtures("weak")
def test_a_weaker_sandbox_is_fine_where_the_settings_allow_it(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_MINIMUM_TIER", "B")
    ran = armillary("doctor", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["sandbox"]["is_enough"] is True


def test_a_machine_without_torch_is_told_what_that_means(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", missing)
    assert "not installed: the engine cannot run here" in armillary("doctor").out


def test_a_quota_of_the_control_group_is_shown(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    machine = replace(doctor.probe_machine(), cpu_quota_cores=1.5, cpu_flags=frozenset())
    monkeypatch.setattr(doctor, "probe_machine", lambda: machine)
    ran = armillary("doctor")
    assert "quota 1.5" in ran.out
    assert "none that we use" in ran.out


def test_a_wrong_setting_is_one_line_with_its_place(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_THREADS", "many")
    ran = armillary("doctor")
    assert ran.code == 2
    assert ran.err.startswith("error: environment: engine.threads = 'many': ")
    assert ran.err.count("\n") == 1
