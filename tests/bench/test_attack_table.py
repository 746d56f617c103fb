"""The corpora are large and well formed, the page shows them as they are, and a row tells failure from success."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path

import attack_tables
import pytest

from armillary.bench import attack_table, weak_zygote
from armillary.bench.attack_form import EVERYTHING, JAIL_LAYERS, KEEPER_LAYERS, MARK, PARENT_LAYERS, Attack
from armillary.bench.attack_world import World, outer_world
from armillary.bench.attacks import ATTACKS
from armillary.bench.cheat_form import Cheat
from armillary.bench.cheats import CHEATS
from armillary.bench.honest import HONEST, Honest
from armillary.bench.weak_jail import WeakJail, run_bare
from armillary.core.errors import SandboxError
from armillary.verify.sandbox.outcomes import DEFAULT_LIMITS, Call, JailResult, Limits

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "sandbox.md"
HARMLESS = Attack("does_nothing", "pass", ("seccomp",))
SAYS_SO = Attack("says_so", f'print("{MARK}")', ("seccomp",))
FORKS = Attack("forks", 'import os\nif os.fork():\n    print("ESCAPED")', ("seccomp",))
UNTRIED = Attack("is_not_tried", "pass", ("seccomp",), no_control="it would hurt")
SHOWS_ROWS = attack_table.CheatRow("frame peek", True, ("law",), ("law", "ensures"), ("REFUTED",) * 4)


@pytest.mark.parametrize(("corpus", "at_least"), [(ATTACKS, 40), (HONEST, 20), (CHEATS, 25)])
def test_a_corpus_is_large_and_every_name_is_used_once(
    corpus: Sequence[Attack | Honest | Cheat], at_least: int
) -> None:
    names = [item.name for item in corpus]
    assert len(names) == len(set(names)) >= at_least


@pytest.mark.parametrize("item", [*ATTACKS, *HONEST, *CHEATS], ids=lambda item: item.name)
def test_every_program_is_python(item: Attack | Honest | Cheat) -> None:
    # Names of targets stand for numbers and texts.
    ast.parse(item.program.replace("$", "target_"))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_attack_names_layers_that_there_are_and_shows_when_it_succeeds(attack: Attack) -> None:
    assert attack.layers
    assert set(attack.layers) <= {*JAIL_LAYERS, *KEEPER_LAYERS, *PARENT_LAYERS, EVERYTHING}
    assert (MARK in attack.program) == (attack.seen == "printed") or "tiny" in attack.program


def test_the_page_shows_the_programs_that_there_are_and_no_failure() -> None:
    assert attack_tables.find_problems(PAGE.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("shown", "instead"),
    [
        ("| kills another process | namespaces", "| kills a process | namespaces"),
        ("| descriptors | stopped | stopped |", "| descriptors | stopped | **ESCAPED** |"),
        ("| frame peek |", "| frame poke |"),
        ("deceives none", "**deceives law**"),
        ("34 programs, 0 broken", "33 programs, 0 broken"),
    ],
)
def test_a_page_that_shows_anything_else_is_found(
    shown: str, instead: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert shown in page
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "sandbox.md").write_text(page.replace(shown, instead, 1), encoding="utf-8")
    assert attack_tables.main(["--check"], tmp_path) == 1
    assert "docs/sandbox.md" in capsys.readouterr().err


def test_failures_are_set_in_bold() -> None:
    results = attack_tables.Results(
        attacks=[attack_table.AttackRow(item.name, tier, item.layers, False, 0) for item in ATTACKS for tier in "AB"],
        controls=[attack_table.ControlRow("forks", ("seccomp",), False, "it said no")],
        singles=[attack_table.ControlRow("forks", ("seccomp",), has_succeeded) for has_succeeded in (True, False)],
        honest=[attack_table.HonestRow("computes", "A", False)],
        cheats=[SHOWS_ROWS],
    )
    results.attacks.append(attack_table.AttackRow("forks", "A", ("seccomp",), False, 0))
    results.attacks.append(attack_table.AttackRow("forks", "B", ("seccomp",), True, 3))
    attacks = attack_tables.render_attacks(results)
    assert "| forks | seccomp | **ESCAPED** | **ESCAPED** | **fails** it said no |" in attacks
    assert "1 of 2 such tries were stopped, all but **forks without seccomp**." in attacks
    assert "| computes | **BROKEN** |" in attack_tables.render_honest(results)
    assert "**deceives law, ensures**" in attack_tables.render_cheats(results)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with outer_world(tmp_path) as made:
        yield made


def test_an_attack_that_succeeds_is_told_from_one_that_does_not(tmp_path: Path) -> None:
    rows = attack_table.run_attacks("A", (HARMLESS, SAYS_SO), beside=tmp_path)
    assert [(row.name, row.is_stopped, row.num_left) for row in rows] == [
        ("does_nothing", True, 0),
        ("says_so", False, 0),
    ]


class LeakyJail:
    """Leaves a process of ours behind, which ends when it is told to."""

    tier = "A"

    def __init__(self) -> None:
        self.left: list[subprocess.Popen[bytes]] = []

    def run(
        self, source: str, calls: Sequence[Call] = (), *, limits: Limits | None = None, seed: int = 0
    ) -> JailResult:
        self.left.append(subprocess.Popen(["sleep", "60"]))
        return JailResult((), "", "", "exit", 0, 1.0, "A")


def test_a_process_that_is_left_behind_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jail = LeakyJail()
    monkeypatch.setattr(attack_table, "jail_of_tier", lambda tier, limits: nullcontext(jail))
    try:
        (row,) = attack_table.run_attacks("A", (HARMLESS,), beside=tmp_path)
    finally:
        for process in jail.left:
            process.kill()
            process.wait()
    assert (row.is_stopped, row.num_left) == (True, 1)


def test_a_control_shows_what_the_missing_layer_lets_through(tmp_path: Path) -> None:
    rows = attack_table.run_controls((HARMLESS, FORKS, UNTRIED), beside=tmp_path)
    assert [(row.name, row.has_succeeded, row.reason) for row in rows] == [
        ("does_nothing", False, ""),
        ("forks", True, ""),
        ("is_not_tried", None, "it would hurt"),
    ]
    assert list(tmp_path.iterdir()) == []


def test_one_of_several_layers_does_where_it_is_the_right_one(tmp_path: Path) -> None:
    attack = Attack("forks", FORKS.text, ("seccomp", "landlock"))
    rows = attack_table.run_single_layers((attack, HARMLESS), beside=tmp_path)
    assert [(row.layers, row.has_succeeded) for row in rows] == [(("landlock",), False), (("seccomp",), True)]


def test_a_group_of_which_nothing_can_be_tried_builds_no_jail(tmp_path: Path) -> None:
    (row,) = attack_table.run_controls((UNTRIED,), beside=tmp_path)
    assert row.has_succeeded is None


def test_what_an_ordinary_user_cannot_show_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_root = Attack("needs_root", "pass", ("namespaces", "privileges"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "ordinary user" in attack_table.reason_against(needs_root)
    assert attack_table.reason_against(HARMLESS) == ""


def test_a_weak_jail_lacks_only_what_was_left_out(world: World, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    forking = world.aim(FORKS.program)
    reading = f'print(open("{world.canary}").read())'
    with WeakJail(("landlock",), tmp_path / "own", world.canary) as jail:
        assert "ESCAPED" not in jail.run(forking)
        assert "CANARY" in jail.run(reading)
    with WeakJail(("seccomp",), tmp_path / "own", world.canary) as jail:
        assert "ESCAPED" in jail.run(forking)
        assert "CANARY" not in jail.run(reading)


def test_a_weak_jail_that_cannot_be_built_says_so(world: World, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    with WeakJail(("seccomp",), own, world.canary) as jail:
        own.rmdir()
        with pytest.raises(SandboxError, match="could not be built"):
            jail.run("")


def test_a_layer_is_left_out_in_words_and_an_unknown_step_is_an_error() -> None:
    assert weak_zygote.left_out(1, two=2) == "left out"
    with pytest.raises(AttributeError, match="no_such_step"):
        weak_zygote.replace("limits.no_such_step", weak_zygote.left_out)


def test_a_layer_that_is_not_known_cannot_be_left_out(world: World, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="KeyError"):
        WeakJail(("a moat",), tmp_path, world.canary)


def test_a_bare_run_is_not_held_up_by_what_it_writes(tmp_path: Path) -> None:
    program = 'import os\nfor _ in range(64): os.write(3, b"x" * (1 << 16))\nprint("done")'
    assert run_bare(program, tmp_path) == "done\n"


def test_a_sandbox_of_one_tier_answers_calls_as_the_real_one_does() -> None:
    with closing(attack_table.OneTierSandbox("B", DEFAULT_LIMITS)) as sandbox:
        result = sandbox.run("def f(x): return x", [Call("f", (3,))])
    assert (result.tier, result.outcomes[0].value, result.stopped_by) == ("B", 3, "exit")


def test_an_honest_program_that_returns_something_else_counts_as_harmed() -> None:
    (row,) = attack_table.run_honest("A", [Honest("errs", "def f(): return 1", 2)])
    assert not row.is_unharmed
    assert "returned" in row.detail


def test_programs_that_need_a_folder_are_left_out_of_tier_b() -> None:
    assert attack_table.run_honest("B", [Honest("writes", "def f(): return 1", 1, needs_folder=True)]) == []


def test_a_cheat_that_does_the_work_after_all_is_accepted_by_everyone() -> None:
    (row,) = attack_table.run_cheats([Cheat("works", "Do the work.", attack_table.HONEST_ANSWER)])
    graders = tuple(attack_table.GRADERS)
    assert (row.beats_in_process, row.accepted_by, row.past_policy) == (True, graders, graders)
