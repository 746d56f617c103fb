from __future__ import annotations

import importlib.util

import pytest

from armillary.bench.contracts import Contract, ContractCounts, ContractRow, count, judge_contracts, load_contracts
from armillary.verify.predicates import check_predicates
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.symbolic.adapter import Jails
from armillary.verify.symbolic.request import SymbolicBudget, open_explorer

CONTRACTS = {item.name: item for item in load_contracts()}
# One of each kind: how a proof is made, how an input is found, and the traps that only what we know of Python avoids.
QUICK = ("absolute", "clamp_twice", "negated_edge", "swapped_law", "length_of_a_range", "remembered_default", "chance")


def test_there_are_enough_contracts_of_both_kinds() -> None:
    assert len(CONTRACTS) >= 40
    assert sum(item.holds for item in CONTRACTS.values()) >= 15
    assert sum(not item.holds for item in CONTRACTS.values()) >= 15


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))
def test_every_contract_makes_one_promise_that_can_be_evaluated(contract: Contract) -> None:
    check_predicates(contract.task)
    assert len(contract.task.ensures) + len(contract.task.laws) == 1
    assert "def f(" in contract.code


def test_no_contract_is_proved_or_refuted_wrongly() -> None:
    if importlib.util.find_spec("crosshair") is None:
        pytest.skip("CrossHair comes with the extra `symbolic`")
    seen: list[ContractRow] = []
    with Sandbox("B") as runner, open_explorer("B") as explorer:
        contracts = [CONTRACTS[name] for name in QUICK]
        rows = judge_contracts(Jails(runner, explorer), contracts, budget=SymbolicBudget(1.0, 60), on_row=seen.append)
    assert list(rows) == seen
    assert {row.name: row.status for row in rows} == {
        "absolute": "proved",
        "clamp_twice": "proved",
        "negated_edge": "refuted",
        "swapped_law": "refuted",
        "length_of_a_range": "unknown",
        "remembered_default": "unknown",
        "chance": "unknown",
    }
    assert rows[2].call == "(-1,)"
    assert count(rows) == ContractCounts(proved=2, refuted=2, unknown=3, wrong=0)


def test_what_is_proved_or_refuted_wrongly_is_counted() -> None:
    rows = [
        ContractRow("a", holds=True, status="refuted", reason=""),
        ContractRow("b", holds=False, status="proved", reason=""),
        ContractRow("c", holds=False, status="unknown", reason=""),
        ContractRow("d", holds=True, status="proved", reason=""),
    ]
    assert count(rows) == ContractCounts(proved=2, refuted=1, unknown=1, wrong=2)
