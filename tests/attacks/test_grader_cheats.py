"""Programs that go for their grader instead of the task: none may be accepted, whatever the policy lets through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from armillary.bench.attack_table import GRADERS, HONEST_ANSWER, CheatRow, passes_in_process, run_cheats
from armillary.bench.cheat_form import Cheat
from armillary.bench.cheats import CHEATS
from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import Status
from armillary.verify.policy import check_policy
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Limits
from armillary.verify.verifier import CodeVerifier

HONEST = Cheat("none", "Do the work.", HONEST_ANSWER)
STOPPED_BY_POLICY = (
    "frame peek",
    "frames by a signal",
    "inspect the stack",
    "memory search",
    "who holds the number",
    "changes the expected values",
    "patches the judge's functions",
)


@pytest.fixture(scope="module")
def jail() -> Iterator[Sandbox]:
    with Sandbox("B", Limits(call_cpu_s=0.5, cpu_s=2)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def rows() -> dict[str, CheatRow]:
    return {row.name: row for row in run_cheats()}


@pytest.mark.parametrize("name", [cheat.name for cheat in CHEATS])
def test_no_cheat_is_accepted(rows: dict[str, CheatRow], name: str) -> None:
    assert rows[name].accepted_by == ()


@pytest.mark.parametrize("name", [cheat.name for cheat in CHEATS])
def test_past_the_policy_a_cheat_keeps_no_promise(rows: dict[str, CheatRow], name: str) -> None:
    assert rows[name].past_policy == ()


def test_most_cheats_beat_a_grader_in_their_own_process(rows: dict[str, CheatRow]) -> None:
    assert sum(row.beats_in_process for row in rows.values()) >= 25


def test_the_grader_in_the_same_process_tells_right_from_wrong(jail: Sandbox) -> None:
    assert passes_in_process(HONEST, jail)
    assert not passes_in_process(Cheat("wrong", "Err.", "def f(x): return 0"), jail)


@pytest.mark.parametrize("name", STOPPED_BY_POLICY)
def test_the_policy_refuses_a_cheat_that_names_its_means(name: str) -> None:
    (cheat,) = (item for item in CHEATS if item.name == name)
    assert check_policy(GRADERS["examples"], cheat.program) is not None


@pytest.mark.parametrize("task", GRADERS.values(), ids=GRADERS)
def test_an_honest_answer_is_accepted_by_the_same_graders(jail: Sandbox, task: TaskSpec) -> None:
    verdict = CodeVerifier(jail, num_inputs=20).verify(task, HONEST_ANSWER)
    assert verdict.status in (Status.TESTED, Status.EXAMPLES_PASS)
