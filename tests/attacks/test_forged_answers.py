"""A program that writes its own answers on the result channel gains nothing but wrong answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec
from armillary.core.verdicts import Status
from armillary.verify.examples_level import judge_examples
from armillary.verify.oracles import DifferentialOracle, Finding, PropertyOracle
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Limits
from armillary.verify.verifier import CodeVerifier

# Finds the number of calls in the harness's frames, answers all of them with one value, and ends the process.
FORGER = r"""
import sys
write, leave = sys.modules["po" + "six"].write, getattr(sys.modules["po" + "six"], "_ex" + "it")
frame, calls = getattr(sys, "_get" + "frame")(), None
while frame is not None and calls is None:
    for found in dict(getattr(frame, "f_" + "locals")).values():
        job = getattr(found, "_job", None)
        calls = calls if job is None else getattr(job, "calls", None)
    frame = getattr(frame, "f_" + "back")
write(3, b'["load",""]\n')
for index in range(len(calls)):
    write(3, b'["call",%d,"returned",VALUE,"",""]\n' % index)
leave(0)
def f(x): return 42
"""
X = (Parameter("x", "int"),)
TASKS = {
    "example": TaskSpec("p", "f", parameters=X, examples=(Example((3,), 9), Example((4,), 16))),
    "equality law": TaskSpec("p", "f", parameters=X, laws=(Predicate("f(x) == x * x"),)),
    "symmetric law": TaskSpec("p", "f", parameters=X, laws=(Predicate("f(x) == f(-x)"), Predicate("f(x) >= x"))),
    "inequality law": TaskSpec("p", "f", parameters=X, laws=(Predicate("f(x) >= x"),)),
    "ensures": TaskSpec("p", "f", parameters=X, ensures=(Predicate("result == x * x"),)),
    "reference": TaskSpec("p", "f", parameters=X, reference="def f(x): return x * x"),
}


@pytest.fixture(scope="module")
def jail() -> Iterator[Sandbox]:
    with Sandbox("B", Limits(call_cpu_s=0.5, cpu_s=2)) as sandbox:
        yield sandbox


@pytest.mark.parametrize("value", ["true", "42", '{"tuple":["value",true]}'])
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_past_the_policy_forged_answers_are_wrong_answers(jail: Sandbox, task: TaskSpec, value: str) -> None:
    forger = FORGER.replace("VALUE", value)
    if task.examples:
        assert judge_examples(jail, task, forger).counterexample is not None
        return
    oracle = DifferentialOracle(task, jail, forger) if task.reference else PropertyOracle(task, jail, forger)
    rows = oracle.judge([(50,), (-3,), (7,)])
    # What fits nothing is found out; a law that fails on it is not judged.
    found = [item for row in rows for item in row.values() if item is not None]
    assert any(isinstance(item, Finding) for item in found) or len(found) >= len(rows)


@pytest.mark.parametrize("value", ["true", "42"])
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_forger_is_never_accepted(jail: Sandbox, task: TaskSpec, value: str) -> None:
    assert not CodeVerifier(jail, num_inputs=20).verify(task, FORGER.replace("VALUE", value)).is_accepted


def test_an_honest_answer_to_the_same_tasks_is_accepted(jail: Sandbox) -> None:
    honest = "def f(x): return x * x"
    for task in TASKS.values():
        verdict = CodeVerifier(jail, num_inputs=20).verify(task, honest)
        assert verdict.status in (Status.TESTED, Status.EXAMPLES_PASS), verdict
