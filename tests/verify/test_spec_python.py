from __future__ import annotations

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import Example, Parameter
from armillary.verify.source import defined_functions, parse_module
from armillary.verify.spec_python import has_stub, is_stub, task_from_stub

DECORATED = '''
"""A task."""
import math
from armillary import (
    ensures, examples, requires,
)
import armillary

LIMIT = 3


@requires("len(xs) > 0", lambda xs: xs[0] < 9)
@armillary.ensures("result in xs")
@laws("largest(xs) == largest(xs[::-1])")
@temporal("steps <= 4 * len(xs) + 9", lambda xs, steps: steps > 0)
@raises(ValueError, "len(xs) == 7")
@raises(KeyError="len(xs) == 8")
@examples("largest([1, 3, 2]) == 3", (([4],), 4))
@inputs(xs="list[int] | len<=5")
@reference("""
    def largest(xs):
        return max(xs)
""")
@budget(num_candidates=4)
def largest(xs: list[int]) -> int:
    """Return the largest element.

    >>> largest([5])
    5
    """
    pass
'''


def test_decorators_are_read_without_running_the_file() -> None:
    task = task_from_stub(DECORATED)
    assert [item.text for item in task.requires] == ["len(xs) > 0", "xs[0] < 9"]
    assert [item.text for item in task.ensures] == ["result in xs"]
    assert [item.text for item in task.laws] == ["largest(xs) == largest(xs[::-1])"]
    assert [item.text for item in task.temporal] == ["steps <= 4 * len(xs) + 9", "steps > 0"]
    assert dict(task.raises) == {"ValueError": "len(xs) == 7", "KeyError": "len(xs) == 8"}
    assert task.parameters == (Parameter("xs", "list[int]", "list[int] | len<=5"),)
    assert task.reference.startswith("def largest(xs):\n    return")
    assert task.budget.num_candidates == 4
    assert task.examples == (
        Example(([1, 3, 2],), 3),
        Example(([4],), 4),
        Example(([5],), 5, origin="docstring"),
    )


def test_the_prompt_is_the_file_without_decorators_and_body() -> None:
    prompt = task_from_stub(DECORATED).prompt
    assert "armillary" not in prompt
    assert "@" not in prompt
    assert "pass" not in prompt
    assert prompt.startswith('"""A task."""\nimport math')
    assert "LIMIT = 3" in prompt
    assert prompt.rstrip().endswith('"""')


def test_a_stub_without_docstring_keeps_an_ellipsis() -> None:
    assert task_from_stub("def f(x):\n    return x\n").prompt == "def f(x):\n    ...\n"
    assert task_from_stub("def f(x): ...\n").prompt == "def f(x): ...\n"


def test_the_last_stub_is_the_one_to_write() -> None:
    source = "import math\ndef helper(x):\n    return x\n\ndef f(y: int) -> int:\n    '''f(1) == 2'''\n"
    task = task_from_stub(source)
    assert (task.entry_point, task.returns, task.prompt) == ("f", "int", source)


def test_the_function_may_be_named() -> None:
    task = task_from_stub("def f(): ...\ndef g(): ...", entry_point="f", reference="def f(): return 1")
    assert (task.entry_point, task.reference) == ("f", "def f(): return 1")


def test_the_only_function_is_the_one() -> None:
    assert task_from_stub("def f(x):\n    '''Doc.'''\n    return 1").prompt == "def f(x):\n    '''Doc.'''\n"


@pytest.mark.parametrize(
    ("source", "prompt"),
    [
        ("def f(x): return x", "def f(x): ...\n"),
        ("def f(x):\n    import math\n", "def f(x):\n    ...\n"),
        ("def f(x,\n  y): return x", "def f(x,\n  y): ...\n"),
        ("def größe(x): return x", "def größe(x): ...\n"),
        ("def f(x): 'Doc.'; return x", "def f(x): 'Doc.'\n"),
        ("def f(x):\n    'Doc.'; return x\n", "def f(x):\n    'Doc.'\n"),
        ("def f(x):\n\treturn x\n", "def f(x):\n\t...\n"),
        ("def f(x):\r\n    return (\r\n    1)\r\nA = 1\r\n", "def f(x):\n    ...\nA = 1\n"),
        ("\ufeffdef f(x): ...", "def f(x): ...\n"),
    ],
)
def test_no_body_stays_in_the_prompt_wherever_it_begins(source: str, prompt: str) -> None:
    assert task_from_stub(source).prompt == prompt


@pytest.mark.parametrize("character", ["\x0c", "\u2028", "\x85", "\x1d"])
def test_only_the_line_ends_of_python_count(character: str) -> None:
    source = f"s = 'a{character}b'\n@requires('x > 0')\ndef f(x):\n    'Doc.'\n    return 1\n"
    assert task_from_stub(source).prompt == f"s = 'a{character}b'\ndef f(x):\n    'Doc.'\n"


def test_an_import_before_the_docstring_hides_neither_it_nor_its_examples() -> None:
    source = "def f(x):\n    import math\n    'Round up: f(1.5) == 2'\n    return math.ceil(x)\n"
    task = task_from_stub(source)
    assert task.prompt == source[: source.index("    return")]
    assert task.examples == (Example((1.5,), 2, origin="docstring"),)


def test_a_helper_may_have_decorators_of_its_own() -> None:
    task = task_from_stub("@cache\ndef helper(x):\n    return x\n\ndef f(x): ...\n")
    assert (task.entry_point, task.prompt.startswith("@cache")) == ("f", True)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def f(:", "line 1: not a Python stub"),
        ("x = 1", "no function at the top level"),
        ("def f(): return 1\ndef g(): return 2", "which function is to be written"),
        ("def f(*, k): ...", "by keyword"),
        ("@cache\ndef f(): ...", "line 1, cache: unknown field"),
        ("@require('x')\ndef f(): ...", "did you mean 'requires'"),
        ("@temporal('steps < y')\ndef f(): ...", "line 1, temporal.0.: 'steps < y' reads 'y'"),
        ("@requires\ndef f(): ...", "needs its values in brackets"),
        ("@requires(x)\ndef f(): ...", "not a literal"),
        ("@requires(1)\ndef f(): ...", "1 is not text"),
        ("@requires(x='1')\ndef f(x): ...", "without names"),
        ("@examples(a='f(1) == 2')\ndef f(x): ...", "without names"),
        ("@inputs('int')\ndef f(x): ...", "write inputs.name=value"),
        ("@budget(3)\ndef f(x): ...", "write budget.name=value"),
        ("@reference()\ndef f(x): ...", "one reference"),
        ("@reference('def f(x): ...', 'y')\ndef f(x): ...", "one reference"),
        ("@requires('x')\ndef f(x): ...\n@requires('x')\ndef g(x): ...", "which function is to be written"),
        ("def f(*xs): ...", "name each parameter"),
        ("async def f(x): ...", "no function at the top level"),
        ("class A:\n    def f(self): ...", "no function at the top level"),
        ("@raises(ValueError)\ndef f(): ...", "write raises"),
        ("@inputs(**x)\ndef f(): ...", "cannot be unpacked"),
        ("@examples((1, 2, 3))\ndef f(x): ...", "line 1, examples.0.: .1, 2, 3. is no example"),
        ("@examples('f(1, 2) == 3')\ndef f(x): ...", "line 1, examples.0.:"),
        ("@ensures('y > 0')\ndef f(x): ...", "line 1, ensures.0.: 'y > 0' reads 'y'"),
    ],
)
def test_a_bad_stub_is_named_with_its_line(source: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem):
        task_from_stub(source)


def test_a_named_function_must_exist() -> None:
    with pytest.raises(TaskFormatError, match="no function 'g'"):
        task_from_stub("def f(): ...", entry_point="g")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("'''Doc.'''", True),
        ("pass", True),
        ("...", True),
        ("raise NotImplementedError('x')", True),
        ("return 1", False),
        ("raise KeyError", False),
    ],
)
def test_a_stub_has_no_body_to_speak_of(body: str, expected: bool) -> None:
    assert is_stub(defined_functions(parse_module(f"def f():\n    {body}"))[0]) is expected


def test_only_python_with_a_function_has_a_stub() -> None:
    assert has_stub("def f(): ...")
    assert not has_stub("prompt: x")
    assert not has_stub("x = 1")
