"""What an attack on the jail is, as data. Runs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent
from typing import Final, Literal

MARK: Final = "ESCAPED"
"""What an attack prints when it has what it wanted."""

Sight = Literal["printed", "written", "deleted", "killed"]

JAIL_LAYERS: Final = ("namespaces", "mounts", "privileges", "limits", "landlock", "seccomp")
KEEPER_LAYERS: Final = ("descriptors", "environment", "modules")
PARENT_LAYERS: Final = ("wall clock", "output cap")
EVERYTHING: Final = "everything"
"""No jail at all: a plain interpreter."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One way out of the jail.

    Attributes:
        text: the program; ``$name`` stands for a target in the outer world (:mod:`armillary.bench.attack_world`).
        layers: what stops it; any one of them would do, so that it succeeds only where all of them are off.
        seen: how the outcome is seen: the program prints ``MARK``; the file ``$written`` is there afterwards; the file
            ``$spare`` is gone; the process ``$sibling`` has ended.
        no_control: why its success is not shown with those layers off, or empty.
        ends_itself: nothing that comes after it in the same process would run.
    """

    name: str
    text: str
    layers: tuple[str, ...]
    seen: Sight = "printed"
    no_control: str = ""
    ends_itself: bool = False

    @property
    def program(self) -> str:
        """The program as it stands in a file of its own."""
        return dedent(self.text).strip() + "\n"
