"""Programs that go for their grader instead of the task: none may be accepted, whatever the policy lets through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec
from armillary.core.verdicts import Status
from armillary.verify.examples_level import judge_examples
from armillary.verify.oracles import DifferentialOracle, PropertyOracle
from armillary.verify.policy import check_policy
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Limits
from armillary.verify.verifier import CodeVerifier

EXAMPLES = tuple(Example((number,), number * number) for number in (1, 2, 3))
BY_EXAMPLES = TaskSpec("p", "f", parameters=(Parameter("x", "int"),), examples=EXAMPLES)
BY_PROPERTY = TaskSpec("p", "f", parameters=(Parameter("x", "int"),), ensures=(Predicate("result == x * x"),))
BY_LAW = TaskSpec("p", "f", parameters=(Parameter("x", "int"),), laws=(Predicate("f(x) == x * x"),))
BY_REFERENCE = TaskSpec("p", "f", parameters=(Parameter("x", "int"),), reference="def f(x): return x * x")

CHEATS = {
    "frame peek": "import sys\ndef f(x):\n    seen = sys._getframe(1).f_locals\n    return seen['expected'][seen['i']]",
    "always-equal object": "class E:\n    def __eq__(self, other): return True\ndef f(x): return E()",
    "always-equal int": "class E(int):\n    def __eq__(self, other): return True\ndef f(x): return E(0)",
    "gc search": (
        "import gc\ndef f(x):\n    for found in gc.get_objects():\n"
        "        if type(found) is dict and 'expected' in found: return found['expected']"
    ),
    "mutate expected": (
        "import sys\ndef f(x):\n    seen = sys._getframe(1).f_locals\n    seen['expected'][seen['i']] = 0\n    return 0"
    ),
    # The same without a word that the policy knows.
    "hidden frame peek": (
        "import sys\ndef f(x):\n    frame = getattr(sys, '_get' + 'frame')(0)\n    while frame:\n"
        "        for value in getattr(frame, 'f_' + 'locals').values():\n"
        "            if value == x * x and value is not x: return value\n"
        "        frame = getattr(frame, 'f_' + 'back')\n"
    ),
    "hidden gc search": (
        "gc = eval('__imp' + 'ort__(\"g\" + \"c\")')\ndef f(x):\n    for found in gc.get_objects():\n"
        "        if type(found) is dict and 'expected' in found: return found['expected']"
    ),
    "ends the process": "import sys\ndef f(x): sys.exit(0)",
    "patches builtins": (
        "__builtins__ = None\nimport sys\nsys.modules['builtins'].sorted = lambda *a, **k: 0\n"
        "sys.modules['builtins'].all = lambda *a: True\ndef f(x): return 0"
    ),
    "replaces the law": (
        "def f(x):\n    for name in list(globals()):\n"
        "        if 'law' in name: globals()[name] = lambda x: 0\n    return 0"
    ),
    "returns not a number": "def f(x): return float('nan')",
}


# The policy stops these before they run; past it, the channel itself must hold.
STOPPED_BY_POLICY = ("frame peek", "gc search", "mutate expected", "patches builtins")


@pytest.fixture(scope="module")
def jail() -> Iterator[Sandbox]:
    with Sandbox("B", Limits(call_cpu_s=0.5, cpu_s=2)) as sandbox:
        yield sandbox


@pytest.fixture
def verifier(jail: Sandbox) -> CodeVerifier:
    return CodeVerifier(jail, num_inputs=20)


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
@pytest.mark.parametrize("task", [BY_EXAMPLES, BY_PROPERTY, BY_REFERENCE], ids=["examples", "property", "reference"])
def test_no_cheat_is_accepted(verifier: CodeVerifier, task: TaskSpec, cheat: str) -> None:
    assert not verifier.verify(task, cheat).is_accepted


@pytest.mark.parametrize("name", STOPPED_BY_POLICY)
def test_the_policy_refuses_a_cheat_that_names_its_means(name: str) -> None:
    assert check_policy(BY_EXAMPLES, CHEATS[name]) is not None


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
def test_past_the_policy_a_cheat_meets_no_example(jail: Sandbox, cheat: str) -> None:
    found = judge_examples(jail, BY_EXAMPLES, cheat)
    assert not all(check.passed for check in found.checks)


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
@pytest.mark.parametrize("task", [BY_PROPERTY, BY_LAW, BY_REFERENCE], ids=["property", "law", "reference"])
def test_past_the_policy_a_cheat_is_found_out_or_not_judged(jail: Sandbox, task: TaskSpec, cheat: str) -> None:
    oracle = DifferentialOracle(task, jail, cheat) if task.reference else PropertyOracle(task, jail, cheat)
    [promise] = oracle.promises
    judged = [row[promise.id] for row in oracle.judge([(31_607,), (54_773,), (70_711,)])]
    assert None not in judged


@pytest.mark.parametrize("name", ["frame peek", "always-equal object", "gc search", "mutate expected"])
def test_a_cheat_passes_no_equality_law_either(verifier: CodeVerifier, name: str) -> None:
    assert not verifier.verify(BY_LAW, CHEATS[name]).is_accepted


@pytest.mark.parametrize("task", [BY_EXAMPLES, BY_PROPERTY, BY_LAW, BY_REFERENCE])
def test_an_honest_answer_is_accepted_by_the_same_grader(verifier: CodeVerifier, task: TaskSpec) -> None:
    assert verifier.verify(task, "def f(x): return x * x").status in (Status.TESTED, Status.EXAMPLES_PASS)
