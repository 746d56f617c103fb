"""No honest program notices the jail, in either tier; in tier B those that write files fail as on a read-only disk."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from benign_programs import NEEDS_A_FOLDER, PROGRAMS
from other_machine import on_a_machine_without

from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Limits

GENEROUS = Limits(wall_s=60.0, cpu_s=30, call_cpu_s=15.0)
ALL_IN_ONE = """
import contextlib, io, json, signal
found = {{}}
for name, text in {programs!r}.items():
    signal.setitimer(signal.ITIMER_REAL, 0)  # the clock of one call is not that of thirty programs
    signal.setitimer(signal.ITIMER_PROF, 0)
    with contextlib.redirect_stdout(io.StringIO()):
        try: exec(text, {{"__name__": name}})
        except BaseException as error: found[name] = repr(error)
        else: found[name] = ""
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("A", GENEROUS) as made:
        yield made


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_honest_program_is_broken_in_tier_a(sandbox: Sandbox, name: str) -> None:
    result = sandbox.run(PROGRAMS[name])
    assert (result.load_error, result.stopped_by) == ("", "exit")
    assert "OK" in result.stdout.splitlines()


def test_no_honest_program_without_files_is_broken_in_tier_b() -> None:
    # One program of many with replaced streams: what is about its own streams or takes much memory is left out.
    left_out = (*NEEDS_A_FOLDER, "memory", "streams", "logging_warnings_and_tracebacks", "tests_of_its_own")
    programs = {name: text for name, text in PROGRAMS.items() if name not in left_out}
    found = on_a_machine_without("unshare", "B", ALL_IN_ONE.format(programs=programs))
    assert (found["tier"], found["load_error"]) == ("B", "")
    assert {name: error for name, error in json.loads(found["stdout"].splitlines()[-1]).items() if error} == {}


def test_a_program_that_writes_files_fails_in_tier_b_with_the_error_of_a_read_only_disk() -> None:
    programs = {name: PROGRAMS[name] for name in NEEDS_A_FOLDER}
    found = on_a_machine_without("unshare", "B", ALL_IN_ONE.format(programs=programs))
    errors = json.loads(found["stdout"])
    assert set(errors) == set(NEEDS_A_FOLDER)
    assert {error.partition("(")[0] for error in errors.values()} <= {"PermissionError", "OperationalError", "error"}
