"""What counting counts, and that it changes nothing else."""

from __future__ import annotations

import ast
import copy
import itertools
import operator
import random
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary.verify.fuel import FuelError, load_counted

NAME = "armillary_counted_program"
FUEL = 1_000_000


def read_programs() -> dict[str, tuple[str, list[tuple[Any, ...]]]]:
    text = Path(__file__).with_name("counted_programs.txt").read_text(encoding="utf-8")
    found = {}
    for section in text.split("\n=== ")[1:]:
        head, _, code = section.partition("\n")
        name, _, calls = head.partition(" :: ")
        found[name] = (code, ast.literal_eval(calls))
    return found


PROGRAMS = read_programs()


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)
    sys.modules.pop(NAME, None)


def steps_of(source: str, *arguments: Any, limit: int = FUEL) -> int:
    steps, is_spent, _, _ = load_counted(source, "f", limit=limit, name=NAME)(*arguments)
    assert not is_spent
    return steps


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, str]:
    random.seed(0)
    try:
        result = function(*copy.deepcopy(arguments))
    except Exception as error:  # noqa: BLE001 - whatever a program raises is compared
        name = type(error).__name__
        # Where exactly a stack ends is no part of what a program does.
        return name, "" if name == "RecursionError" else str(error)
    return "returned", repr(result)


def plain_outcomes(source: str, calls: list[tuple[Any, ...]]) -> list[tuple[str, str]]:
    """Every call in a freshly loaded program, as counting does."""
    limit, found = sys.getrecursionlimit(), []
    for arguments in calls:
        module = types.ModuleType(NAME)
        sys.modules[NAME] = module
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, "candidate.py", "exec", dont_inherit=True), module.__dict__)
        found.append(outcome(module.__dict__["f"], arguments))
        sys.setrecursionlimit(limit)
    return found


def counted_outcomes(source: str, calls: list[tuple[Any, ...]]) -> list[tuple[str, str]]:
    limit, found = sys.getrecursionlimit(), []
    for arguments in calls:
        load_counted(source, "f", limit=FUEL, name=NAME)
        found.append(outcome(sys.modules[NAME].__dict__["f"], arguments))
        sys.setrecursionlimit(limit)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_counts_gives_and_raises_what_it_did(name: str) -> None:
    source, calls = PROGRAMS[name]
    assert counted_outcomes(source, calls) == plain_outcomes(source, calls)


def test_there_are_programs_of_many_kinds() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        ("return 1", 1),
        ("for x in xs: pass\n    return 1", 1 + 4),
        ("n = 3\n    while n: n -= 1", 1 + 3),
        ("while True:\n        break", 1 + 1),
        ("return [x for x in xs if x > 2]", 1 + 4),
        ("return {x: y for x in xs for y in xs}", 1 + 4 + 16),
        ("return (lambda: 1)()", 2),
        ("g = lambda: 1", 1),
        ("def g(): return 1\n    return g() + g()", 3),
        ("def g():\n        yield 1\n        yield 2\n    return list(g())", 1 + 1 + 2),
        ("return (x for x in xs)", 1),
        ("return sum(x for x in xs)", 1 + 4),
        ("return sum(xs)", 1 + 4),
        ("return sum(xs, 0)", 1 + 4),
        ("return sum(range(10))", 1 + 10),
        ("return list(map(abs, xs))", 1 + 4),
        ("return list(map(lambda x: x, xs))", 1 + 4 + 4),
        ("return map(abs, xs)", 1),
        ("return any(xs)", 1 + 1),
        ("return any(map(bool, xs))", 1 + 1),
        ("return all(xs)", 1 + 4),
        ("return max(3, 4)", 1),
        ("return max(*xs)", 1),
        ("return sorted(xs)", 1 + 4 * 2),
        ("return sorted(map(abs, xs))", 1 + 4 + 4 * 2),
        ("return sorted(x for x in xs)", 1 + 4 + 4 * 2),
        ("return sorted([7])", 1 + 1),
        ("return sorted([])", 1),
        ("xs.sort()", 1 + 4 * 2),
        ("return 9 in xs", 1 + 4),
        ("return 9 in set(xs)", 1 + 4),
        ("return 9 in (1, 2)", 1),
        ("return 9 < 10", 1),
        ("return xs[1:]", 1 + 3),
        ("return xs[1]", 1),
        ("xs[1:] = []", 1),
        ("xs.pop()\n    xs.pop(-1)", 1),
        ("xs.pop(0)", 1 + 4),
        ("{1: 2}.pop(1)", 1),
        ("xs.insert(0, 1)\n    xs.append(2)", 1 + 4),
        ("xs.extend([1, 2])", 1 + 2),
        ("return ','.join(map(str, xs))", 1 + 4),
        ("sep = ','\n    return sep.join(['a', 'b'])", 1 + 2),
        ("def g(): yield from xs\n    return list(g())", 1 + 1 + 4),
    ],
)
def test_a_step_is_what_the_description_says(body: str, steps: int) -> None:
    assert steps_of(f"def f(xs):\n    {body}\n", [1, 2, 3, 4]) == steps


def test_a_builtin_of_another_name_or_meaning_is_not_counted() -> None:
    assert steps_of("total = sum\ndef f(xs):\n    return total(xs)\n", [1, 2]) == 1
    assert steps_of("def f(xs, sum=len):\n    return sum(xs)\n", [1, 2]) == 1


def test_no_call_profits_from_an_earlier_one() -> None:
    source = "from functools import cache\n@cache\ndef f(n):\n    return n < 2 or f(n - 1) + f(n - 2)\n"
    call = load_counted(source, "f", limit=FUEL, name=NAME)
    assert call(20)[0] == call(20)[0] == 21


def test_the_work_of_loading_is_not_counted() -> None:
    assert steps_of("table = [i for i in range(1000)]\ndef f(n):\n    return table[n]\n", 3) == 1


def test_randomness_is_what_it_would_be_after_loading_once() -> None:
    source = "import random\nrandom.random()\ndef f():\n    raise {1: KeyError, 0: ValueError}[random.randrange(2)]\n"
    call = load_counted(source, "f", limit=FUEL, name=NAME)
    endings = []
    for seed in range(8):
        random.seed(seed)
        endings.append(call()[2])
    expected = []
    for seed in range(8):
        random.seed(seed)
        expected.append(["ValueError", "KeyError"][random.randrange(2)])
    assert endings == expected


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "return sum(range(10 ** 30))",
        "return f()",
        "try:\n        while True: pass\n    except BaseException:\n        return 1",
        "while True:\n        try:\n            for _ in range(3): pass\n        except Exception: pass",
    ],
)
def test_a_call_ends_when_it_has_taken_all_its_steps(body: str) -> None:
    sys.setrecursionlimit(5000)
    call = load_counted(f"def f():\n    {body}\n", "f", limit=500, name=NAME)
    steps, is_spent, _, _ = call()
    assert (steps, is_spent) == (500, True)


def test_after_three_endless_calls_no_further_one_is_made() -> None:
    call = load_counted("def f(n):\n    while n: pass\n", "f", limit=500, name=NAME)
    assert [call(1)[1], call(1)[1], call(0)[1], call(1)[1]] == [True, True, False, True]
    with pytest.raises(FuelError, match="no further one"):
        call(0)


def test_endless_loading_is_an_error() -> None:
    with pytest.raises(FuelError, match="more than 500 steps"):
        load_counted("while True: pass\ndef f(): pass\n", "f", limit=500, name=NAME)


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("return 1", "returned"),
        ("return (x for x in [])", "lazy"),
        ("return map(abs, [])", "lazy"),
        ("raise KeyError(1)", "KeyError"),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_how_a_call_ended_is_told(body: str, ending: str) -> None:
    assert load_counted(f"def f():\n    {body}\n", "f", limit=FUEL, name=NAME)()[2] == ending


def test_processor_time_is_told() -> None:
    call = load_counted("def f():\n    return len(range(3 ** 9)) and pow(3, 300_000) % 7\n", "f", limit=FUEL, name=NAME)
    assert 0 < call()[3] < 60


def test_what_loading_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        load_counted("1 / 0", "f", limit=FUEL, name=NAME)
    with pytest.raises(SyntaxError):
        load_counted("def f(:", "f", limit=FUEL, name=NAME)


def test_a_program_may_recurse_as_deep_as_without_counting() -> None:
    source = "deepest = [0]\ndef f(n):\n    deepest[0] = n\n    f(n + 1)\n"
    plain = types.ModuleType(NAME)
    exec(source, plain.__dict__)
    assert outcome(plain.__dict__["f"], (0,))[0] == "RecursionError"
    assert load_counted(source, "f", limit=FUEL, name=NAME)(0)[2] == "RecursionError"
    counted_depth = sys.modules[NAME].__dict__["deepest"][0]
    assert 0 <= counted_depth - plain.__dict__["deepest"][0] <= 6


def test_the_program_finds_no_name_of_the_counter() -> None:
    source = (
        "def f():\n    found = [*globals(), *locals(), *dir()]\n    assert 'tick' not in found and len(found) < 12\n"
    )
    assert load_counted(source, "f", limit=FUEL, name=NAME)()[2] == "returned"


@pytest.mark.parametrize(
    "patch",
    [
        "import itertools\nitertools.islice = itertools.chain = None",
        "import operator, time, random\noperator.itemgetter = time.process_time = random.getstate = None",
        "found = globals()['__builtins__']\nfor name in ('map', 'zip', 'len', 'id', 'next', 'type'): del found[name]",
    ],
)
def test_a_program_that_patches_what_counting_needs_is_counted_all_the_same(patch: str) -> None:
    kept = itertools.islice, itertools.chain, operator.itemgetter, time.process_time, random.getstate
    source = f"{patch}\ndef f(xs):\n    return sum(xs), any(xs), sorted(xs)\n"
    try:
        steps, _, ending, _ = load_counted(source, "f", limit=FUEL, name=NAME)([1, 2, 3])
    finally:
        itertools.islice, itertools.chain, operator.itemgetter, time.process_time, random.getstate = kept  # type: ignore[misc]
    assert (steps, ending) == (1 + 3 + 1 + 3 * 2, "returned")
    assert len([*map(abs, [1])]) == 1
