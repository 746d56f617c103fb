"""Look for an input on which two programs differ, with CrossHair in its jail. Says not which of them is right.

As in ``adapter`` nothing that CrossHair says is believed: each input is run on both programs outside of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.core.tasks import TaskSpec
from armillary.verify.comparison import matches
from armillary.verify.domains import parameter_domains
from armillary.verify.execution import Observation, run_calls
from armillary.verify.generate import Arguments
from armillary.verify.sandbox.outcomes import Call
from armillary.verify.symbolic.adapter import DEFAULT_BUDGET, Jails, admitted, requires_obstacle, unfinished
from armillary.verify.symbolic.obstacles import code_obstacle, domain_obstacle
from armillary.verify.symbolic.request import SymbolicBudget, difference_request, explore, unexplorable


@dataclass(frozen=True, slots=True)
class Difference:
    """An input on which two programs did different things, outside of CrossHair too."""

    arguments: Arguments
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Same:
    """No difference on any path; ``is_proved`` under the conditions of this module, but for those on promises."""

    is_proved: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither a difference nor its absence, and why."""

    reason: str


def find_difference(
    jails: Jails, task: TaskSpec, left: str, right: str, *, budget: SymbolicBudget = DEFAULT_BUDGET, seed: int = 0
) -> Difference | Same | Unknown:
    """Look for an admitted input on which two programs give different values or raise different exceptions."""
    domains = parameter_domains(task)
    if problem := unexplorable(domains):
        return Unknown(problem)
    found = explore(jails.explorer, "compare", difference_request(task, left, right, budget), budget)
    if found.failure:
        return Unknown(found.failure)
    runs = (*found.counterexamples, *found.witnesses)
    inputs = admitted(jails.runner, task, domains, runs)
    calls = [Call(task.entry_point, arguments) for arguments in inputs]
    pairs = [run_calls(jails.runner, code, calls, seed=seed).observations for code in (left, right)]
    for arguments, one, other in zip(inputs, *pairs, strict=False):
        if _differ(task, one, other):
            return Difference(arguments, one.text, other.text)
    if found.counterexamples:
        return Unknown(f"{len(found.counterexamples)} differences did not come about outside of CrossHair")
    if not found.is_exhausted:
        return Unknown(unfinished(found))
    if any(sum(seen.is_answer for seen in pair) < len(runs) for pair in pairs):
        return Unknown("a path's input could not be run outside of CrossHair")
    if not found.num_held:
        return Unknown(f"vacuous: no input of {found.num_paths} paths satisfies the conditions")
    obstacle = (
        domain_obstacle(domains)
        or code_obstacle(left, task.entry_point, domains)
        or code_obstacle(right, task.entry_point, domains)
        or requires_obstacle(task, domains)
    )
    reason = f"the same on all {found.num_paths} paths"
    return Same(not obstacle, reason + (f"; no proof: {obstacle}" if obstacle else ""))


def _differ(task: TaskSpec, left: Observation, right: Observation) -> bool:
    if not (left.is_answer and right.is_answer):
        return False
    if left.kind == "returned" and right.kind == "returned":
        return not matches(left.value, right.value, task.returns)
    return left.kind != right.kind or left.error != right.error
