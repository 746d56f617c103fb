"""Wrong programs that a narrow choice of inputs would let through, each beside a right one that must be accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec
from armillary.core.verdicts import Status
from armillary.verify.comparison import matches
from armillary.verify.execution import Jail, run_calls
from armillary.verify.fuzz import NUM_INPUTS
from armillary.verify.generate import generate_inputs
from armillary.verify.sandbox.outcomes import Call
from armillary.verify.verifier import CodeVerifier

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Case:
    """A task on ``x`` with the expression of a right body and those of wrong ones."""

    name: str
    annotation: str
    right: str
    wrong: Sequence[str]
    domain: str = ""
    is_by_reference: bool = False

    @property
    def task(self) -> TaskSpec:
        parameters = (Parameter("x", self.annotation, self.domain),)
        if self.is_by_reference:
            return TaskSpec("p", "f", parameters, reference=program(self.right))
        return TaskSpec("p", "f", parameters, ensures=(Predicate(f"result == ({self.right})"),))


def program(body: str) -> str:
    if "\n" in body:
        return "def f(x):\n    " + body.replace("\n", "\n    ")
    return f"def f(x):\n    return {body}"


BALANCED = """waiting = []
for char in x:
    if char in '([{':
        waiting.append(char)
    elif char in ')]}':
        if not waiting or waiting.pop() + char not in ('()', '[]', '{}'):
            return False
return not waiting"""
ONE_KIND = """depth = 0
for char in x:
    depth += (char == '(') - (char == ')')
    if depth < 0:
        return False
return depth == 0"""
UPPER_ASCII = "''.join(chr(ord(c) - 32) if 'a' <= c <= 'z' else c for c in x)"
RUNS = """found = []
for char in x:
    if found and found[-1][0] == char:
        found[-1] = (char, found[-1][1] + 1)
    else:
        found.append((char, 1))
return found"""

CASES = (
    Case(
        "brackets",
        "str",
        BALANCED,
        [
            "'(' not in x",
            ONE_KIND,
            "all(x.count(p[0]) == x.count(p[1]) for p in ('()', '[]', '{}'))",
            "not any(c in '()[]{}' for c in x)",
        ],
        is_by_reference=True,
    ),
    Case(
        "brackets of one kind",
        "str",
        ONE_KIND,
        ["'(' not in x", "x.count('(') == x.count(')')", "x.count('(') == x.count(')') and x[:1] != ')'"],
        domain="str | chars '()'",
        is_by_reference=True,
    ),
    Case("digits", "str", "sum(c.isdigit() for c in x)", ["x.count('1')", "sum(c in '12345678' for c in x)", "0"]),
    Case(
        "words",
        "str",
        "len(x.split())",
        ["len(x.split(' '))", "len([w for w in x.split(' ') if w])", "x.strip().count(' ') + (x.strip() != '')"],
    ),
    Case("upper case", "str", "x.upper()", [UPPER_ASCII, "x.capitalize()", "x.swapcase()", "x.title()"]),
    Case(
        "backwards",
        "str",
        "x[::-1]",
        [
            "x[::-1] if x.isascii() else 'x'",
            "'x' if '\\n' in x else x[::-1]",
            "'x' if '\\t' in x else x[::-1]",
            "x[::-1] if len(x) < 40 else 'x'",
            "x[::-1] if all(ord(c) < 1 << 16 for c in x) else 'x'",
            "x[::-1].strip(' ')",
            "x[::-1] if x.strip() == x or not x.startswith(' ') else 'x'",
            "x[::-1] if not x.endswith(' ') else 'x'",
            "x[::-1] if x else 'x'",
            "x[::-1] if x in (x.lower(), x.upper()) else 'x'",
            "'x' if any(x[i:i + 3] == x[i] * 3 for i in range(len(x))) else x[::-1]",
            "'x' if any('!' <= c <= '/' for c in x) else x[::-1]",
        ],
    ),
    Case(
        "palindromes",
        "str",
        "x == x[::-1]",
        ["len(x) < 2", "x[:1] == x[-1:]", "x == x[::-1] and len(x) < 6"],
    ),
    Case(
        "runs",
        "str",
        RUNS,
        [
            RUNS.replace("+ 1)", "+ 1 if found[-1][1] < 9 else 9)"),
            RUNS.replace("found[-1][0] == char", "found[-1][0].lower() == char.lower()"),
            "[(c, x.count(c)) for c in dict.fromkeys(x)]",
        ],
        is_by_reference=True,
    ),
    Case(
        "squares",
        "int",
        "x * x",
        ["int(float(x) * float(x))", "x * abs(x)", "x * x if abs(x) < 2 ** 31 else 0", "x * x & (2 ** 64 - 1)"],
    ),
    Case(
        "integers as they are", "int", "x", ["int(float(x))", "x if x < 2 ** 63 else 0", "x if x > -(2 ** 31) else 0"]
    ),
    Case(
        "numbers of bits",
        "int",
        "x.bit_length()",
        ["len(str(x)) * 3", "x.bit_length() if abs(x) != 2 ** 16 - 1 and x < 2 ** 40 else 40"],
        domain="int | >= 0",
    ),
    Case(
        "sorting",
        "list[int]",
        "sorted(x)",
        [
            "sorted(x) if len(x) < 32 else x",
            "sorted(set(x))",
            "x[::-1] if x == sorted(x) else sorted(x)",
            "[] if len(x) > 4 and x == sorted(x) else sorted(x)",
            "[] if len(x) > 4 and x == sorted(x, reverse=True) else sorted(x)",
            "[] if len(x) > 4 and len(set(x)) == 1 else sorted(x)",
            "[] if len(x) > 4 and len(set(x)) < len(x) else sorted(x)",
            "[] if len(x) > 4 and len(set(x)) == len(x) else sorted(x)",
            "sorted(x) if len(x) != 1 else []",
            "sorted(x, key=abs)",
        ],
    ),
    Case(
        "floats as they are",
        "float",
        "x",
        [
            "abs(x)",
            "x if abs(x) > 1e-4 or x == 0 else 0.0",
            "x if abs(x) < 1e9 else 0.0",
            "x if abs(x) < 1e15 else 0.0",
            "x if x > -1e9 else 0.0",
            "float(int(x))",
            "x if x != int(x) else x + 1",
            "round(x, 3)",
        ],
    ),
    Case(
        "keys",
        "dict[str, int]",
        "sorted(x)",
        ["sorted(x) if len(x) <= 10 else []", "sorted(x)[:20]", "list(x)", "sorted(x, key=str.lower)"],
    ),
    Case("values", "dict[int, int]", "sum(x.values())", ["sum(set(x.values()))", "sum(list(x.values())[:10])"]),
    Case(
        "texts in lists",
        "list[str]",
        "sum(map(len, x))",
        [
            "sum(map(len, set(x)))",
            "sum(min(len(t), 29) for t in x)",
            "sum(len(t.strip()) for t in x)",
            "sum(len(t.encode()) for t in x)",
        ],
    ),
    Case("bytes", "bytes", "x.upper()", ["x", "x.upper() if len(x) < 30 else x"]),
    Case("sets", "set[int]", "len(x)", ["min(len(x), 15)", "len({abs(v) for v in x})"]),
)


WITH_EXAMPLES = (
    ("upper case", ("abc",), "ABC"),
    ("digits", ("a1",), 1),
    ("backwards", ("hello",), "olleh"),
    ("squares", (3,), 9),
    ("floats as they are", (2.5,), 2.5),
    ("sorting", ([2, 1],), [1, 2]),
    ("keys", ({"b": 1, "a": 2},), ["a", "b"]),
)
PAIRS = (
    ("str", "str", "sorted(a) == sorted(b)", ["a == b", "set(a) == set(b)", "len(a) == len(b) and set(a) == set(b)"]),
    ("str", "str", "b in a", ["a.startswith(b)", "a == b or not b", "a.startswith(b) or a.endswith(b)"]),
    ("list[int]", "int", "a.count(b)", ["int(b in a)", "min(a.count(b), 2)", "a[:5].count(b)"]),
    ("list[int]", "list[int]", "a == b", ["len(a) == len(b)", "sorted(a) == sorted(b)", "a[:4] == b[:4]"]),
    ("int", "int", "a > b", ["a >= b", "a > b and a > 0"]),
)


def not_told_apart(jail: Jail, task: TaskSpec, right: str, wrong: Sequence[str], seed: int) -> list[str]:
    """Wrong programs that do the same as the right one on all generated inputs, in the real sandbox."""
    calls = [Call("f", arguments) for arguments in generate_inputs(task, count=NUM_INPUTS, seed=seed)]
    expected = run_calls(jail, right, calls).observations
    assert {seen.kind for seen in expected} == {"returned"}

    def is_equal(code: str) -> bool:
        return all(
            found.kind == "returned" and matches(seen.value, found.value)
            for seen, found in zip(expected, run_calls(jail, code, calls).observations, strict=True)
        )

    return [code for code in wrong if is_equal(code)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_wrong_program_differs_on_some_input_whatever_the_seed(jail: Jail, case: Case) -> None:
    for seed in SEEDS:
        assert not_told_apart(jail, case.task, program(case.right), list(map(program, case.wrong)), seed) == []


@pytest.mark.parametrize(("name", "arguments", "expected"), WITH_EXAMPLES, ids=[row[0] for row in WITH_EXAMPLES])
def test_an_example_narrows_no_test(jail: Jail, name: str, arguments: tuple[object, ...], expected: object) -> None:
    case = next(case for case in CASES if case.name == name)
    task = replace(case.task, examples=(Example(arguments, expected),))
    for seed in SEEDS:
        assert not_told_apart(jail, task, program(case.right), list(map(program, case.wrong)), seed) == []


@pytest.mark.parametrize(("first", "second", "right", "wrong"), PAIRS, ids=[row[2] for row in PAIRS])
def test_parameters_that_have_to_do_with_each_other_are_tried(
    jail: Jail, first: str, second: str, right: str, wrong: Sequence[str]
) -> None:
    task = TaskSpec("p", "f", (Parameter("a", first), Parameter("b", second)))
    right, *others = (f"def f(a, b): return {body}" for body in (right, *wrong))
    for seed in SEEDS:
        assert not_told_apart(jail, task, right, others, seed) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_right_program_is_accepted_and_a_wrong_one_refuted(jail: Jail, case: Case) -> None:
    verifier = CodeVerifier(jail)
    for seed in SEEDS:
        verdict = verifier.verify(case.task, program(case.right), seed=seed)
        assert (verdict.status, verdict.reason) == (Status.TESTED, f"passed 200 generated inputs (seed {seed})")
    assert verifier.verify(case.task, program(case.wrong[0])).status == Status.REFUTED
