"""Level 1: every example of the task, all in one process; the failing one again alone. Generates nothing."""

from __future__ import annotations

from dataclasses import dataclass

from armillary.core.tasks import TaskSpec
from armillary.core.values import encode
from armillary.core.verdicts import Check, Counterexample
from armillary.verify.execution import Jail, run_alone, run_calls
from armillary.verify.rendering import render_call
from armillary.verify.sandbox.outcomes import Call
from armillary.verify.shrink import weight
from armillary.verify.suspicion import expectation, meets


@dataclass(frozen=True, slots=True)
class ExamplesResult:
    """One check per example, and the smallest failing one, if it fails alone too.

    Attributes:
        undecided: why there is no verdict although an example did not pass.
    """

    checks: tuple[Check, ...]
    counterexample: Counterexample | None = None
    undecided: str = ""


def judge_examples(jail: Jail, task: TaskSpec, code: str, *, seed: int = 0) -> ExamplesResult:
    """Run all examples; those that a model wrote are reported but refute nothing."""
    calls = [Call(task.entry_point, example.arguments) for example in task.examples]
    execution = run_calls(jail, code, calls, seed=seed)
    if execution.load_error:
        return ExamplesResult((), undecided=f"the code loads now and then: {execution.load_error}")
    found = execution.observations
    checks = tuple(
        Check(
            id=f"examples[{index}]",
            level="examples",
            origin=example.origin,
            passed=meets(example, found[index], task.returns),
            text=f"{render_call(task.entry_point, example.arguments)} == {expectation(example)}"
            if not example.raises
            else f"{render_call(task.entry_point, example.arguments)} {expectation(example)}",
        )
        for index, example in enumerate(task.examples)
    )
    failing = [index for index, check in enumerate(checks) if check.is_hard and not check.passed]
    hidden = [index for index in failing if found[index].kind == "unencodable" and not found[index].equals_nothing]
    failing = [index for index in failing if index not in hidden or task.examples[index].raises]
    for index in sorted(failing, key=lambda index: weight(task.examples[index].arguments)):
        example = task.examples[index]
        seen = run_alone(jail, code, calls[index], seed=seed)
        if not meets(example, seen, task.returns):
            call = render_call(task.entry_point, example.arguments)
            counterexample = Counterexample(
                checks[index].id, call, expectation(example), seen.text, encode(example.arguments)
            )
            return ExamplesResult(checks, counterexample)
    if failing:
        names = ", ".join(checks[index].id for index in failing)
        return ExamplesResult(checks, undecided=f"{names} failed once and passed alone: chance or hidden state")
    if hidden:
        return ExamplesResult(checks, undecided=f"{checks[hidden[0]].id} gave {found[hidden[0]].text}")
    return ExamplesResult(checks)
