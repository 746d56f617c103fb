"""Name what proves: the programs with their versions, and the bounds within which they look. Proves nothing."""

from __future__ import annotations

from importlib.metadata import version

from armillary.core.verdicts import Prover
from armillary.verify.symbolic.request import SymbolicBudget

TOOLS = ("crosshair-tool", "z3-solver")


def identify(budget: SymbolicBudget) -> Prover:
    """The prover that is installed, held to a budget.

    Raises:
        importlib.metadata.PackageNotFoundError: it is not installed, so nothing can have opened an explorer.
    """
    return Prover(tuple((name, version(name)) for name in TOOLS), budget.cpu_s, budget.max_paths)
