"""Find small inputs on which programs differ that all pass the same evidence. Says not which of them is right.

After S* (Li and others, 2025), which has a model write such inputs; here they are searched for and made small, so that
people can tell at a glance which answer they meant. Where generated inputs tell nothing, CrossHair looks for one, as
far as processor time goes: two runs may then find different ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from armillary.core.tasks import TaskSpec
from armillary.core.values import Json, canonical, dumps, encode
from armillary.verify.behaviours import outcomes
from armillary.verify.contract import Contract
from armillary.verify.domains import contains, parameter_domains
from armillary.verify.execution import Jail
from armillary.verify.generate import Arguments
from armillary.verify.shrink import shrink, weight
from armillary.verify.symbolic.adapter import Jails
from armillary.verify.symbolic.difference import Difference, find_difference
from armillary.verify.symbolic.request import SymbolicBudget, is_installed, open_explorer, unexplorable

MAX_PROGRAMS = 3
DEFAULT_BUDGET = SymbolicBudget(cpu_s=3.0, max_paths=300, slack_cpu_s=3.0)
# Others have no room for a solver.
_EXPLORING_TIERS: Final = ("A", "B")

Pair: TypeAlias = tuple[str, str]


def telling_inputs(
    jail: Jail,
    task: TaskSpec,
    codes: Sequence[str],
    inputs: Sequence[Arguments],
    *,
    seed: int = 0,
    budget: SymbolicBudget | None = DEFAULT_BUDGET,
) -> tuple[Json, ...]:
    """One small input for each pair of the first programs that differ on any of the inputs, or on what is found beside.

    Args:
        jail: runs the programs.
        task: bounds what counts as an input.
        codes: programs, the most important first; ``MAX_PROGRAMS`` of them are looked at.
        inputs: where to look.
        seed: of the programs' random numbers.
        budget: what CrossHair may spend in all on pairs that none of the inputs tells apart, if it is installed; None
            leaves them alone.

    Returns:
        Different inputs, as tagged JSON of their arguments, in the order of the pairs.
    """
    chosen = codes[:MAX_PROGRAMS]
    rows = [_outcomes(jail, task, code, inputs, seed) for code in chosen]
    places = list(itertools.combinations(range(len(chosen)), 2))
    starts = [_first_difference(inputs, rows[left], rows[right]) for left, right in places]
    pairs = [(chosen[left], chosen[right]) for left, right in places]
    alike = [pair for pair, start in zip(pairs, starts, strict=True) if start is None and pair[0] != pair[1]]
    explored = _explored(jail, task, alike, seed, budget) if budget is not None else {}
    found: dict[str, Json] = {}
    for pair, start in zip(pairs, starts, strict=True):
        differing = explored.get(pair) if start is None else start
        if differing is not None:
            small = _shrunk(jail, task, pair, differing, seed)
            found.setdefault(canonical(small), encode(small))
    return tuple(found.values())


def _first_difference(inputs: Sequence[Arguments], left: list[str], right: list[str]) -> Arguments | None:
    """The simplest input on which two programs differ, if there is one."""
    pairs = zip(inputs, left, right, strict=True)
    return min((item for item, ours, theirs in pairs if ours != theirs), key=weight, default=None)


def _explored(
    jail: Jail, task: TaskSpec, pairs: Sequence[Pair], seed: int, budget: SymbolicBudget
) -> dict[Pair, Arguments]:
    """Inputs that CrossHair finds and that tell the programs apart in the ordinary jail, too."""
    can_explore = jail.tier in _EXPLORING_TIERS and not unexplorable(parameter_domains(task)) and is_installed()
    if not (pairs and can_explore):
        return {}
    share = replace(budget, cpu_s=budget.cpu_s / len(pairs), slack_cpu_s=budget.slack_cpu_s / len(pairs))
    found: dict[Pair, Arguments] = {}
    with open_explorer(jail.tier) as explorer:
        for pair in pairs:
            difference = find_difference(Jails(jail, explorer), task, *pair, budget=share, seed=seed)
            if not isinstance(difference, Difference):
                continue
            left, right = (_outcomes(jail, task, code, [difference.arguments], seed) for code in pair)
            if left != right:
                found[pair] = difference.arguments
    return found


def _outcomes(jail: Jail, task: TaskSpec, code: str, inputs: Sequence[Arguments], seed: int) -> list[str]:
    found = outcomes(jail, task, code, inputs, seed=seed)
    return [found] * len(inputs) if isinstance(found, str) else [dumps(item) for item in found]


def _shrunk(jail: Jail, task: TaskSpec, pair: Pair, start: Arguments, seed: int) -> Arguments:
    domains, contract = parameter_domains(task), Contract(task, jail)

    def differ(batch: Sequence[Arguments]) -> list[bool]:
        inside = [all(map(contains, domains, item)) for item in batch]
        allowed = [a and b for a, b in zip(inside, contract.admits(batch), strict=True)]
        left, right = (_outcomes(jail, task, code, batch, seed) for code in pair)
        return [a and ours != theirs for a, ours, theirs in zip(allowed, left, right, strict=True)]

    return shrink(start, differ)
