"""A program may write what it likes on the result channel: it gains no answer that it did not compute."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import dedent

import pytest

from armillary.core.values import encode
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits

SMALL = Limits(wall_s=3.0, cpu_s=2, call_cpu_s=0.5)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("A", SMALL) as made:
        yield made


def run(sandbox: Sandbox, text: str, *arguments: object) -> JailResult:
    return sandbox.run(dedent(text), [Call("f", arguments), Call("f", arguments)])


def kinds(result: JailResult) -> list[str]:
    return [outcome.kind for outcome in result.outcomes]


def forgery(lines: str) -> str:
    return f"""
        import os
        def f():
            for number in range(64):
                try: os.write(number, {lines.encode()!r})
                except OSError: pass
            return 1
        """


def test_ending_the_process_leaves_the_answers_missing(sandbox: Sandbox) -> None:
    result = run(sandbox, "import os\ndef f():\n    os._exit(0)")
    assert (kinds(result), result.stopped_by, result.load_error) == (["missing", "missing"], "exit", "")


def test_ending_the_process_while_loading_is_a_load_error(sandbox: Sandbox) -> None:
    result = run(sandbox, "import os\nos._exit(0)")
    assert result.load_error == "Stopped: the program ended its own process while it loaded"
    assert kinds(result) == ["missing", "missing"]


def test_leaving_by_system_exit_is_an_exception_like_any_other(sandbox: Sandbox) -> None:
    result = run(sandbox, "import sys\ndef f():\n    sys.exit(0)")
    assert [outcome.error_type for outcome in result.outcomes] == ["SystemExit", "SystemExit"]


def test_printing_pass_marks_changes_nothing(sandbox: Sandbox) -> None:
    text = 'def f():\n    print("PASSED", \'["call", 0, "returned", 1, "", ""]\', flush=True)\n    raise ValueError'
    assert kinds(run(sandbox, text)) == ["raised", "raised"]


@pytest.mark.parametrize(
    "line",
    [
        '["call", 0, "returned", 42, "", ""]\n',
        '["call", 1, "returned", 42, "", ""]\n',
        '["call", 0, "passed", null, "", ""]\n',
        '["load", ""]\n',
        '["jail"]\n',
        "{}\n",
        "[]\n",
        "PASSED\n",
        "\n",
        "\n" * 3000,
        '["call", 0, "returned", NaN, "", ""]\n',
        "[" * 30_000 + "\n",
        "ÿ\n",
    ],
    ids=range(13),
)
def test_a_forged_line_on_any_descriptor_costs_every_answer(sandbox: Sandbox, line: str) -> None:
    assert kinds(run(sandbox, forgery(line))) == ["missing", "missing"]


def test_a_line_too_many_costs_every_answer(sandbox: Sandbox) -> None:
    text = """
        import os
        calls = 0
        def f():
            global calls
            calls += 1
            if calls == 2:
                os.write(3, b'["call",1,"returned",1,"",""]\\n')
            return 1
        """
    assert kinds(run(sandbox, text)) == ["missing", "missing"]


def test_a_flood_on_the_result_channel_stops_the_run(sandbox: Sandbox) -> None:
    text = """
        import os
        def f():
            while True: os.write(3, b"x" * (1 << 16))
        """
    result = run(sandbox, text)
    assert (kinds(result), result.stopped_by) == (["missing", "missing"], "output")


def test_closing_the_result_channel_leaves_the_answers_missing(sandbox: Sandbox) -> None:
    assert kinds(run(sandbox, "import os\ndef f():\n    os.close(3)\n    return 1")) == ["missing", "missing"]


def test_patched_builtins_and_modules_do_not_forge_values(sandbox: Sandbox) -> None:
    text = """
        import builtins, json, sys
        json.dumps = lambda *a, **k: '"forged"'
        builtins.type = lambda value: int
        builtins.isinstance = lambda value, kind: True
        sys.modules["armillary.core.values"] = None
        def f():
            return "true"
        """
    for outcome in run(sandbox, text).outcomes:
        assert outcome.value in ("true", None)


def test_a_subclass_of_int_does_not_leave_the_jail(sandbox: Sandbox) -> None:
    text = """
        class Any(int):
            def __eq__(self, other): return True
            def __hash__(self): return 0
        def f():
            return Any(3)
        """
    assert kinds(run(sandbox, text)) == ["unencodable", "unencodable"]


def test_an_object_that_equals_everything_does_not_leave_the_jail(sandbox: Sandbox) -> None:
    text = """
        class Any:
            def __eq__(self, other): return True
        def f():
            return [Any()]
        """
    assert kinds(run(sandbox, text)) == ["unencodable", "unencodable"]


def test_no_frame_above_a_call_holds_more_than_its_own_arguments(sandbox: Sandbox) -> None:
    text = """
        import sys
        def f(x):
            names, frame = [], sys._getframe(1)
            while frame:
                names += [*frame.f_locals, *frame.f_globals]
                frame = frame.f_back
            return [name for name in names if "expect" in name.lower() or "oracle" in name.lower()]
        """
    assert run(sandbox, text, 5).outcomes[0].value == []


def test_no_object_in_memory_holds_an_expected_value(sandbox: Sandbox) -> None:
    text = """
        import gc
        def f(x):
            return [repr(item)[:200] for item in gc.get_objects() if type(item) is dict and "expected" in item]
        """
    assert run(sandbox, text, 5).outcomes[0].value == []


def test_changing_an_argument_does_not_change_the_next_call(sandbox: Sandbox) -> None:
    text = """
        def f(items):
            items.append(1)
            return items
        """
    assert [outcome.value for outcome in run(sandbox, text, [0]).outcomes] == [[0, 1], [0, 1]]


@pytest.mark.parametrize("value", ["float('nan')", "-0.0", "float('inf')"])
def test_odd_floats_arrive_as_what_they_are(sandbox: Sandbox, value: str) -> None:
    result = run(sandbox, f"def f():\n    return {value}")
    assert result.outcomes[0].value == {"float": repr(eval(value))}


@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError",
        "while True: pass",
        "return Text('x' * 1000)",
        "return 5",
        "return self.__str__()",
        "raise SystemExit(0)",
        "import os; os._exit(0)",
    ],
)
def test_an_exception_with_a_hostile_text_is_no_answer(sandbox: Sandbox, body: str) -> None:
    text = f"""
        class Text(str):
            def __getitem__(self, key): raise KeyboardInterrupt
        class Odd(Exception):
            def __str__(self):
                {body}
            __repr__ = __str__
        def f():
            raise Odd
        """
    outcome = run(sandbox, text).outcomes[0]
    assert outcome.kind in ("raised", "timeout", "missing")
    assert outcome.error_type in ("Odd", "")
    assert len(outcome.error_message) <= 300


def test_a_lying_metaclass_does_not_change_the_name_of_an_exception(sandbox: Sandbox) -> None:
    text = """
        class Meta(type):
            @property
            def __name__(cls): return "ValueError"
        class Odd(Exception, metaclass=Meta):
            pass
        def f():
            raise Odd("why")
        """
    outcome = run(sandbox, text).outcomes[0]
    assert (outcome.error_type, outcome.error_message) == ("Odd", "why")


def test_a_hostile_representation_is_never_asked_for(sandbox: Sandbox) -> None:
    text = """
        class Odd:
            def __repr__(self): print("ASKED")
            __str__ = __iter__ = __len__ = __repr__
        def f():
            return Odd()
        """
    result = run(sandbox, text)
    assert (kinds(result), result.stdout) == (["unencodable", "unencodable"], "")


@pytest.mark.parametrize(
    "value",
    [
        "'x' * (5 << 20)",
        "list(range(300_000))",
        "1 << 100_000",
        "deep",
        "circular",
        "(number for number in [1])",
        "['x' * (1 << 20)] * 8",
    ],
)
def test_a_value_too_large_or_too_deep_is_refused_and_the_run_goes_on(sandbox: Sandbox, value: str) -> None:
    text = f"""
        deep, circular = [], []
        circular.append(circular)
        for _ in range(1000): deep = [deep]
        def f():
            return {value}
        """
    assert kinds(run(sandbox, text)) == ["unencodable", "unencodable"]


def test_every_kind_of_value_arrives_exactly(sandbox: Sandbox) -> None:
    scalars = [None, True, -3, 1 << 80, 0.1, "ж\udc80", b"\x00", 1 - 2j]
    value = [scalars, (1, (2,)), {3, 1}, frozenset({"a"}), {(1, 2): {"k": scalars}}]
    result = run(sandbox, "def f(x):\n    return x", value)
    assert json.dumps(result.outcomes[0].value) == json.dumps(encode(value))
