from __future__ import annotations

import ast

import pytest

from armillary.core.tasks import Example, Parameter, TaskSpec
from armillary.verify.policy import bound_names, check_policy

TASK = TaskSpec("p", "f", parameters=(Parameter("x"), Parameter("y")))


@pytest.mark.parametrize(
    "code",
    [
        "def f(x, y): return x",
        "def f(x, y=1, *rest): return x",
        "def f(*arguments): return 1",
        "f = lambda x, y: x",
        "from operator import add as f",
        "import math as f",
        "if True:\n    def f(x, y): return 1\nelse:\n    f = None",
        "try:\n    import fast\nexcept ImportError:\n    fast = None\nfinally:\n    f = max",
        "for f in [max]: pass",
        "with open('x') as g: f: int = 3",
        "import sys, math, re, itertools, collections, functools, heapq, typing, string, random, threading\n"
        "sys.setrecursionlimit(9000)\ndef f(x, y): return eval('x')",
        "class f:\n    def __init__(self, x, y): self.name = self.__class__.__name__",
    ],
)
def test_code_that_only_computes_passes(code: str) -> None:
    assert check_policy(TASK, code) is None


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def f(x, y:", "line 1: not Python"),
        ("", "defines no function 'f'"),
        ("def g(): pass\ndef h(): pass", "defines no function 'f' at its top level; it defines g, h"),
        ("class A:\n    def f(self): pass", "defines no function 'f'"),
        ("def f(x): pass", "line 1: 'f' cannot be called with 2 arguments"),
        ("def f(x, y, z): pass", "cannot be called with 2 arguments"),
        ("def f(x, *, y): pass", "line 1: parameter 'y' must be passed by keyword"),
        ("async def f(x, y): pass", "is async"),
        ("import os\ndef f(x, y): pass", "line 1: uses os: talks to the operating system"),
        ("import os.path as p\ndef f(x, y): pass", "uses os"),
        ("from subprocess import run\ndef f(x, y): pass", "uses subprocess"),
        ("def f(x, y):\n    import ctypes", "line 2: uses ctypes"),
        ("import sys\ndef f(x, y): return sys._getframe(1)", "uses _getframe: looks into the frames"),
        ("from sys import _getframe as g\ndef f(x, y): return g(1)", "uses _getframe"),
        ("def f(x, y): return ().__class__.__base__.__subclasses__()", "uses __subclasses__"),
        ("def f(x, y): return __import__('os')", "uses __import__"),
        ("import armillary.core\ndef f(x, y): pass", "reaches for its judge"),
    ],
)
def test_what_is_refused_is_named_with_its_line(code: str, problem: str) -> None:
    found = check_policy(TASK, code)
    assert found is not None
    assert problem in str(found)


def test_without_parameters_the_examples_say_how_many_arguments() -> None:
    task = TaskSpec("p", "f", examples=(Example((1,)),))
    assert str(check_policy(task, "def f(): pass")) == "line 1: 'f' cannot be called with 1 argument"
    assert check_policy(TaskSpec("p", "f"), "def f(a, b, c): pass") is None


def test_the_last_definition_of_a_name_counts() -> None:
    names = bound_names(ast.parse("def f(): pass\n(f, g), h.x = 1, 2\nx: int").body)
    assert isinstance(names["f"], ast.Assign)
    assert set(names) == {"f", "g", "h", "x"}
