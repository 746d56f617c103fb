"""Hidden tests: what passes, what does not, and what only pretends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from bench_data import ADD, write_data, write_lines

from armillary.bench.humaneval import HiddenTests, Problem, load_problems
from armillary.core.errors import NotFoundError, UsageError
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits

RIGHT = "def add(x, y):\n    return x + y\n"
ONLY_BASE = "def add(x, y):\n    return x + y if x > 0 else 99\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("B") as jail:
        yield jail


@pytest.fixture
def problems(tmp_path: Path) -> list[Problem]:
    return load_problems(write_data(tmp_path))


class CountingJail:
    """A real jail, and how often it ran."""

    def __init__(self, jail: Sandbox) -> None:
        self.jail = jail
        self.sources: list[str] = []

    def run(self, source: str, calls: Sequence[Call], *, limits: Limits, seed: int) -> JailResult:
        self.sources.append(source)
        return self.jail.run(source, calls, limits=limits, seed=seed)


def test_problems_are_read_with_their_extra_inputs(problems: list[Problem]) -> None:
    assert [problem.entry_point for problem in problems] == ["add", "root", "double"]
    assert problems[0].plus_inputs == ((1, 2), (-1, 1), (0, 0))
    assert problems[0].reference.endswith("return x + y\n")


def test_the_first_problems_can_be_taken_alone_and_without_extra_inputs(tmp_path: Path) -> None:
    (problem,) = load_problems(write_data(tmp_path, has_plus=False), limit=1)
    assert problem.plus_inputs == ()


def test_a_folder_without_the_data_says_which_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"HumanEval.jsonl.gz"):
        load_problems(tmp_path)


@pytest.mark.parametrize("raw", [b"plain text", b"\x1f\x8b\x08cut"])
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "HumanEval.jsonl.gz").write_bytes(raw)
    with pytest.raises(UsageError, match="gzipped"):
        load_problems(tmp_path)


def test_a_problem_without_a_field_is_named_by_it(tmp_path: Path) -> None:
    write_lines(tmp_path / "HumanEval.jsonl.gz", [{key: value for key, value in ADD.items() if key != "test"}])
    with pytest.raises(UsageError, match="test"):
        load_problems(tmp_path)


def test_a_right_program_passes_both(sandbox: Sandbox, problems: list[Problem]) -> None:
    hidden = HiddenTests(sandbox)
    assert hidden.passes(problems[0], RIGHT)
    assert hidden.passes_plus(problems[0], RIGHT)


def test_a_program_that_only_knows_the_base_tests_fails_the_extra_inputs(
    sandbox: Sandbox, problems: list[Problem]
) -> None:
    hidden = HiddenTests(sandbox)
    assert hidden.passes(problems[0], ONLY_BASE)
    assert not hidden.passes_plus(problems[0], ONLY_BASE)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "def add(x, y):\n    return x - y\n",
        "def add(x, y:\n",
        "def add(x, y):\n    while True: pass\n",
        "def add(x, y):\n    raise SystemExit(0)\n",
        "import os\ndef add(x, y):\n    os._exit(0)\n",
        "def add(x, y):\n    print('passed')\n",
        "def check(candidate): pass\ndef _pass(word): return word\n",
        "def add(x, y):\n    class Always:\n        def __eq__(self, other): return False\n    return Always()\n",
        "class Always:\n    def __eq__(self, other): return True\ndef add(x, y):\n    return Always()\n",
        "class Always(int):\n    def __eq__(self, other): return True\n    __hash__ = None\n"
        "def add(x, y):\n    return Always()\n",
        "class Always:\n    def __eq__(self, other): return True\ndef add(x, y):\n    return [Always()]\n",
        "import sys\ndef add(x, y):\n    sys._getframe(1).f_globals['check'] = lambda candidate: None\n    return 0\n",
        "import armillary.core.values as values\nvalues.encode = lambda value: 3\ndef add(x, y):\n    return 0\n",
    ],
)
def test_what_is_wrong_or_pretends_does_not_pass(sandbox: Sandbox, problems: list[Problem], code: str) -> None:
    hidden = HiddenTests(sandbox, Limits(call_cpu_s=0.3))
    assert not hidden.passes(problems[0], code)
    assert not hidden.passes_plus(problems[0], code)


def test_each_program_is_judged_once(sandbox: Sandbox, problems: list[Problem]) -> None:
    jail = CountingJail(sandbox)
    hidden = HiddenTests(jail)
    for _ in range(3):
        hidden.passes(problems[0], RIGHT)
        hidden.passes_plus(problems[0], RIGHT)
    assert len(jail.sources) == 5
    assert [source for source in jail.sources if RIGHT in source] == [RIGHT, RIGHT]


def test_a_program_never_shares_a_process_with_the_asserts(sandbox: Sandbox, problems: list[Problem]) -> None:
    jail = CountingJail(sandbox)
    HiddenTests(jail).passes(problems[0], RIGHT)
    assert not [source for source in jail.sources if RIGHT in source and "assert" in source]


def test_a_program_that_raises_on_one_input_does_not_pass(sandbox: Sandbox, problems: list[Problem]) -> None:
    late = "def add(x, y):\n    if x == 5: raise ValueError\n    return x + y\n"
    assert not HiddenTests(sandbox).passes(problems[0], late)


def test_a_forged_value_does_not_pass(sandbox: Sandbox, problems: list[Problem]) -> None:
    class Forger(CountingJail):
        def run(self, source: str, calls: Sequence[Call], *, limits: Limits, seed: int) -> JailResult:
            result = super().run(source, calls, limits=limits, seed=seed)
            forged = tuple(replace(outcome, value={"nothing": 1}) for outcome in result.outcomes)
            return replace(result, outcomes=forged) if source == RIGHT else result

    assert not HiddenTests(Forger(sandbox)).passes(problems[0], RIGHT)


def test_a_reference_that_fails_its_own_tests_is_named(sandbox: Sandbox, problems: list[Problem]) -> None:
    broken = replace(problems[0], reference="def add(x, y):\n    return x - y\n")
    with pytest.raises(UsageError, match="HumanEval/0: the reference does not pass its own tests"):
        HiddenTests(sandbox).passes(broken, RIGHT)


def test_where_several_answers_are_right_the_reference_does_not_decide(
    sandbox: Sandbox, problems: list[Problem]
) -> None:
    assert HiddenTests(sandbox).passes_plus(problems[1], "def root(x):\n    return -(x ** 0.5)\n")


def test_an_input_on_which_the_reference_fails_proves_nothing(sandbox: Sandbox, problems: list[Problem]) -> None:
    assert HiddenTests(sandbox).passes_plus(problems[2], "def double(x):\n    return x + x\n")
