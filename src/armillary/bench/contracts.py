"""Contracts whose truth is known, and the count of what the symbolic level makes of them: proved, refuted or unknown.

Each is judged as if the ladder had passed it before, so that nothing but the symbolic level stands between a trap and a
wrong proof. What it leaves unknown is no error; what it proves or refutes wrongly is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.verify.symbolic.adapter import Jails, SymbolicResult, check_properties
from armillary.verify.symbolic.request import SymbolicBudget

BUDGET = SymbolicBudget(cpu_s=8.0)
_FILE = "contracts.toml"


@dataclass(frozen=True, slots=True)
class Contract:
    """A task with one promise, a program, and whether the program keeps it on every input."""

    name: str
    task: TaskSpec
    code: str
    holds: bool


@dataclass(frozen=True, slots=True)
class ContractRow:
    """What came of one contract.

    Attributes:
        status: ``proved``, ``refuted`` or ``unknown``.
        reason: the level's own words.
        call: arguments that break the promise, as text, when refuted.
    """

    name: str
    holds: bool
    status: str
    reason: str
    call: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether a failing contract was proved, or one that holds was refuted."""
        return self.status == ("refuted" if self.holds else "proved")


@dataclass(frozen=True, slots=True)
class ContractCounts:
    """How many rows there are of each kind; ``wrong`` ones are among the proved and refuted."""

    proved: int
    refuted: int
    unknown: int
    wrong: int


def load_contracts() -> tuple[Contract, ...]:
    """All contracts, in the order of the file."""
    table = tomllib.loads(files(__package__).joinpath(_FILE).read_text(encoding="utf-8"))
    return tuple(_contract(name, entry) for name, entry in table.items())


def judge_contracts(
    jails: Jails,
    contracts: Sequence[Contract],
    *,
    budget: SymbolicBudget = BUDGET,
    on_row: Callable[[ContractRow], None] = lambda row: None,
) -> tuple[ContractRow, ...]:
    """Judge each contract within the budget; ``on_row`` is told each row as it comes."""
    rows: list[ContractRow] = []
    for contract in contracts:
        [result] = check_properties(
            jails, contract.task, contract.code, budget=budget, tested=("ensures[0]", "laws[0]")
        )
        rows.append(_row(contract, result))
        on_row(rows[-1])
    return tuple(rows)


def count(rows: Sequence[ContractRow]) -> ContractCounts:
    """Sum up the rows."""
    statuses = [row.status for row in rows]
    return ContractCounts(
        proved=statuses.count("proved"),
        refuted=statuses.count("refuted"),
        unknown=statuses.count("unknown"),
        wrong=sum(row.is_wrong for row in rows),
    )


def _contract(name: str, entry: dict[str, Any]) -> Contract:
    task = TaskSpec(
        prompt=name.replace("_", " "),
        entry_point="f",
        parameters=tuple(Parameter(key, domain=text) for key, text in entry["inputs"].items()),
        requires=_predicates(entry, "requires"),
        ensures=_predicates(entry, "ensures"),
        laws=_predicates(entry, "law"),
        raises=tuple(entry.get("raises", {}).items()),
    )
    return Contract(name, task, entry["code"].lstrip("\n"), entry["holds"])


def _predicates(entry: dict[str, Any], field: str) -> tuple[Predicate, ...]:
    return (Predicate(entry[field]),) if field in entry else ()


def _row(contract: Contract, result: SymbolicResult) -> ContractRow:
    call = "" if result.breach is None else repr(result.breach.arguments)[:200]
    reason = "; ".join((result.reason, *result.notes))
    return ContractRow(contract.name, contract.holds, result.status, reason, call)
