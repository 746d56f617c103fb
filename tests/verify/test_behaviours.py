from __future__ import annotations

from armillary.core.tasks import Parameter, TaskSpec
from armillary.core.verdicts import NO_VALUE, Behaviour
from armillary.verify.behaviours import behaviour
from armillary.verify.execution import Jail

TASK = TaskSpec("p", "f", parameters=(Parameter("x", "float"),))
INPUTS = [(0.5,), (2.0,), (-3.0,)]


def marks(jail: Jail, *codes: str) -> list[Behaviour]:
    return [behaviour(jail, TASK, code, INPUTS) for code in codes]


def test_programs_that_do_the_same_have_the_same_words(jail: Jail) -> None:
    first, second, third = marks(
        jail,
        "def f(x): return [x * 0.3, {'k': (x,)}]",
        "def f(x): return [x * 0.1 * 3, dict(k=(x,))]",
        "def f(x): return [x * 0.31, {'k': (x,)}]",
    )
    assert first == second
    assert first != third
    assert len(first) == len(third) == len(INPUTS)


def test_each_input_has_its_own_word(jail: Jail) -> None:
    first, second = marks(jail, "def f(x): return x", "def f(x): return abs(x)")
    assert [a == b for a, b in zip(first, second, strict=True)] == [True, True, False]


def test_inputs_without_a_value_are_marked(jail: Jail) -> None:
    [found] = marks(jail, "def f(x): return 1 / (x > 0)")
    assert [word.startswith(NO_VALUE) for word in found] == [False, False, True]


def test_types_and_exceptions_tell_programs_apart(jail: Jail) -> None:
    codes = (
        "def f(x): return 1",
        "def f(x): return True",
        "def f(x): raise KeyError('a')",
        "def f(x): raise ValueError",
    )
    assert len(set(marks(jail, *codes))) == 4


def test_the_message_of_an_exception_does_not_count(jail: Jail) -> None:
    first, second = marks(jail, "def f(x): raise KeyError('a')", "def f(x): raise KeyError('b')")
    assert first == second


def test_code_that_cannot_be_run_has_a_word_of_its_own_kind(jail: Jail) -> None:
    broken, missing, failing = marks(jail, "def f(x:", "def g(x): pass", "x = y\ndef f(x): pass")
    assert all(len(mark) == 1 and mark[0].startswith("unloadable-") for mark in (broken, missing, failing))
    assert len({broken, missing, failing}) == 3
