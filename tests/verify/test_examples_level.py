from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from armillary.core.tasks import Example, Parameter, TaskSpec
from armillary.verify.examples_level import judge_examples
from armillary.verify.execution import Jail
from armillary.verify.sandbox.outcomes import Call, JailResult, Outcome

TASK = TaskSpec(
    "p",
    "f",
    parameters=(Parameter("x", "int"),),
    examples=(
        Example((50,), 51),
        Example((1,), 2),
        Example((-1,), raises="ValueError"),
        Example((2,), 9, origin="model"),
    ),
)
RIGHT = "def f(x):\n    if x < 0: raise ValueError\n    return x + 1"


def test_every_example_is_a_check_of_its_own(jail: Jail) -> None:
    found = judge_examples(jail, TASK, RIGHT)
    assert [(check.id, check.passed, check.is_hard) for check in found.checks] == [
        ("examples[0]", True, True),
        ("examples[1]", True, True),
        ("examples[2]", True, True),
        ("examples[3]", False, False),
    ]
    assert [check.text for check in found.checks[1:3]] == ["f(1) == 2", "f(-1) raises ValueError"]
    assert (found.counterexample, found.undecided) == (None, "")


def test_the_smallest_failing_example_is_the_counterexample(jail: Jail) -> None:
    found = judge_examples(jail, TASK, "def f(x): return x").counterexample
    assert found is not None
    assert (found.check_id, found.call, found.expected, found.actual) == ("examples[1]", "f(1)", "2", "1")
    assert found.arguments == {"tuple": [1]}


def test_an_example_that_fails_only_in_company_gives_no_verdict(jail: Jail) -> None:
    code = "seen = []\ndef f(x):\n    if x < 0: raise ValueError\n    seen.append(x)\n    return x + len(seen)"
    found = judge_examples(jail, TASK, code)
    assert found.counterexample is None
    assert found.undecided == "examples[1] failed once and passed alone: chance or hidden state"


def test_code_that_stops_loading_is_not_judged(scripted: Any, result: Callable[..., JailResult]) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        return result([Outcome("missing")] * len(calls), load_error="E: now and then")

    found = judge_examples(scripted(script), TASK, RIGHT)
    assert (found.checks, found.counterexample) == ((), None)
    assert found.undecided == "the code loads now and then: E: now and then"


def test_an_example_is_met_by_a_subclass_of_its_exception_but_not_by_a_namesake(jail: Jail) -> None:
    task = TaskSpec("p", "f", parameters=(Parameter("x"),), examples=(Example((1,), raises="ValueError"),))
    subclass = "class ParseError(ValueError): pass\ndef f(x): raise ParseError"
    namesake = "class ValueError(Exception): pass\ndef f(x): raise ValueError"
    assert [judge_examples(jail, task, code).checks[0].passed for code in (subclass, namesake)] == [True, False]
