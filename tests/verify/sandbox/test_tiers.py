"""The tier that is claimed is the tier that holds; where a layer is missing, nothing runs."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest
from attack_programs import ATTACKS, MARK
from attack_world import outer_world
from other_machine import on_a_machine_without

from armillary.verify.sandbox import tiers
from armillary.verify.sandbox.jail import LAYERS, LOST_IN_TIER_B
from armillary.verify.sandbox.link import RawRun
from armillary.verify.sandbox.outcomes import Layer, Limits

SOURCE = str(Path(tiers.__file__).parents[3])


def test_every_layer_of_tier_a_works_here_and_the_whole_holds() -> None:
    report = tiers.probe()
    assert report.tier == "A"
    assert [layer.name for layer in report.layers] == [*LAYERS["A"], tiers.TRIAL]
    assert all(layer.works and layer.detail for layer in report.layers)
    assert report.reason == ""


def test_a_report_names_what_keeps_the_machine_from_tier_a() -> None:
    report = tiers.TierReport("B", (Layer("namespaces", False, "unshare: no"), Layer("seccomp", True, "")))
    assert report.reason == "namespaces: unshare: no"


class ScriptedLink:
    """Answers a trial with lines that were written beforehand, tier by tier."""

    def __init__(self, **lines: str) -> None:
        self.lines = lines

    def execute(self, tier: str, job: bytes, limits: Limits) -> RawRun:
        return RawRun(b"Traceback\nValueError: odd\n", self.lines[tier].encode(), "exit", 70, 1.0)


HELD = '["jail",["seccomp",true,"x"]]\n["load",""]\n["call",0,"returned",[],"",""]\n'
BROKEN = '["jail",["seccomp",true,"x"]]\n["load",""]\n["call",0,"returned",["fork"],"",""]\n'
SILENT = '["jail",["seccomp",true,"x"]]\n["load",""]\n'


@pytest.mark.parametrize(
    ("lines", "tier", "reason"),
    [
        ({"A": HELD}, "A", ""),
        ({"A": BROKEN, "B": HELD}, "B", "trial: tier A: a program could fork"),
        (
            {"A": BROKEN, "B": BROKEN},
            "none",
            "trial: tier A: a program could fork; trial: tier B: a program could fork",
        ),
        ({"A": "", "B": HELD}, "B", "trial: the child ended with 70 before it was locked in: ValueError: odd"),
        ({"A": SILENT, "B": HELD}, "B", "trial: tier A: the trial's answer is missing"),
    ],
)
def test_a_tier_counts_only_when_its_trial_went_as_it_must(lines: dict[str, str], tier: str, reason: str) -> None:
    report = tiers.probe_link(ScriptedLink(**lines))
    assert (report.tier, report.reason) == (tier, reason)


def test_without_namespaces_tier_a_is_refused_and_nothing_runs() -> None:
    found = on_a_machine_without("unshare", "A")
    assert found["probed"] == "B"
    assert found["stdout"] is None
    assert "needs tier A, this machine allows B: namespaces: unshare" in found["error"]


def test_without_namespaces_tier_b_runs_when_it_is_enough_and_says_so() -> None:
    found = on_a_machine_without("unshare", "B")
    assert (found["stdout"], found["tier"]) == ("ran\n", "B")
    assert found["layers"] == dict.fromkeys(("namespaces",), False) | dict.fromkeys((*LAYERS["B"], tiers.TRIAL), True)


def test_what_tier_b_lacks_is_told_with_the_layers() -> None:
    detail = on_a_machine_without("unshare", "B")["details"][tiers.TRIAL]
    assert detail.startswith("tier B holds; no folder to write in")
    assert all(loss in detail for loss in LOST_IN_TIER_B)


def test_in_tier_b_a_program_learns_of_processes_but_not_about_them() -> None:
    program = f"""
import os
print(os.path.exists("/proc/{os.getpid()}"))
attempts = [lambda: os.listdir("/proc")]
attempts += [lambda path=path: open(path) for path in ("/proc/{os.getpid()}/cmdline", "/proc/self/environ")]
for attempt in attempts:
    try: attempt()
    except PermissionError: print("refused")
"""
    assert on_a_machine_without("unshare", "B", program)["stdout"].split() == ["True", *["refused"] * 3]


@pytest.mark.parametrize("call", ["mount", "mount_setattr"])
def test_without_private_mounts_tier_a_is_refused(call: str) -> None:
    found = on_a_machine_without(call, "A")
    assert (found["probed"], found["stdout"]) == ("B", None)
    assert "mounts: " + call in found["error"]


@pytest.mark.parametrize(
    "call", ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "capset", "prctl"]
)
def test_without_a_layer_that_both_tiers_need_nothing_runs_at_all(call: str) -> None:
    found = on_a_machine_without(call, "B")
    assert (found["probed"], found["stdout"]) == ("none", None)
    assert call in found["error"]


def test_without_limits_nothing_runs_at_all() -> None:
    found = on_a_machine_without("prlimit64", "B")
    assert (found["probed"], found["stdout"]) == ("none", None)
    assert "Operation not permitted" in found["error"]


def test_a_machine_where_the_zygote_cannot_start_has_no_tier() -> None:
    found = on_a_machine_without("execve", "B")
    assert found["probed"] == "none"
    assert found["layers"] == {"zygote": False}
    assert "zygote" in found["error"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="has no vfork by which the zygote itself could start")
def test_a_machine_where_the_zygote_cannot_fork_has_no_tier_and_says_why() -> None:
    found = on_a_machine_without("clone,clone3", "B")
    assert (found["probed"], found["layers"], found["stdout"]) == ("none", {"zygote": False}, None)
    assert "cannot start a child: fork: Operation not permitted" in found["error"]


def test_tier_b_lets_no_attack_through() -> None:
    endless = ("sleeps_past_the_wall_clock", "ignores_the_signal_of_the_cpu_limit", "floods_the_output")
    with outer_world() as world:
        attacks = [(item.name, world.aim(item.program)) for item in ATTACKS if item.name not in endless]
        program = f"""
import contextlib, io
for name, text in {attacks!r}:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try: exec(text, {{}})
        except BaseException: pass
    if {MARK!r} in printed.getvalue(): print(name)
print("done")
"""
        found = on_a_machine_without("unshare", "B", program, pass_fds=(world.open_canary,))
    assert found["stdout"] == "done\n"


def test_tier_b_has_no_writable_folder() -> None:
    program = "try: open('file', 'w')\nexcept OSError as error: print(type(error).__name__)"
    assert on_a_machine_without("unshare", "B", program)["stdout"] == "PermissionError\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="is an ordinary user already")
def test_an_ordinary_user_gets_tier_a_too() -> None:
    python = "/usr/bin/python3"
    check = (
        f"import sys; assert sys.version_info >= (3, 11); sys.path.insert(0, {SOURCE!r}); "
        "from armillary.verify.sandbox import tiers; report = tiers.probe(); print(report.tier, report.reason)"
    )
    try:
        done = subprocess.run(
            [python, "-B", "-c", check],
            user=65534,
            group=65534,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        pytest.skip(f"no interpreter that an ordinary user can run: {error}")
    if "AssertionError" in done.stderr or "ModuleNotFoundError" in done.stderr or "PermissionError" in done.stderr:
        pytest.skip("no interpreter and sources that an ordinary user can read")
    assert done.stdout == "A \n", done.stderr
