from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.verify import oracles
from armillary.verify.contract import Contract
from armillary.verify.execution import Jail
from armillary.verify.oracles import DifferentialOracle, Finding, PropertyOracle, Unjudged
from armillary.verify.readable import MAX_HASHED_MEMBERS
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits, Outcome


def task(**fields: Any) -> TaskSpec:
    return TaskSpec("p", "f", parameters=(Parameter("x", "int"),), **fields)


def predicates(*texts: str) -> tuple[Predicate, ...]:
    return tuple(map(Predicate, texts))


def judge(jail: Jail, spec: TaskSpec, code: str, *inputs: Any) -> list[dict[str, Any]]:
    """For each input: promise -> None where it holds, (expected, actual) where broken, a reason where not judged."""
    oracle = DifferentialOracle(spec, jail, code) if spec.reference else PropertyOracle(spec, jail, code)
    rows = oracle.judge([(item,) for item in inputs])
    assert all(set(row) == {item.id for item in oracle.promises} for row in rows)
    return [{name: shown(item) for name, item in row.items()} for row in rows]


def shown(item: Finding | Unjudged | None) -> Any:
    if item is None:
        return None
    return (item.expected, item.actual) if isinstance(item, Finding) else item.reason


def test_requires_admit_only_what_satisfies_all_of_them(jail: Jail) -> None:
    contract = Contract(task(requires=predicates("x > 0", "10 % x == 0")), jail)
    assert contract.admits([(0,), (1,), (3,), (5,)]) == [False, True, False, True]


def test_without_requires_everything_is_admitted(jail: Jail) -> None:
    assert Contract(task(), jail).admits([(0,), (1,)]) == [True, True]
    assert Contract(task(requires=predicates("x > 0")), jail).admits([]) == []


def test_ensures_hold_or_are_broken_by_a_result(jail: Jail) -> None:
    spec = task(ensures=predicates("result > x", "result != 3"))
    held, broken = judge(jail, spec, "def f(x): return x + 1", 1, 2)
    assert held == {"ensures[0]": None, "ensures[1]": None}
    assert broken == {"ensures[0]": None, "ensures[1]": ("result != 3", "result is 3")}


def test_a_predicate_that_fails_on_a_result_breaks_the_promise(jail: Jail) -> None:
    [row] = judge(jail, task(ensures=predicates("result > x")), "def f(x): return None", 1)
    assert row["ensures[0]"] is not None
    assert row["ensures[0]"][1].startswith("result is None, on which the predicate raised TypeError")


def test_a_predicate_without_an_answer_is_unjudged(jail: Jail) -> None:
    spec = task(ensures=predicates("sum(1 for _ in range(10 ** 9)) > x", "result == x"))
    reason = "its predicate: no answer within the time limit"
    assert judge(jail, spec, "def f(x): return x", 1) == [{"ensures[0]": reason, "ensures[1]": None}]


def test_a_condition_of_raises_without_an_answer_judges_nothing(jail: Jail) -> None:
    spec = task(raises=(("ValueError", "sum(1 for _ in range(10 ** 9)) > x"),), ensures=predicates("result == x"))
    [row] = judge(jail, spec, "def f(x): raise ValueError", 1)
    assert set(row.values()) == {"a condition of raises gave no answer"}


def test_an_exception_breaks_every_ensures(jail: Jail) -> None:
    [row] = judge(jail, task(ensures=predicates("result > x", "True")), "def f(x): raise KeyError(x)", 1)
    assert row == {"ensures[0]": ("result > x", "raised KeyError: 1"), "ensures[1]": ("True", "raised KeyError: 1")}


def test_the_demanded_exception_must_come_and_only_then(jail: Jail) -> None:
    spec = task(raises=(("ValueError", "x < 0"),), ensures=predicates("result == x"))
    code = "def f(x):\n    if x in (-1, 1): raise ValueError('no')\n    return x"
    rows = judge(jail, spec, code, -1, -2, 1, 2)
    assert rows[0] == {"raises[ValueError]": None, "ensures[0]": "an exception is demanded"}
    assert rows[1] == {"raises[ValueError]": ("raises ValueError", "-2"), "ensures[0]": "an exception is demanded"}
    assert rows[2]["raises[ValueError]"] == ("raises ValueError only if x < 0", "raised ValueError: no")
    assert rows[3] == {"raises[ValueError]": "its condition is false", "ensures[0]": None}


def test_an_undemanded_exception_of_another_class_breaks_ensures_and_leaves_raises_alone(jail: Jail) -> None:
    spec = task(raises=(("ValueError", "x < 0"),), ensures=predicates("result == x"))
    [row] = judge(jail, spec, "def f(x): raise KeyError(x)", 1)
    assert row == {"raises[ValueError]": "its condition is false", "ensures[0]": ("result == x", "raised KeyError: 1")}


@pytest.mark.parametrize(
    ("demanded", "code"),
    [
        ("LookupError", "def f(x): return [][x]"),
        ("ValueError", "class ParseError(ValueError): pass\ndef f(x): raise ParseError"),
        ("IOError", "def f(x): raise FileNotFoundError"),
        ("ParseError", "class ParseError(Exception): pass\ndef f(x): raise ParseError"),
    ],
)
def test_an_instance_of_the_demanded_exception_keeps_the_promise(jail: Jail, demanded: str, code: str) -> None:
    assert judge(jail, task(raises=((demanded, "True"),)), code, 0) == [{f"raises[{demanded}]": None}]


@pytest.mark.parametrize(
    "code",
    [
        "class ValueError(Exception): pass\ndef f(x): raise ValueError",
        "class M(type):\n    def __eq__(c, o): return True\n    __hash__ = type.__hash__\n"
        "class ValueError(Exception, metaclass=M): pass\ndef f(x): raise ValueError",
        "def f(x): raise Exception",
    ],
)
def test_a_class_that_only_bears_the_demanded_name_does_not(jail: Jail, code: str) -> None:
    [row] = judge(jail, task(raises=(("ValueError", "True"),)), code, 0)
    assert row["raises[ValueError]"] is not None


@pytest.mark.parametrize("code", ["def f(x): return 1 / x", "def f(x):\n    while True: pass"])
def test_what_no_clause_demands_breaks_raises_where_no_ensures_promises_a_result(jail: Jail, code: str) -> None:
    [row] = judge(jail, task(raises=(("ValueError", "x < 0"),)), code, 0)
    assert row["raises[ValueError]"][0] == "raises ValueError only if x < 0"


def test_a_call_that_never_ends_breaks_the_promise_and_is_marked_slow(jail: Jail) -> None:
    oracle = PropertyOracle(task(ensures=predicates("result == x")), jail, "def f(x):\n    while x: pass\n    return x")
    slow = oracle.judge([(0,), (1,)])[1]["ensures[0]"]
    assert isinstance(slow, Finding)
    assert slow.is_slow
    assert slow.actual == "no answer within the time limit"


def test_calls_that_were_skipped_are_unjudged(jail: Jail) -> None:
    rows = judge(jail, task(ensures=predicates("True")), "import os\ndef f(x): os._exit(1)", *range(5))
    broken = ("True", "the process ended itself")
    assert [row["ensures[0]"] for row in rows] == [broken, broken, broken, "not run", "not run"]


def test_laws_and_references_are_unjudged_where_calls_were_skipped(jail: Jail) -> None:
    code = "import os\ndef f(x): os._exit(1)"
    assert judge(jail, task(laws=predicates("f(x) > x")), code, *range(5))[4] == {"laws[0]": "not run"}
    assert judge(jail, task(reference="def f(x): return x"), code, *range(5))[4] == {"reference": "not run"}


def test_a_reference_does_not_speak_of_an_input_on_which_it_gives_no_answer(jail: Jail) -> None:
    spec = task(reference="def f(x):\n    while x == 1: pass\n    return x")
    rows = DifferentialOracle(spec, jail, "def f(x): return x").judge([(0,), (1,), (2,)])
    outside = Unjudged("the reference gives no answer in time", is_outside=True)
    assert [row["reference"] for row in rows] == [None, outside, None]


def test_a_reference_that_seldom_answers_is_soon_left(jail: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "MAX_REFERENCE_STOPS", 1)
    spec = task(reference="def f(x):\n    while x: pass\n    return x")
    for row in judge(jail, spec, "def f(x): return x", *range(1, 6))[2:]:
        assert row == {"reference": "the reference: not run"}


def test_a_program_is_run_on_no_input_of_which_the_reference_does_not_speak(jail: Jail) -> None:
    spec = task(reference="def f(x): return 6 // x")
    code = "import os\ndef f(x): return 6 // x if x else os._exit(1)"
    raises = {"reference": "the reference raises"}
    assert judge(jail, spec, code, 0, 1, 0, 2) == [raises, {"reference": None}, raises, {"reference": None}]
    assert judge(jail, spec, "1 / 0", 0) == [raises]


def test_nothing_is_run_behind_the_first_call_without_an_answer(jail: Jail) -> None:
    spec = task(reference="def f(x): return x")
    rows = judge(jail, spec, "import os\ndef f(x): return x if x < 1 else os._exit(1)", *range(3))
    assert rows == [{"reference": None}, {"reference": ("1", "the process ended itself")}, {"reference": "not run"}]


def test_a_large_input_behind_one_that_takes_too_long_would_too(
    scripted: Any, result: Callable[..., JailResult]
) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        answers = [Outcome("returned", row.arguments[0]) for row in calls]
        if source == "code":
            return result([Outcome("timeout"), *[Outcome("missing")] * (len(calls) - 1)], stopped_by="cpu")
        return result(answers)

    slow = {"reference": "no answer within the time limit on a large input"}
    assert judge(scripted(script), task(reference="reference"), "code", 20_000, 30_000) == [slow, slow]


def test_a_program_that_answers_slowly_gets_all_the_time_that_the_jail_allows(
    scripted: Any, result: Callable[..., JailResult]
) -> None:
    limits: list[Limits | None] = []

    class SlowJail(scripted):  # type: ignore[misc]
        def run(self, source: str, calls: Sequence[Call] = (), **options: Any) -> JailResult:
            limits.append(options["limits"])
            answers = [Outcome("returned", row.arguments[0]) for row in calls]
            is_hasty = source == "code" and options["limits"] is not None and len(calls) > 1
            return result([answers[0], *[Outcome("missing")] * (len(calls) - 1)] if is_hasty else answers)

    rows = judge(SlowJail(None), task(reference="reference"), "code", 1, 2, 3)
    assert rows == [{"reference": None}] * 3
    assert limits[-1] is None


def test_an_equality_law_is_compared_by_value_outside_of_the_jail(jail: Jail) -> None:
    spec = task(laws=predicates("f(x) == f(-x)"))
    held, broken = judge(jail, spec, "def f(x): return x if x == 2 else 0.0 if x > 0 else 0", 1, 2)
    assert held == {"laws[0]": None}
    assert broken == {"laws[0]": ("f(x) == f(-x)", "2 != 0")}


def test_an_object_that_equals_everything_breaks_an_equality_law(jail: Jail) -> None:
    code = "class E:\n    def __eq__(self, other): return True\ndef f(x): return E()"
    [row] = judge(jail, task(laws=predicates("f(x) == 1")), code, 1)
    assert row["laws[0]"] is not None


def test_another_law_is_a_claim(jail: Jail) -> None:
    held, broken = judge(jail, task(laws=predicates("f(x) > x")), "def f(x): return 5", 1, 9)
    assert held == {"laws[0]": None}
    assert broken == {"laws[0]": ("f(x) > x", "the law does not hold")}


def test_a_law_is_unjudged_where_a_side_raises(jail: Jail) -> None:
    rows = judge(jail, task(laws=predicates("f(x) == f(x)")), "def f(x): raise KeyError", 1)
    assert rows == [{"laws[0]": "a side raised KeyError"}]


def test_a_law_does_not_speak_of_inputs_that_must_raise(jail: Jail) -> None:
    spec = task(laws=predicates("f(x) == x"), raises=(("ValueError", "x < 0"),))
    [row] = judge(jail, spec, "def f(x):\n    if x < 0: raise ValueError\n    return x", -1)
    assert row == {"laws[0]": "an exception is demanded", "raises[ValueError]": None}


@pytest.mark.parametrize(
    "forgery",
    [
        "def sorted(xs): return 0",
        "def len(xs): return 0",
        "globals()['sorted'] = globals()['len'] = lambda xs: 0",
        "import sys\nbuiltins = sys.modules['builtins']\nbuiltins.sorted = lambda xs: 0",
        "import math\nmath.floor = lambda x: 0\ndef sorted(xs): return 0\ndef len(xs): return 0",
    ],
)
def test_a_law_reads_nothing_of_the_candidate_but_its_entry_point(jail: Jail, forgery: str) -> None:
    laws = predicates(
        "sorted([f(x)]) == sorted([math.floor(x + 0.5)])", "len([f(x)] * x) == x", "sorted([x]) == [f(x)]"
    )
    [row] = judge(jail, task(laws=laws), f"{forgery}\ndef f(x): return x + 1", 3)
    assert (row["laws[0]"], row["laws[1]"], row["laws[2]"]) == (
        ("sorted([f(x)]) == sorted([math.floor(x + 0.5)])", "[4] != [3]"),
        None,
        ("sorted([x]) == [f(x)]", "[3] != [4]"),
    )


def test_a_candidate_loads_among_laws_as_it_does_alone(jail: Jail) -> None:
    code = """from __future__ import annotations
from dataclasses import dataclass
from typing import get_type_hints
@dataclass
class Pair:
    left: Side
class Side: pass
def f(x): return [get_type_hints(Pair)["left"] is Side, __name__, g(x)]
def g(x): return x
"""
    spec = task(laws=predicates("f(x) == [True, 'candidate', x]"))
    assert judge(jail, spec, code, 3) == [{"laws[0]": None}]


def test_an_entry_point_may_bear_the_name_of_a_builtin(jail: Jail) -> None:
    spec = TaskSpec("p", "sum", parameters=(Parameter("x", "int"),), laws=predicates("sum(x) == x + 1"))
    assert judge(jail, spec, "def sum(x): return x + 1", 3) == [{"laws[0]": None}]


def test_laws_are_left_where_ensures_are_broken_already(jail: Jail) -> None:
    spec = task(ensures=predicates("result == x"), laws=predicates("f(x) == 0"))
    [row] = judge(jail, spec, "def f(x): return 1", 2)
    assert row == {"ensures[0]": ("result == x", "result is 1"), "laws[0]": "another promise is broken already"}


@pytest.mark.parametrize(
    ("spec", "promise", "culprit"),
    [
        (task(laws=predicates("f(x) == 0")), "laws[0]", "the code"),
        (task(ensures=predicates("result == 0")), "ensures[0]", "the code"),
        (task(reference="def f(x): return 1"), "reference", "the reference"),
    ],
)
def test_a_program_that_does_not_load_is_not_judged(
    scripted: Any, result: Callable[..., JailResult], spec: TaskSpec, promise: str, culprit: str
) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        if "armillary_law_0" in source:
            return result([Outcome("returned", {"tuple": ["question", {"tuple": [1]}]}) for _ in calls])
        return result([Outcome("missing")] * len(calls), load_error="E: no")

    jail = scripted(script)
    assert judge(jail, spec, "", 1) == [{promise: f"{culprit} loads now and then: E: no"}]


def test_code_that_does_not_load_beside_its_reference_is_not_judged(jail: Jail) -> None:
    reason = "the code loads now and then: ZeroDivisionError: division by zero"
    assert judge(jail, task(reference="def f(x): return x"), "1 / 0", 1) == [{"reference": reason}]


def test_the_reference_decides_where_it_returns(jail: Jail) -> None:
    spec = task(reference="def f(x): return 10 // x", returns="int")
    rows = judge(jail, spec, "def f(x): return 10 // x if x < 3 else 'odd'", 0, 1, 5)
    assert [row["reference"] for row in rows] == ["the reference raises", None, ("2", "'odd'")]


def test_an_exception_where_the_reference_returns_is_broken(jail: Jail) -> None:
    rows = judge(jail, task(reference="def f(x): return x"), "def f(x): raise KeyError(x)", 1)
    assert rows == [{"reference": ("1", "raised KeyError: 1")}]


def test_promises_name_all_clauses(jail: Jail) -> None:
    spec = task(ensures=predicates("result"), laws=predicates("f(x)"), raises=(("E", "x"),))
    found = PropertyOracle(spec, jail, code="").promises
    assert [(item.id, item.text) for item in found] == [
        ("ensures[0]", "result"),
        ("laws[0]", "f(x)"),
        ("raises[E]", "E if x"),
    ]


def test_predicates_that_do_not_load_are_the_tasks_fault(jail: Jail) -> None:
    twice = TaskSpec("p", "f", parameters=(Parameter("x"), Parameter("x")), requires=predicates("x"))
    with pytest.raises(TaskFormatError, match="do not load"):
        Contract(twice, jail).admits([(1, 1)])


def test_a_result_with_too_many_hashed_members_is_not_built(jail: Jail) -> None:
    spec = task(ensures=predicates("len(result) == 3"))
    code = "def f(x): return [{i: (i,) for i in range(x)}, {1}, frozenset()]"
    rows = judge(jail, spec, code, 5, MAX_HASHED_MEMBERS + 1)
    assert rows == [{"ensures[0]": None}, {"ensures[0]": "its result is too large to be judged"}]


def test_a_value_in_another_spelling_than_is_written_breaks_the_promise(
    scripted: Any, result: Callable[..., JailResult]
) -> None:
    def script(source: str, calls: Sequence[Call], run: int) -> JailResult:
        return result([Outcome("returned", {"set": [2, 1]})] * len(calls))

    [row] = judge(scripted(script), task(ensures=predicates("True")), "", 1)
    assert row == {"ensures[0]": ("True", "a forged value")}


HALF = "from fractions import Fraction\ndef f(x): return Fraction(x, 2)"
GENERATOR = "def f(x): yield x"


def test_a_value_that_cannot_leave_the_jail_is_not_held_against_the_program(jail: Jail) -> None:
    for spec in (
        task(ensures=predicates("result * 2 == x")),
        task(laws=predicates("f(x) == f(x)")),
        task(reference=HALF),
    ):
        oracle = DifferentialOracle(spec, jail, HALF) if spec.reference else PropertyOracle(spec, jail, HALF)
        [judged] = oracle.judge([(3,)])[0].values()
        assert isinstance(judged, Unjudged)
        assert "fractions.Fraction cannot leave the sandbox" in judged.reason


def test_whoever_hides_a_result_is_marked(jail: Jail) -> None:
    [row] = PropertyOracle(task(ensures=predicates("result > x")), jail, GENERATOR).judge([(3,)])
    assert row["ensures[0]"] == Unjudged(
        "a value that cannot leave the sandbox: values of type builtins.generator cannot leave the sandbox",
        is_hidden=True,
    )


def test_a_value_that_equals_nothing_else_differs_from_the_reference(jail: Jail) -> None:
    [row] = judge(jail, task(reference="def f(x): return [x]"), GENERATOR, 3)
    assert row["reference"] is not None
    assert row["reference"][0] == "[3]"


def test_another_class_with_its_own_equality_may_be_the_references_result(jail: Jail) -> None:
    code = "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\ndef f(x): return P(x)"
    [judged] = DifferentialOracle(task(reference="def f(x): return (x,)"), jail, code).judge([(3,)])
    found = judged["reference"]
    assert isinstance(found, Unjudged)
    assert found.is_hidden


def test_a_demanded_exception_is_not_met_by_a_hidden_value(jail: Jail) -> None:
    [row] = judge(jail, task(raises=(("ValueError", "True"),)), GENERATOR, 3)
    assert row["raises[ValueError]"][0] == "raises ValueError"


def test_a_reference_that_is_slow_on_a_large_input_says_nothing_of_it(jail: Jail) -> None:
    slow = "def f(x):\n    while x > 9: pass\n    return x"
    rows = judge(jail, task(reference=slow), "def f(x): return x", 3, 20_000)
    assert rows == [{"reference": None}, {"reference": "no answer within the time limit on a large input"}]
