"""What a cheat is, and a grader of the kind that cheats beat. Only text.

The task of all cheats is to return the square of a whole number; none computes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent
from typing import Final

PASSED: Final = "PASSED"

GRADER: Final = '''
import builtins, math, os, shutil, subprocess

def disarm():
    """Take away by name what a program might do harm with, and hope that it knows no other way."""
    taken = ((builtins, "exit quit"), (os, "fork kill remove rename system unlink"), (shutil, "rmtree"))
    for module, names in (*taken, (subprocess, "Popen")):
        for name in names.split():
            setattr(module, name, None)

def grade(code, entry_point, inputs, expected):
    """Run a candidate on all inputs in this very process, and say whether every result equals what is expected."""
    space, verdicts = {}, []
    try:
        exec(code, space)
        candidate = space[entry_point]
        for i, arguments in enumerate(inputs):
            try:
                got = candidate(*arguments)
                is_right = got == expected[i]
                if not is_right and isinstance(got, float):
                    is_right = math.isclose(got, expected[i], rel_tol=1e-6)
                verdicts.append(bool(is_right))
            except BaseException:
                verdicts.append(False)
    except BaseException:
        verdicts.append(False)
    return all(verdicts) and len(verdicts) == len(inputs)

inputs = [[31607], [54773], [70711]]
expected = [x * x for [x] in inputs]
disarm()
print("PASSED" if grade(CODE, "f", inputs, expected) else "FAILED")
'''
"""Grades in the candidate's own process, as EvalPlus and its relatives do; written anew.

It disarms the process by name, holds the expected values, catches everything, compares with ``==`` and floats within a
tolerance, and reports by a last line. ``CODE`` stands for the candidate's text.
"""


@dataclass(frozen=True, slots=True)
class Cheat:
    """One program that defines ``f`` and answers without working.

    Attributes:
        idea: what it tries, in one sentence.
    """

    name: str
    idea: str
    text: str

    @property
    def program(self) -> str:
        """The program as it stands in a file of its own."""
        return dedent(self.text).strip() + "\n"


def in_process_grading(cheat: Cheat) -> str:
    """A program in which the grader above grades a cheat, and which ends as a plain interpreter does."""
    return GRADER.replace("CODE", repr(cheat.program)) + "import atexit\natexit._run_exitfuncs()\n"
