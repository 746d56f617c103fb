from __future__ import annotations

import pytest

from armillary.verify.domains import Domain, parse_domain
from armillary.verify.symbolic.obstacles import code_obstacle, domain_obstacle, predicate_obstacle

INT = parse_domain("int")


def obstacle(body: str, *domains: str, before: str = "", head: str = "def f(x):") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return code_obstacle(f"{before}\n{head}\n{lines}", "f", [parse_domain(text) for text in domains or ("int",)])


@pytest.mark.parametrize(
    "body",
    [
        "return x if x >= 0 else -x",
        "total = 0\nfor i in range(x):\n    total += i\nreturn total",
        "while x > 10:\n    x -= 10\nreturn x",
        "try:\n    return [1, 2][x]\nexcept (IndexError, ValueError):\n    return None",
        "def inner(y):\n    nonlocal x\n    x += y\n    return x\nreturn inner(2)",
        "best: int = x\nreturn max(best, 0) if isinstance(best, (int, bool)) else 0",
        "return [0] * -2 + [x]",
        "return 2 * x * x ** 2 - x * len([x]) + x * abs(-x)",
        "ys = [x]\nys.append(x)\nys.insert(0, 1)\nys.pop()\nreturn (ys * 2, sorted(ys, key=lambda y: -y))",
        "return x in {1, 2} and len(set([x])) == 1 and x is not None",
        "if (y := x) > 0:\n    raise ValueError\nassert y <= 0\nreturn {y: 'a text'}.get(y, '-'.join(['a', 'b']))",
    ],
)
def test_ordinary_code_has_no_obstacle(body: str) -> None:
    assert obstacle(body) == ""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return len(range(x))", "a range outside of a loop's head"),
        ("r = range\nreturn r(x)", "range as a value"),
        ("return str(x)", "the name str"),
        ("return f'{x}'", "JoinedStr"),
        ("return '%d' % x", "a text with %"),
        ("return '{}'.format(x)", "the attribute .format"),
        ("return x / 2", "the operator Div"),
        ("return x + 0.5", "a value of type float"),
        ("return b'a'", "a value of type bytes"),
        ("return x ** x", "a power"),
        ("return x ** 9", "a power"),
        ("return 1 << x", "the operator LShift"),
        ("y = x\nreturn [0] * y", "a product that may be a sequence"),
        ("y = 'a'\ny *= x\nreturn y", "a product that may be a sequence"),
        ("return x * print(x)", "a product that may be a sequence"),
        ("return x * (x or x)", "a product that may be a sequence"),
        ("return x * max(x, x)", "a product that may be a sequence"),
        ("return x * [x][0]", "a product that may be a sequence"),
        ("return x is 5", "the identity of objects"),
        ("return hash(x)", "the name hash"),
        ("return id(x)", "the name id"),
        ("return list({x, 1})", "the order of a set"),
        ("return [y for y in set([x])]", "the order of a set"),
        ("return {y for y in [x]}", "SetComp"),
        ("kind = set\nreturn kind([x])", "set as a value"),
        ("global y\ny = x\nreturn y", "Global"),
        ("yield x", "Yield"),
        ("class A:\n    pass\nreturn x", "ClassDef"),
        ("with x:\n    pass", "With"),
        ("try:\n    return x\nfinally:\n    x = 1", "a finally clause"),
        ("try:\n    return x\nexcept:\n    return 1", "a handler of other exceptions"),
        ("try:\n    return x\nexcept Exception:\n    return 1", "a handler of other exceptions"),
        ("f.seen = x\nreturn x", "the attribute .seen"),
        ("return x.__class__", "the attribute .__class__"),
        ("append = [].append\nreturn append(x)", "the attribute .append"),
        ("return [1, 2].pop(x)", ".pop at a place that is computed"),
        ("return unknown(x)", "the name unknown"),
        ("len = x\nreturn len", "len as a name of its own"),
        ("return isinstance(x, type(x))", "isinstance with a class that is computed"),
        ("return isinstance(x)", "isinstance with a class that is computed"),
        ("import math\nreturn math.floor(x)", "the module math"),
        ("y: exec('x = 2') = x\nreturn y", "an annotation that does more"),
        ("def g(y=[]):\n    y.append(x)\n    return y\nreturn g()", "a default value"),
        ("def g(*, y=[]):\n    y.append(x)\n    return y\nreturn g()", "a default value"),
    ],
)
def test_what_is_modelled_otherwise_than_python_does_it_is_named(body: str, reason: str) -> None:
    assert reason in obstacle(body)


def test_the_line_is_told() -> None:
    assert obstacle("y = 1\nreturn x / y") == "line 4: the operator Div"


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("import random", "the module random"),
        ("from time import time", "the module time"),
        ("from . import y", "the module "),
        ("seen = []", "a statement of the module"),
        ("limit = len('ab')", "a statement of the module"),
        ("for i in range(3): pass", "a statement of the module"),
        ("class A: pass", "a statement of the module"),
        ("def f(x): return 0", "not exactly one plain function f"),
    ],
)
def test_a_module_that_keeps_state_or_imports_is_named(before: str, reason: str) -> None:
    assert reason in obstacle("return x", before=before)


@pytest.mark.parametrize(
    "before", ["'''A text.'''", "LOW, HIGH = -1, 9", "A: int = 3", "from typing import List, Any as T"]
)
def test_constants_and_imports_of_types_are_no_obstacle(before: str) -> None:
    assert obstacle("return x", before=before) == ""


def test_types_may_be_named_in_annotations_but_not_used() -> None:
    head = "def f(x: 'typing.Optional[int]' = None, *, y: list[int] | None = -1) -> dict[str, int]:"
    assert obstacle("return x", before="import typing", head=head) == ""
    assert "the name cast" in obstacle("return cast(int, x)", before="from typing import cast")
    assert "more than to name a type" in obstacle("return x", head="def f(x: print(1)):")
    assert "more than to name a type" in obstacle("return x", head="def f(x) -> int.__class__:")


def test_a_decorator_is_an_obstacle() -> None:
    assert "a decorator of f" in obstacle("return x", head="@staticmethod\ndef f(x):")


def test_code_that_is_not_python_is_an_obstacle() -> None:
    assert "not Python" in code_obstacle("def f(", "f", [INT])


@pytest.mark.parametrize(
    ("domain", "body"),
    [
        ("int | -9..9", "y = x\nreturn [0] * y"),
        ("int | 0..1000", "y = x\nreturn [0, 1].pop(y)"),
        ("bool", "y = x\nreturn [0] * y"),
        ("Literal[1, 2]", "y = x\nreturn [0] * y"),
        ("int | bool", "return x * x"),
        ("Literal[1, 5000]", "return x * x"),
        ("list[int | 0..9] | len<=2", "return x * x[0]"),
    ],
)
def test_small_integers_and_sure_ones_may_be_factors(domain: str, body: str) -> None:
    assert obstacle(body, domain) == ""


@pytest.mark.parametrize("domain", ["int | 0..1001", "int | >= 0", "Literal[1, 5000]", "list[int] | len<=2"])
def test_large_integers_that_are_not_sure_ones_may_not(domain: str) -> None:
    assert "a sequence of any length" in obstacle("y = x\nreturn [0] * y", domain)


def test_a_parameter_that_is_bound_again_is_no_sure_integer() -> None:
    assert "a sequence of any length" in obstacle("x = [x]\nreturn x * len(x)")


def test_the_rest_of_a_text_may_be_a_template() -> None:
    head = "def f(x, n):"
    assert "may fill in a template" in obstacle("return x % n", "str", "int", head=head)
    assert "may fill in a template" in obstacle("return x % n", "Literal['a']", "int", head=head)
    assert "may fill in a template" in obstacle("return x[0] % n", "list[str] | len<=2", "int", head=head)
    assert obstacle("return n % 3", "str", "int", head=head) == ""


@pytest.mark.parametrize(
    ("domain", "reason"),
    [
        ("float", "inputs of kind float, modelled as real numbers"),
        ("list[float] | len<=2", "inputs of kind float"),
        ("complex", "inputs of kind complex"),
        ("set[int]", "inputs of kind set"),
        ("dict[str, int] | len<=2", "inputs of kind dict"),
        ("Any", "inputs of kind any"),
        ("Literal[1.5, 2]", "a choice of values"),
        ("list[int]", "a list that may be longer than 8"),
        ("list[int] | len<=9", "a list that may be longer than 8"),
        ("tuple[int, ...]", "a tuple that may be longer than 8"),
    ],
)
def test_inputs_that_are_never_proved_about_are_named(domain: str, reason: str) -> None:
    assert domain_obstacle([INT, parse_domain(domain)]).startswith(reason)


@pytest.mark.parametrize(
    "domain", ["int", "bool | None", "str", "list[int] | len<=8", "tuple[int, str]", "Literal['a', 1]"]
)
def test_other_inputs_are_no_obstacle(domain: str) -> None:
    assert domain_obstacle([parse_domain(domain)]) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("result == x", ""),
        ("all(y * 2 == x for y in [result])", ""),
        ("f(f(x)) == f(x)", ""),
        ("x * x >= 0", ""),
        ("len(range(result)) == result", "a range outside of a loop's head"),
        ("result * x >= 0", "a product that may be a sequence"),
        ("[x * x for x in [result]] != []", "a product that may be a sequence"),
        ("str(result) == '1'", "the name str"),
        ("result < 1e10", "a value of type float"),
        ("other == x", "the name other"),
    ],
)
def test_predicates_are_looked_through_too(text: str, reason: str) -> None:
    assert predicate_obstacle(text, ["x"], [INT], ("result", "f")).startswith(reason)
    assert bool(predicate_obstacle(text, ["x"], [INT], ("result", "f"))) == bool(reason)


def test_a_domain_of_unknown_values_is_an_obstacle() -> None:
    assert domain_obstacle([Domain("unknown")]) == "inputs of kind unknown"
