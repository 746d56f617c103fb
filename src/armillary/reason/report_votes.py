"""Read back what the model's own tests said where attempts that pass everything differ. Judges nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armillary.core.forms import exactly
from armillary.core.values import decode
from armillary.verify.rendering import render_call, render_tagged


@dataclass(frozen=True, slots=True)
class Vote:
    """One test that the model wrote.

    Attributes:
        call: as Python source.
        wanted: what it must give, as text.
        count: how often the model said so.
        keepers: ids of the leaders of the groups that pass it.
    """

    call: str
    wanted: str
    count: int
    keepers: tuple[str, ...]


def votes_of(function: str, body: Any) -> tuple[Vote, ...]:
    """The tests of a ``votes`` event.

    Args:
        function: the task's entry point.
        body: of the event.

    Raises:
        ValueError, TypeError, LookupError, ValueCodecError: the body was not written by a solve.
    """
    tests, passed = exactly(body["tests"], list), exactly(body["passed"], dict)
    exactly(body["inputs"], list)
    votes = []
    for index, (arguments, expected, raises, count) in enumerate(tests):
        call = render_call(function, exactly(decode(arguments), tuple))
        wanted = f"raises {exactly(raises, str)}" if raises else render_tagged(expected)
        keepers = tuple(name for name, row in passed.items() if exactly(row[index], bool))
        votes.append(Vote(call, wanted, exactly(count, int), keepers))
    return tuple(votes)
