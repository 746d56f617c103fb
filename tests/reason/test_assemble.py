"""A function goes back into the file that its stub came from."""

from __future__ import annotations

import pytest

from armillary.core.tasks import TaskSpec
from armillary.reason.assemble import assemble

STUB = '''
from __future__ import annotations
import math as m
import os.path
from typing import List, Optional

LIMIT, OTHER = 3, 4

class Box:
    pass

def helper(x):
    return x + 1

print("side effect")

def f(x: List[int]) -> int:
    """Do it with helper."""
'''
CODE = "def f(x):\n    return helper(x) + LIMIT"
TASK = TaskSpec(STUB, "f")


def test_what_the_stub_imports_and_defines_is_there_when_the_code_runs() -> None:
    program = assemble(TASK, CODE)
    scope: dict[str, object] = {}
    exec(program, scope)
    assert scope["f"](4) == 8  # type: ignore[operator]  # it is the function above
    assert {"m", "os", "List", "Optional", "Box"} <= set(scope)
    assert program.endswith(CODE)


def test_statements_that_bind_no_name_and_the_stub_itself_are_left_out() -> None:
    program = assemble(TASK, CODE)
    assert "side effect" not in program
    assert program.count("def f(") == 1
    assert "__future__" not in program


def test_the_codes_own_definitions_go_first() -> None:
    program = assemble(TASK, f"from typing import List, Optional\n\ndef helper(x):\n    return 0\n\n{CODE}")
    assert "return x + 1" not in program
    assert program.count("import List") == 1


def test_complete_code_is_left_alone() -> None:
    task = TaskSpec('import os\n\ndef f():\n    """Do it."""\n', "f")
    code = "import os\n\ndef f():\n    return os.sep"
    assert assemble(task, code) == code


@pytest.mark.parametrize(
    ("prompt", "code"),
    [
        ("Write f, please.", CODE),
        (STUB, "def f(:"),
        (STUB, ""),
        (STUB, "def g(x): return x"),
        ("import os\n\ndef other():\n    pass\n", CODE),
        (STUB, f"from __future__ import annotations\n{CODE}"),
    ],
)
def test_what_cannot_be_put_together_is_left_as_it_is(prompt: str, code: str) -> None:
    assert assemble(TaskSpec(prompt, "f"), code) == code
