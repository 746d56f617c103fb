"""Find small inputs on which programs differ that all pass the same evidence. Says not which of them is right.

After S* (Li and others, 2025), which has a model write such inputs; here they are searched for and made small, so that
people can tell at a glance which answer they meant.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from armillary.core.tasks import TaskSpec
from armillary.core.values import Json, canonical, dumps, encode
from armillary.verify.behaviours import outcomes
from armillary.verify.contract import Contract
from armillary.verify.domains import contains, parameter_domains
from armillary.verify.execution import Jail
from armillary.verify.generate import Arguments
from armillary.verify.shrink import shrink, weight

MAX_PROGRAMS = 3


def telling_inputs(
    jail: Jail, task: TaskSpec, codes: Sequence[str], inputs: Sequence[Arguments], *, seed: int = 0
) -> tuple[Json, ...]:
    """One small input for each pair of the first programs that differ on any of the inputs.

    Args:
        jail: runs the programs.
        task: bounds what counts as an input.
        codes: programs, the most important first; ``MAX_PROGRAMS`` of them are looked at.
        inputs: where to look.
        seed: of the programs' random numbers.

    Returns:
        Different inputs, as tagged JSON of their arguments, in the order of the pairs.
    """
    chosen = codes[:MAX_PROGRAMS]
    rows = [_outcomes(jail, task, code, inputs, seed) for code in chosen]
    found: dict[str, Json] = {}
    for left, right in itertools.combinations(range(len(chosen)), 2):
        pairs = zip(inputs, rows[left], rows[right], strict=True)
        differing = [item for item, ours, theirs in pairs if ours != theirs]
        if not differing:
            continue
        small = _shrunk(jail, task, (chosen[left], chosen[right]), min(differing, key=weight), seed)
        found.setdefault(canonical(small), encode(small))
    return tuple(found.values())


def _outcomes(jail: Jail, task: TaskSpec, code: str, inputs: Sequence[Arguments], seed: int) -> list[str]:
    found = outcomes(jail, task, code, inputs, seed=seed)
    return [found] * len(inputs) if isinstance(found, str) else [dumps(item) for item in found]


def _shrunk(jail: Jail, task: TaskSpec, pair: tuple[str, str], start: Arguments, seed: int) -> Arguments:
    domains, contract = parameter_domains(task), Contract(task, jail)

    def differ(batch: Sequence[Arguments]) -> list[bool]:
        inside = [all(map(contains, domains, item)) for item in batch]
        allowed = [a and b for a, b in zip(inside, contract.admits(batch), strict=True)]
        left, right = (_outcomes(jail, task, code, batch, seed) for code in pair)
        return [a and ours != theirs for a, ours, theirs in zip(allowed, left, right, strict=True)]

    return shrink(start, differ)
