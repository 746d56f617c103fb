"""Follow a call of a program line by line in the jail and say what its last lines worked with. Judges nothing.

After LDB (Zhong and others, 2024), which shows a model the values of a program's blocks; here only the last block, as a
small model reads no more.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from armillary.core.errors import ValueCodecError
from armillary.core.tasks import TaskSpec
from armillary.core.values import decode
from armillary.verify.execution import Jail, run_alone
from armillary.verify.generate import Arguments
from armillary.verify.sandbox.outcomes import Call
from armillary.verify.source import SourceError, parse_module

MAX_STEPS = 6
MAX_VALUE_CHARS = 40
MAX_LINE_CHARS = 80

# The candidate becomes the module "candidate" anew, so that its lines are told from those of this program.
_PROGRAM = """\
import collections as armillary_collections, reprlib as armillary_reprlib, sys as armillary_sys
from types import ModuleType as armillary_module
armillary_candidate = armillary_sys.modules["candidate"] = armillary_module("candidate")
exec(compile({code}, "candidate.py", "exec", dont_inherit=True), armillary_candidate.__dict__)

def armillary_follow(*arguments):
    steps = armillary_collections.deque(maxlen={max_steps})
    printer = armillary_reprlib.Repr()
    printer.maxstring = printer.maxother = printer.maxlong = {max_chars}
    def shown(value):
        try:
            return printer.repr(value)[:{max_chars}]
        except Exception:
            return "?"
    def note(frame, event, argument):
        if frame.f_code.co_filename != "candidate.py":
            return None
        if event == "line":
            steps.append((frame.f_lineno, [(name, shown(value)) for name, value in frame.f_locals.items()]))
        return note
    armillary_sys.settrace(note)
    try:
        armillary_candidate.{name}(*arguments)
    except Exception:
        pass
    finally:
        armillary_sys.settrace(None)
    return list(steps)
"""


def last_steps(jail: Jail, task: TaskSpec, code: str, arguments: Arguments, *, seed: int = 0) -> tuple[str, ...]:
    """The last lines that a call ran, each with the values of the variables in it as they were before it.

    Args:
        jail: runs the program.
        task: names the function.
        code: the program.
        arguments: of the call; one that never ends gives nothing.
        seed: of the program's random numbers.

    Returns:
        Lines such as ``line 4: total += x    total=3, x=4``, oldest first; none where nothing could be followed.
    """
    program = _PROGRAM.format(code=ascii(code), name=task.entry_point, max_steps=MAX_STEPS, max_chars=MAX_VALUE_CHARS)
    seen = run_alone(jail, program, Call("armillary_follow", arguments), seed=seed)
    if seen.kind != "returned":
        return ()
    try:
        return _lines(code, decode(seen.value))
    except (ValueCodecError, SourceError, TypeError, ValueError, IndexError):
        return ()  # the program wrote the answer itself


def _lines(code: str, steps: Sequence[tuple[int, Sequence[tuple[str, str]]]]) -> tuple[str, ...]:
    names_of = _names_by_line(code)
    source = code.splitlines()
    lines = []
    for number, values in steps:
        shown = ", ".join(f"{name}={text}" for name, text in values if name in names_of.get(number, set()))
        line = f"line {number}: {source[number - 1].strip()[:MAX_LINE_CHARS]}"
        lines.append(f"{line}    {shown}" if shown else line)
    return tuple(lines)


def _names_by_line(code: str) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for node in ast.walk(parse_module(code)):
        if isinstance(node, ast.Name):
            found.setdefault(node.lineno, set()).add(node.id)
    return found
