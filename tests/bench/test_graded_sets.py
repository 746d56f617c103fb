"""MBPP's and the contests' forms, on small problems of our own, graded in a real jail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary.bench import contests, mbpp
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.tasks import Budget, Example
from armillary.verify.sandbox.client import Sandbox

BUDGET = Budget(num_candidates=2)
DOUBLE = {
    "task_id": 11,
    "text": "Write a function to double a number.",
    "code": "def double(n):\n    return 2 * n\n",
    "test_setup_code": "",
    "test_list": ["assert double(2) == 4", "assert double(1.0/4) == 0.5", "assert double(-3) == -6"],
}
TREE = {
    "task_id": 12,
    "text": "Write a function to count nodes.",
    "code": "class Node:\n    pass\ndef count(root, deep): return 1",
    "test_setup_code": "root = Node()",
    "test_list": ["assert count(root, 3) == 1", "assert count(root, 4) == 1"],
}
SHIFT = {
    "task_id": "contest-1",
    "meta": {"difficulty": "Easy"},
    "prompt": '"""\nShift every number.\n\nExample 1:\n\nInput: nums = [1,2], k = 3\nOutput: [4,5]\n"""\n'
    "class Solution:\n    def shift(self, nums: List[int], k: int) -> List[int]:\n        ",
    "test": "my_solution = Solution()\n\n"
    'test_input = { "nums": [1,2], "k": 3 }\nassert my_solution.shift(**test_input) == [4,5]\n\n'
    'test_input = { "nums": [], "k": 1 }\nassert my_solution.shift(**test_input) == []\n',
}
LINKED = SHIFT | {
    "task_id": "contest-2",
    "test": 'test_input = { "nums": make([1]), "k": 3 }\nassert my_solution.shift(**test_input) == [4]\n',
}


@pytest.fixture(scope="module")
def jail() -> Iterator[Sandbox]:
    with Sandbox("B") as sandbox:
        yield sandbox


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path.parent


def test_an_mbpp_problem_shows_its_text_and_first_assert_alone(jail: Sandbox, tmp_path: Path) -> None:
    others = [DOUBLE | {"task_id": number} for number in (10, 511)]
    [problem] = mbpp.load_problems(write(tmp_path / mbpp.FILE, DOUBLE, *others), jail, budget=BUDGET)
    assert (problem.id, problem.task.prompt, problem.task.entry_point) == ("MBPP/11", DOUBLE["text"], "double")
    assert problem.task.examples == (Example((2,), 4),)
    assert problem.task.budget == BUDGET
    assert [item.name for item in problem.task.parameters] == ["a"]
    assert problem.calls == (((0.25,), 0.5), ((-3,), -6))


def test_the_other_asserts_grade(jail: Sandbox, tmp_path: Path) -> None:
    [problem] = mbpp.load_problems(write(tmp_path / mbpp.FILE, DOUBLE), jail, budget=BUDGET)
    assert problem.is_right("def double(n): return n + n")
    assert not problem.is_right("def double(n): return 4")
    assert not problem.is_right_by_base("def double(n: return")


def test_nothing_is_right_where_arguments_cannot_be_carried(jail: Sandbox, tmp_path: Path) -> None:
    [problem] = mbpp.load_problems(write(tmp_path / mbpp.FILE, TREE), jail, budget=BUDGET)
    assert (problem.calls, problem.task.examples) == ((), ())
    assert [item.name for item in problem.task.parameters] == ["a", "b"]
    assert not problem.is_right(str(TREE["code"]))


def test_a_contest_problem_becomes_a_stub_of_a_plain_function(jail: Sandbox, tmp_path: Path) -> None:
    [problem] = contests.load_problems(write(tmp_path / "some_contest_1.jsonl", SHIFT), jail, budget=BUDGET)
    assert (problem.id, problem.group, problem.task.entry_point) == ("contest-1", "Easy", "shift")
    assert problem.task.prompt.startswith("from typing import *\n\ndef shift(nums: List[int], k: int) -> List[int]:")
    assert problem.task.examples == (Example(([1, 2], 3), [4, 5], origin="docstring"),)
    assert problem.is_right("def shift(nums, k): return [n + k for n in nums]")
    assert not problem.is_right("def shift(nums, k): return [4, 5]")


def test_nothing_is_right_where_inputs_are_objects(jail: Sandbox, tmp_path: Path) -> None:
    [problem] = contests.load_problems(write(tmp_path / "a_contest.jsonl", LINKED), jail, budget=BUDGET)
    assert problem.calls == ()


@pytest.mark.parametrize(("load", "name"), [(mbpp.load_problems, mbpp.FILE), (contests.load_problems, "contest.jsonl")])
def test_a_missing_or_foreign_file_is_told(jail: Sandbox, tmp_path: Path, load: Any, name: str) -> None:
    with pytest.raises(NotFoundError, match="pass --data DIR"):
        load(tmp_path, jail, budget=BUDGET)
    (tmp_path / name).write_text('{"other": 1}\n')
    with pytest.raises(UsageError, match="is no"):
        load(tmp_path, jail, budget=BUDGET)
