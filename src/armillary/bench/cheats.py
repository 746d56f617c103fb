"""All programs that go for their grader instead of the task. Only text."""

from __future__ import annotations

from typing import Final

from armillary.bench.cheat_form import Cheat
from armillary.bench.cheats_on_graders import CHANGES, REPORTS
from armillary.bench.cheats_on_values import EQUALS, LOOKS

CHEATS: Final[tuple[Cheat, ...]] = (*LOOKS, *EQUALS, *CHANGES, *REPORTS)
