from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.protocols import Verifier
from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec
from armillary.core.verdicts import Status, replay_form, verdict_from_json, verdict_to_json
from armillary.verify.execution import Jail
from armillary.verify.sandbox.outcomes import Call, JailResult, Outcome
from armillary.verify.spec_yaml import task_from_yaml
from armillary.verify.symbolic.adapter import DEFAULT_BUDGET
from armillary.verify.symbolic.request import open_explorer
from armillary.verify.verifier import MAX_REMEMBERED, CodeVerifier

MERGE = task_from_yaml("""
prompt: Merge two sorted lists.
signature: "def merge(a: list[int], b: list[int]) -> list[int]"
examples: ["merge([1], [2]) == [1, 2]", "merge([], []) == []"]
requires: [a == sorted(a), b == sorted(b)]
ensures: [result == sorted(a + b)]
laws: ["merge(a, b) == merge(b, a)"]
reference: |
  import heapq
  def merge(a, b):
      return list(heapq.merge(a, b))
""")
RIGHT = "def merge(a, b):\n    return sorted(a + b)\n"


@pytest.fixture
def verifier(jail: Jail) -> CodeVerifier:
    return CodeVerifier(jail, num_inputs=60)


def plain(*examples: Example, **fields: Any) -> TaskSpec:
    return TaskSpec(
        "p", "f", parameters=(Parameter("x", fields.pop("annotation", "int")),), examples=examples, **fields
    )


def test_a_right_answer_is_tested_and_every_check_is_listed(verifier: CodeVerifier) -> None:
    protocol: Verifier = verifier
    verdict = protocol.verify(MERGE, RIGHT)
    assert verdict.status == Status.TESTED
    assert [check.id for check in verdict.checks if check.passed] == [
        "policy", "loads", "examples[0]", "examples[1]", "ensures[0]", "laws[0]", "reference",
    ]  # fmt: skip
    assert verdict.reason == f"passed 2 examples and {verdict.checks[-1].num_inputs} generated inputs (seed 0)"
    assert verdict.checks[-1].num_inputs >= 50
    assert verdict.sandbox_tier == verifier.sandbox_tier
    assert verdict_from_json(verdict_to_json(verdict)).checks == verdict.checks


@pytest.mark.parametrize(
    ("code", "check_id", "call"),
    [
        ("def merge(a, b): return b + a", "examples[0]", "merge([1], [2])"),
        ("def merge(a, b): return sorted({*a, *b})", "ensures[0]", "merge([0], [0])"),
    ],
)
def test_a_wrong_answer_is_refuted_by_a_small_counterexample(
    verifier: CodeVerifier, code: str, check_id: str, call: str
) -> None:
    verdict = verifier.verify(MERGE, code)
    assert verdict.status == Status.REFUTED
    assert verdict.counterexample is not None
    assert (verdict.counterexample.check_id, verdict.counterexample.call) in (
        (check_id, call),
        ("ensures[0]", "merge([0, 0], [])"),
        ("ensures[0]", "merge([], [0, 0])"),
    )
    assert not next(check for check in verdict.checks if check.id == check_id).passed


def test_only_the_reference_may_refute(verifier: CodeVerifier) -> None:
    verdict = verifier.verify(plain(reference="def f(x): return x * x"), "def f(x): return abs(x) * x")
    assert verdict.counterexample is not None
    assert (verdict.counterexample.call, verdict.counterexample.expected, verdict.counterexample.actual) == (
        "f(-1)",
        "1",
        "-1",
    )
    assert verdict.reason == "breaks reference"


def test_the_same_task_code_and_seed_give_the_same_verdict(jail: Jail) -> None:
    code = "def merge(a, b):\n    return sorted(a + b)[:7]\n"
    first, second = (CodeVerifier(jail, num_inputs=60).verify(MERGE, code, seed=7) for _ in range(2))
    assert replay_form(first) == replay_form(second)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def merge(a, b:", "line 1: not Python"),
        ("import os\n" + RIGHT, "line 1: uses os"),
        ("x = y\n" + RIGHT, "the code does not load: NameError"),
        ("import os.nope_x\n" + RIGHT, "line 1: uses os"),
        ("from math import nope\n" + RIGHT, "the code does not load: ImportError"),
    ],
)
def test_code_that_cannot_be_run_is_refuted_with_the_reason(verifier: CodeVerifier, code: str, reason: str) -> None:
    verdict = verifier.verify(MERGE, code)
    assert verdict.status == Status.REFUTED
    assert verdict.reason.startswith(reason)
    assert verdict.counterexample is None


def test_code_that_never_ran_names_no_tier(verifier: CodeVerifier) -> None:
    assert verifier.verify(MERGE, "x").sandbox_tier == "none"


def test_a_module_that_the_sandbox_lacks_leaves_the_verdict_open(verifier: CodeVerifier) -> None:
    verdict = verifier.verify(MERGE, "import no_such_module_x\n" + RIGHT)
    assert verdict.status == Status.UNKNOWN
    assert verdict.reason == "could not be run: ModuleNotFoundError: No module named 'no_such_module_x'"


def test_examples_alone_are_called_by_their_name(verifier: CodeVerifier) -> None:
    verdict = verifier.verify(plain(Example((1,), 1)), "def f(x): return x")
    assert (verdict.status, verdict.reason) == (Status.EXAMPLES_PASS, "passed 1 example, nothing else was tested")


def test_a_task_without_evidence_stays_unknown(verifier: CodeVerifier) -> None:
    verdict = verifier.verify(plain(), "def f(x): return x")
    assert (verdict.status, verdict.reason) == (
        Status.UNKNOWN,
        "it loads, but the task has nothing to test it against",
    )


def test_examples_that_a_model_wrote_decide_nothing(verifier: CodeVerifier) -> None:
    for expected in (1, 2):
        verdict = verifier.verify(plain(Example((1,), expected, origin="model")), "def f(x): return x")
        assert (verdict.status, verdict.reason) == (Status.UNKNOWN, "only examples that a model wrote were tried")


def test_a_property_without_possible_inputs_is_said_to_be_untested(verifier: CodeVerifier) -> None:
    vague = plain(ensures=(Predicate("result"),), annotation="")
    verdict = verifier.verify(vague, "def f(x): return x")
    assert verdict.status == Status.UNKNOWN
    assert verdict.reason == (
        "nothing could be tested; no property test: a parameter has neither type nor domain nor example"
    )
    empty = plain(Example((1,), 1), requires=(Predicate("x == 1 or x > 10 ** 9"),), reference="def f(x): return x")
    assert verifier.verify(empty, "def f(x): return x").status == Status.TESTED
    never = plain(requires=(Predicate("x != x"),), reference="def f(x): return x")
    assert verifier.verify(never, "def f(x): return x").reason == (
        "nothing could be tested; no differential test: no generated input satisfies requires"
    )


def test_a_clause_that_no_input_met_is_named(verifier: CodeVerifier) -> None:
    spec = plain(ensures=(Predicate("result == x"),), raises=(("ValueError", "x == 77777"),))
    verdict = verifier.verify(spec, "def f(x): return x")
    assert verdict.status == Status.TESTED
    assert verdict.reason.endswith("; raises[ValueError] was not tested by any input")


PRIME = plain(
    requires=(Predicate("2 <= x <= 10"),),
    ensures=(Predicate("result >= x"), Predicate("all(result % d for d in range(2, result))")),
)
SET = plain(annotation="list[int]", ensures=(Predicate("result == set(x)"),))
BACK = plain(annotation="list[int]", laws=(Predicate("f(f(x)) == x"),))


@pytest.mark.parametrize(
    ("spec", "code", "reason"),
    [
        (SET, "def f(x): return set(x) if len(x) < 3 else set(range(2001))", "its result is too large to be judged"),
        (PRIME, "def f(x): return {8: 11, 2: 2, 3: 3, 10: 11}.get(x, 10**15 + 37)", "its predicate: "),
        (BACK, "def f(x):\n    if x: raise KeyError\n    return []", "a side raised KeyError"),
    ],
    ids=["too large", "no answer", "law raises"],
)
def test_what_is_judged_on_few_inputs_only_is_not_tested(
    verifier: CodeVerifier, spec: TaskSpec, code: str, reason: str
) -> None:
    verdict = verifier.verify(spec, code)
    assert verdict.status == Status.UNKNOWN
    assert re.search(r"(ensures|laws)\[\d\] could be judged on only \d+ of \d+ inputs: " + reason, verdict.reason)
    assert not {check.level for check in verdict.checks if check.id in verdict.reason}


@pytest.mark.parametrize(
    ("domain", "num_raising", "status"),
    [
        ("int | 0..19", 2, Status.TESTED),
        ("int | 0..19", 3, Status.UNKNOWN),
        ("int | 0..10", 1, Status.TESTED),
        ("int | 0..9", 1, Status.UNKNOWN),
        ("int | 0..2", 0, Status.TESTED),
    ],
)
def test_nine_tenths_of_the_inputs_and_at_least_ten_must_be_judged(
    verifier: CodeVerifier, domain: str, num_raising: int, status: Status
) -> None:
    spec = TaskSpec("p", "f", parameters=(Parameter("x", "int", domain),), laws=(Predicate("f(x) == x"),))
    code = f"def f(x):\n    if x < {num_raising}: raise KeyError\n    return x"
    assert verifier.verify(spec, code).status == status


def test_a_program_that_hides_one_result_is_not_tested(verifier: CodeVerifier) -> None:
    spec = TaskSpec("p", "f", parameters=(Parameter("x", "int", "int | 0..99"),), ensures=(Predicate("result == x"),))
    verdict = verifier.verify(spec, "def f(x): return x if x else (item for item in [1])")
    assert verdict.status == Status.UNKNOWN
    assert "builtins.generator cannot leave the sandbox" in verdict.reason


def test_an_example_on_which_a_value_is_hidden_decides_nothing(verifier: CodeVerifier) -> None:
    pair = "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\ndef f(x): return P(x)"
    spec = plain(Example((1,), (1,)), Example((2,), (2,)))
    verdict = verifier.verify(spec, pair)
    assert (verdict.status, verdict.reason.partition(" gave ")[0]) == (Status.UNKNOWN, "examples[0]")
    assert verifier.verify(spec, "def f(x): yield x").status == Status.REFUTED


def test_a_few_inputs_that_could_not_be_judged_are_named(verifier: CodeVerifier) -> None:
    verdict = verifier.verify(BACK, "def f(x):\n    return x[::-1] if x != [0] else 1 / 0")
    assert verdict.status == Status.TESTED
    assert re.search(
        r"; laws\[0\] could not be judged on \d of \d+ inputs: a side raised ZeroDivisionError$", verdict.reason
    )


def test_the_reference_may_still_refute_what_properties_could_not_judge(verifier: CodeVerifier) -> None:
    code = "def f(x): return set(x) if len(x) < 3 else set(range(2001))"
    verdict = verifier.verify(replace(SET, reference="def f(x): return set(x)"), code)
    assert verdict.status == Status.REFUTED


def test_the_least_tested_promise_is_the_one_that_counts(verifier: CodeVerifier) -> None:
    spec = plain(ensures=(Predicate("result == x"),), reference="def f(x): return x if x > 0 else 1 / 0")
    verdict = verifier.verify(spec, "def f(x): return x")
    fewest = min(check.num_inputs for check in verdict.checks if check.level in ("property", "differential"))
    assert fewest < 60
    assert verdict.reason == f"passed {fewest} generated inputs (seed 0)"


def test_code_that_stops_loading_under_way_gets_no_verdict(scripted: Any, result: Callable[..., JailResult]) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        is_late = bool(calls) and source.startswith("def f(x)")
        return result([Outcome("returned", True)] * len(calls), load_error="E: late" if is_late else "")

    spec = plain(ensures=(Predicate("True"),))
    verdict = CodeVerifier(scripted(script), num_inputs=20).verify(spec, "def f(x): return x")
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, "the code loads now and then: E: late")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (plain(Example((1,), 1), Example((1,), 2)), "two examples disagree"),
        (plain(Example((1,), 1), reference="def f(x): return 2"), "the reference fails the example"),
    ],
)
def test_a_task_that_contradicts_itself_is_suspected(verifier: CodeVerifier, spec: TaskSpec, reason: str) -> None:
    verdict = verifier.verify(spec, "def f(x): return x")
    assert verdict.status == Status.SPEC_SUSPECT
    assert verdict.reason.startswith(reason)
    assert verdict.checks == ()


def test_a_predicate_that_is_none_is_refused_before_anything_runs(verifier: CodeVerifier) -> None:
    with pytest.raises(TaskFormatError, match="ensures"):
        verifier.verify(plain(ensures=(Predicate("result.__class__"),)), "def f(x): return x")


def test_code_with_hidden_state_gets_no_verdict(verifier: CodeVerifier) -> None:
    code = "n = 0\ndef f(x):\n    global n\n    n += 1\n    return x if n < 9 else None"
    verdict = verifier.verify(plain(reference="def f(x): return x"), code)
    assert verdict.status == Status.UNKNOWN
    assert verdict.reason == "reference broke once and held when it was run again: chance or hidden state"
    assert "reference" not in {check.id for check in verdict.checks}
    stateful = "n = 0\ndef f(x):\n    global n\n    n += 1\n    return x * n"
    verdict = verifier.verify(plain(Example((1,), 1), Example((2,), 2)), stateful)
    assert (verdict.status, verdict.reason) == (
        Status.UNKNOWN,
        "examples[1] failed once and passed alone: chance or hidden state",
    )


def test_code_that_fails_to_load_only_once_gets_no_verdict(scripted: Any, result: Callable[..., JailResult]) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        return result([Outcome("missing")] * len(calls), load_error="" if run else "E: once")

    verdict = CodeVerifier(scripted(script)).verify(plain(), "def f(x): return x")
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, "the code loads now and then: E: once")


def test_levels_are_told_as_they_are_begun(jail: Jail) -> None:
    levels: list[str] = []
    verifier = CodeVerifier(jail, num_inputs=10, on_level=levels.append)
    verifier.verify(MERGE, RIGHT)
    verifier.verify(MERGE, "x")
    assert levels == ["policy", "examples", "property", "differential", "policy"]


def test_programs_are_grouped_by_what_they_do(verifier: CodeVerifier) -> None:
    codes = [RIGHT, "def merge(a, b): return sorted(b + a)", "def merge(a, b): return a + b", "oops"]
    first, same, other, broken = verifier.behaviours(MERGE, codes)
    assert first == same
    assert len({first, other, broken}) == 3


def test_only_so_many_tasks_are_remembered(verifier: CodeVerifier) -> None:
    for number in range(MAX_REMEMBERED + 2):
        verdict = verifier.verify(replace(plain(Example((1,), 1)), prompt=str(number)), "def f(x): return x")
        assert verdict.is_accepted


def test_one_generated_input_is_told_as_one(verifier: CodeVerifier) -> None:
    spec = plain(annotation="Literal[3]", reference="def f(x): return x")
    assert verifier.verify(spec, "def f(x): return x").reason == "passed 1 generated input (seed 0)"


def test_a_requirement_that_gives_no_answer_is_named_and_not_called_false(verifier: CodeVerifier) -> None:
    endless = Predicate("sum(1 for _ in range(10 ** 9)) > 0")
    spec = plain(Example((True,), True), annotation="bool", requires=(endless,), reference="def f(x): return x")
    verdict = verifier.verify(spec, "def f(x): return x")
    assert verdict.status == Status.UNKNOWN
    assert verdict.reason.startswith(f"requires[0] gave no answer ({endless.text}): ")


SUM = "result == (n * (n + 1) // 2 if n > 0 else 0)"


@pytest.mark.parametrize(
    ("parameter", "promise", "code"),
    [
        (
            Parameter("n", "int"),
            SUM,
            "def f(n):\n    total = 0\n    for i in range(n + 1): total += i\n    return total",
        ),
        (Parameter("n", "int"), SUM, "def f(n): return sum(range(n + 1))"),
        (
            Parameter("xs", "list[int]"),
            "result == 2 ** len(xs)",
            "def f(xs): return 1 if not xs else f(xs[1:]) + f(xs[1:])",
        ),
    ],
    ids=["a loop", "a call that cannot be interrupted", "a power set"],
)
def test_time_is_not_held_against_a_program_on_a_large_input(
    verifier: CodeVerifier, parameter: Parameter, promise: str, code: str
) -> None:
    verdict = verifier.verify(TaskSpec("p", "f", parameters=(parameter,), ensures=(Predicate(promise),)), code)
    assert verdict.status == Status.TESTED
    assert verdict.reason.endswith("; ensures[0]: no answer within the time limit on a large input")


def test_time_is_held_against_a_program_on_an_ordinary_input(verifier: CodeVerifier) -> None:
    spec = TaskSpec("p", "f", parameters=(Parameter("n", "int"),), ensures=(Predicate("result == n"),))
    verdict = verifier.verify(spec, "def f(n):\n    while n == 7: pass\n    return n")
    assert verdict.counterexample is not None
    assert verdict.counterexample.call == "f(7)"


@pytest.fixture(scope="module")
def prover(jail: Jail) -> Iterator[CodeVerifier]:
    with open_explorer("B") as explorer:
        yield CodeVerifier(jail, num_inputs=60, explorer=explorer)


ABSOLUTE = plain(ensures=(Predicate("result >= 0"), Predicate("result in (x, -x)")))


def test_what_holds_on_all_paths_is_proved(prover: CodeVerifier, verifier: CodeVerifier) -> None:
    code = "def f(x):\n    return -x if x < 0 else x"
    verdict = prover.verify(ABSOLUTE, code)
    assert verdict.status == Status.PROVED
    assert verdict.reason.startswith("holds on all paths; passed 60 generated inputs")
    assert {check.level for check in verdict.checks} == {"policy", "property", "symbolic"}
    assert verifier.verify(ABSOLUTE, code).status == Status.TESTED


def test_a_verdict_tells_what_looked_for_proofs_and_within_which_bounds(
    prover: CodeVerifier, verifier: CodeVerifier
) -> None:
    right, wrong = "def f(x):\n    return -x if x < 0 else x", "def f(x): return -1"
    found = prover.verify(ABSOLUTE, right).prover
    assert found is not None
    assert dict(found.tools).keys() == {"crosshair-tool", "z3-solver"}
    assert (found.cpu_s, found.max_paths) == (DEFAULT_BUDGET.cpu_s, DEFAULT_BUDGET.max_paths)
    assert (prover.verify(ABSOLUTE, wrong).prover, verifier.verify(ABSOLUTE, right).prover) == (None, None)


def test_a_needle_that_no_generated_input_hits_is_found_by_exploring(prover: CodeVerifier) -> None:
    verdict = prover.verify(plain(ensures=(Predicate("result >= 0"),)), "def f(x): return -1 if x == 73193 else 0")
    assert verdict.counterexample is not None
    assert (verdict.status, verdict.counterexample.call) == (Status.REFUTED, "f(73193)")


@pytest.mark.parametrize(
    "more",
    [
        {"ensures": (*ABSOLUTE.ensures, Predicate("result is not None", origin="model"))},
        {"reference": "def f(x): return abs(x)"},
        {"temporal": (Predicate("steps < 100"),)},
    ],
    ids=["a model's promise", "a reference", "a bound"],
)
def test_what_also_rests_on_anything_else_is_only_tested(prover: CodeVerifier, more: dict[str, Any]) -> None:
    verdict = prover.verify(replace(ABSOLUTE, **more), "def f(x):\n    return -x if x < 0 else x")
    assert verdict.status == Status.TESTED


def test_a_bound_on_steps_is_a_level_of_its_own(verifier: CodeVerifier) -> None:
    spec = plain(annotation="list[int]", temporal=(Predicate("steps <= 5 * len(x) + 10"),))
    fast = "def f(x):\n    return [item for item in x]"
    slow = "def f(x):\n    return [item for item in x for _ in x]"
    assert verifier.verify(spec, fast).status == Status.TESTED
    verdict = verifier.verify(spec, slow)
    assert verdict.counterexample is not None
    assert (verdict.status, verdict.counterexample.check_id) == (Status.REFUTED, "temporal[0]")


def test_a_program_with_doubts_is_not_sent_to_be_proved(prover: CodeVerifier) -> None:
    spec = TaskSpec("p", "f", parameters=(Parameter("x", "int", "int | 0..9"),), laws=(Predicate("f(x) == x"),))
    verdict = prover.verify(spec, "def f(x):\n    if x < 1: raise KeyError\n    return x")
    assert (verdict.status, {check.level for check in verdict.checks}) == (Status.UNKNOWN, {"policy"})
