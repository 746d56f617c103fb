"""Every way out is shut in tier C as well: what is not there at all cannot be reached, and the rest is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_world import outer_world

from armillary.bench.attack_form import MARK
from armillary.bench.attack_world import World
from armillary.bench.attacks import ATTACKS
from armillary.bench.honest import HONEST
from armillary.core.values import decode
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits

SMALL = Limits(wall_s=20.0, cpu_s=4, call_cpu_s=3.0, memory_bytes=256 << 20, output_bytes=1 << 16)
LIMITS_ARE_PASSED = ("ignores_the_signal_of_the_cpu_limit", "computes_with_huge_integers")
"""Of those that end themselves: they read a clock that tells nonsense here, and are over at once."""

ENDING = tuple(item for item in ATTACKS if item.ends_itself and item.name not in LIMITS_ARE_PASSED)
CHANGES_NOTHING = "changes_the_mode_of_a_host_file"
"""It succeeds in the eyes of the program: the interpreter's own library says yes and does nothing."""

MISSING = {
    "imports_what_it_may_not_use": "ModuleNotFoundError: No module named 'multiprocessing'",
    "uses_a_file_of_its_own": "FileNotFoundError",
    "uses_a_temporary_folder": "FileNotFoundError",
    "uses_temporary_files_and_links": "FileNotFoundError",
    "runs_threads": "RuntimeError",
    "uses_a_pool_of_threads": "ModuleNotFoundError: No module named 'concurrent.futures.thread'",
    "hands_work_from_thread_to_thread": "RuntimeError",
    "runs_an_event_loop": "OSError",
    "signals_itself": "AttributeError",
    "maps_memory_of_its_own": "ModuleNotFoundError: No module named 'mmap'",
    "packs_and_hashes": "ModuleNotFoundError: No module named '_lzma'",
    "calls_the_c_library": "ModuleNotFoundError: No module named 'ctypes'",
    "lists_its_own_folder": "FileNotFoundError",
}
"""Honest programs that tier C has not what they need for, and what they are told."""

ALL_IN_ONE = """
import contextlib, io, json
for name, text in {programs!r}:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try: exec(text, {{"__name__": name}})
        except BaseException: pass
    if {mark!r} in printed.getvalue(): print(name)
print("done")
"""


HONEST_IN_ONE = """
import contextlib, io, random, sys, types
def answer(text):
    module = sys.modules["candidate"] = types.ModuleType("candidate")
    random.seed(0)
    try:
        exec(text, module.__dict__)
        return module.f()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
def f(programs):
    found = {}
    for name, text in programs.items():
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
            value = answer(text)
        found[name] = value, printed.getvalue()
    return found
"""


@pytest.fixture(scope="module")
def sandbox(wasm_home: Path) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARMILLARY_HOME", str(wasm_home))
        with Sandbox("C only", SMALL) as made:
            made.run("")
            yield made


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with outer_world() as made:
        yield made


def test_no_attack_gets_out(sandbox: Sandbox, world: World) -> None:
    mode = (world.folder / "spare").stat().st_mode
    programs = [(item.name, world.aim(item.program)) for item in ATTACKS if not item.ends_itself]
    assert len(programs) > 85
    limits = Limits(wall_s=60.0, cpu_s=30, call_cpu_s=20.0, memory_bytes=256 << 20)
    result = sandbox.run(ALL_IN_ONE.format(programs=programs, mark=MARK), limits=limits)
    assert result.stdout.split() == [CHANGES_NOTHING, "done"]
    assert (world.folder / "spare").stat().st_mode == mode
    assert [item.name for item in ATTACKS if item.seen != "printed" and world.has_succeeded(item, "")] == []


@pytest.mark.parametrize(
    "attack",
    [item for item in ATTACKS if item.ends_itself and item.name not in LIMITS_ARE_PASSED],
    ids=lambda item: item.name,
)
def test_an_attack_that_ends_itself_gets_nowhere(sandbox: Sandbox, world: World, attack: object) -> None:
    limits = Limits(wall_s=20.0, cpu_s=2, call_cpu_s=0.5, memory_bytes=256 << 20, output_bytes=1 << 16)
    result = sandbox.run(world.aim(attack.program), limits=limits)
    assert MARK not in result.stdout


def kinds(result: JailResult) -> list[str]:
    return [outcome.kind for outcome in result.outcomes]


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n        try: spin()\n        except BaseException: pass",
        "sum(range(10 ** 12))",
        "return len(str(7 ** 10 ** 8))",
        "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
    ],
)
def test_no_computation_outlasts_its_limit(sandbox: Sandbox, body: str) -> None:
    source = f"def spin():\n    while True: pass\ndef f():\n    {body}"
    assert kinds(sandbox.run(source, [Call("f", ())], limits=Limits(wall_s=20.0, call_cpu_s=0.3))) == ["timeout"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("eaten = []\n    while True: eaten.append(bytearray(16 << 20))", "MemoryError"),
        ("return list(map(f, [1]))", "RecursionError"),
    ],
)
def test_memory_and_stack_end_with_an_error_of_the_program(sandbox: Sandbox, body: str, error: str) -> None:
    result = sandbox.run(f"def f(*_):\n    {body}\ndef g(): return 'well'", [Call("f", ()), Call("g", ())])
    assert [(outcome.kind, outcome.error_type) for outcome in result.outcomes] == [("raised", error), ("returned", "")]


@pytest.mark.parametrize(
    "line",
    [b'["call", 0, "returned", 42, "", ""]\n', b'["load", ""]\n', b'["jail"]\n', b"PASSED\n", b"\n" * 3000, b"\xff\n"],
)
def test_a_forged_line_on_any_descriptor_costs_every_answer(sandbox: Sandbox, line: bytes) -> None:
    source = f"""
import os
def f():
    for number in range(8):
        try: os.write(number, {line!r})
        except OSError: pass
    return 1
"""
    assert kinds(sandbox.run(source, [Call("f", ())] * 2)) == ["missing", "missing"]


def test_a_flood_of_results_stops_the_run(sandbox: Sandbox) -> None:
    result = sandbox.run("import os\ndef f():\n    while True: os.write(2, b'x' * (1 << 16))", [Call("f", ())])
    assert (kinds(result), result.stopped_by) == (["missing"], "output")


def test_results_without_end_stop_at_the_room_for_one_run(sandbox: Sandbox) -> None:
    result = sandbox.run("def f():\n    return 'x' * 400_000", [Call("f", ())] * 12)
    assert (result.stopped_by, kinds(result)[0], kinds(result)[-1]) == ("results", "returned", "missing")


def test_nothing_in_the_guest_tells_of_us(sandbox: Sandbox) -> None:
    source = """
import gc, os, sys
def f():
    names, frame = [], sys._getframe(1)
    while frame:
        names += [*frame.f_locals, *frame.f_globals]
        frame = frame.f_back
    found = [name for name in (*names, *sys.modules) if "expect" in name.lower() or "armillary" in name]
    found += [repr(item)[:200] for item in gc.get_objects() if type(item) is dict and "expected" in item]
    return [*found, *os.environ, *sys.argv, *sys.orig_argv, *vars(sys.modules["__main__"]).get("text", ())]
"""
    assert sandbox.run(source, [Call("f", ())]).outcomes[0].value == ["candidate.py"]


def test_honest_programs_work_but_those_that_need_what_is_not_there(sandbox: Sandbox) -> None:
    programs = {item.name: item.program for item in HONEST}
    limits = Limits(wall_s=60.0, cpu_s=40, call_cpu_s=30.0)
    result = sandbox.run(HONEST_IN_ONE, [Call("f", (programs,))], limits=limits)
    found = decode(result.outcomes[0].value)
    wanted = {item.name: (item.returned, item.printed) for item in HONEST}
    assert {name: answer for name, answer in found.items() if name not in MISSING} == {
        name: answer for name, answer in wanted.items() if name not in MISSING
    }
    assert {name: found[name][0][: len(words)] for name, words in MISSING.items()} == MISSING
