"""The loop with the real verifier and its jail; only the model is a script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from reason_fakes import ScriptedModel, fenced

from armillary.core.tasks import Budget, Example, Parameter, Predicate, TaskSpec
from armillary.core.trace import Trace
from armillary.core.verdicts import Status
from armillary.reason.loop import solve
from armillary.reason.search import Solution
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.verifier import CodeVerifier

TASK = TaskSpec(
    prompt="Return the median of a non-empty list of numbers.",
    entry_point="median",
    parameters=(Parameter("xs", "list[int]"),),
    returns="float",
    examples=(Example(([3, 1, 2],), 2), Example(([4, 1, 3, 2],), 2.5)),
    requires=(Predicate("len(xs) > 0"),),
    ensures=(Predicate("min(xs) <= result <= max(xs)"),),
    laws=(Predicate("median(xs) == median(xs[::-1])"),),
    budget=Budget(num_candidates=2, max_rounds=2),
)
RIGHT = """
def median(xs):
    ys = sorted(xs)
    middle = len(ys) // 2
    return ys[middle] if len(ys) % 2 else (ys[middle - 1] + ys[middle]) / 2
"""
UNSORTED = RIGHT.replace("sorted(xs)", "list(xs)")
ODD_ONLY = "def median(xs):\n    return sorted(xs)[len(xs) // 2]\n"
BROKEN = "def median(xs:\n    return 1\n"


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    with Sandbox("B") as jail:
        yield CodeVerifier(jail)


def run(verifier: CodeVerifier, *rounds: list[str], task: TaskSpec = TASK, **more: Any) -> Solution:
    model = ScriptedModel([[fenced(code) for code in codes] for codes in rounds])
    return solve(task, model, verifier, more.pop("trace", None) or Trace(), **more)


def test_a_wrong_candidate_is_refuted_with_a_counterexample_and_a_right_one_accepted(verifier: CodeVerifier) -> None:
    solution = run(verifier, [ODD_ONLY], [RIGHT])
    wrong, right = solution.attempts
    assert wrong.verdict.status == Status.REFUTED
    assert wrong.verdict.counterexample is not None
    assert (right.verdict.status, solution.attempt_id) == (Status.TESTED, right.id)
    assert solution.code.strip() == RIGHT.strip()


def test_a_repair_of_a_wrong_answer_is_accepted(verifier: CodeVerifier) -> None:
    trace = Trace()
    solution = run(verifier, [ODD_ONLY], [UNSORTED], [RIGHT], trace=trace)
    assert solution.verdict.status == Status.TESTED
    (revision,) = [event.body for event in trace.events if event.kind == "revision"]
    assert revision["accepted"] is True


@pytest.mark.parametrize("code", [BROKEN, "no code at all", ""])
def test_whatever_the_model_writes_is_a_verdict_and_not_a_crash(verifier: CodeVerifier, code: str) -> None:
    solution = run(verifier, [code], [code], task=replace(TASK, budget=Budget(num_candidates=2, max_rounds=0)))
    assert solution.verdict.status == Status.REFUTED
    assert not solution.verdict.is_accepted


def test_the_answer_never_gets_worse_by_revising(verifier: CodeVerifier) -> None:
    solution = run(verifier, [ODD_ONLY], [BROKEN], [BROKEN], [BROKEN])
    assert solution.code.strip() == ODD_ONLY.strip()
    assert solution.verdict.status == Status.REFUTED


def test_a_task_without_evidence_is_answered_by_the_bigger_cluster(verifier: CodeVerifier) -> None:
    task = TaskSpec("Return the median.", "median", TASK.parameters, budget=Budget(num_candidates=4))
    others = [RIGHT.replace("middle", name) for name in ("half", "centre")]
    solution = run(verifier, [ODD_ONLY], [RIGHT, *others], task=task)
    assert solution.verdict.status == Status.UNKNOWN
    assert solution.code.strip() in [code.strip() for code in (RIGHT, *others)]


def test_a_task_that_contradicts_itself_stops_at_once(verifier: CodeVerifier) -> None:
    task = replace(TASK, examples=(*TASK.examples, Example(([3, 1, 2],), 7)))
    solution = run(verifier, task=task)
    assert (solution.verdict.status, solution.stopped_by) == (Status.SPEC_SUSPECT, "spec_suspect")
    assert solution.usage.total_tokens == 0


def test_the_same_seed_gives_the_same_verdicts(verifier: CodeVerifier) -> None:
    first, second = (run(verifier, [ODD_ONLY], [RIGHT], seed=5) for _ in range(2))
    forms = [
        [replace(attempt.verdict, elapsed_ms=0.0) for attempt in solution.attempts] for solution in (first, second)
    ]
    assert forms[0] == forms[1]


ONLY_EXAMPLES = TaskSpec(
    prompt="Twice the number.",
    entry_point="twice",
    parameters=(Parameter("n", "int"),),
    examples=(Example((7,), 14), Example((9,), 18)),
    budget=Budget(num_candidates=4, max_rounds=0),
)


def test_four_equal_answers_test_each_other_on_inputs_that_nobody_wrote(verifier: CodeVerifier) -> None:
    codes = ["def twice(n):\n    return 2 * n\n"] * 4
    found = run(verifier, codes[:1], codes[1:], task=ONLY_EXAMPLES)
    assert found.verdict.status == Status.TESTED
    assert found.evidence is not None
    assert found.evidence.num_shared > 50
    assert f"4 of 4 independent answers behave alike on {found.evidence.num_shared} gen" in found.verdict.reason


def test_answers_that_fail_alike_on_all_but_the_examples_test_nothing(verifier: CodeVerifier) -> None:
    codes = ["def twice(n):\n    return {7: 14, 9: 18}[n]\n"] * 4
    found = run(verifier, codes[:1], codes[1:], task=ONLY_EXAMPLES)
    assert found.verdict.status == Status.EXAMPLES_PASS
    assert found.evidence is not None
    assert (found.evidence.num_agreeing, found.evidence.num_shared) == (4, 2)
