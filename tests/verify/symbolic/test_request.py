from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from armillary.core.errors import SandboxError, UsageError
from armillary.core.tasks import TaskSpec
from armillary.core.values import encode
from armillary.verify.sandbox.outcomes import Outcome
from armillary.verify.symbolic import request
from armillary.verify.symbolic.request import SymbolicBudget, check_request, explore, open_explorer

BUDGET = SymbolicBudget()


def failure(jail: Any) -> str:
    return explore(jail, "check", {}, BUDGET).failure


@pytest.mark.parametrize("numbers", [(0.0, 5), (-1.0, 5), (1.0, 0), (float("nan"), 5)])
def test_a_budget_of_nothing_is_refused(numbers: tuple[float, int]) -> None:
    with pytest.raises(UsageError, match="both must be above 0"):
        SymbolicBudget(*numbers)


def test_the_jail_gives_an_exploration_more_time_than_its_budget() -> None:
    limits = SymbolicBudget(cpu_s=3.0).limits
    assert 3.0 < limits.call_cpu_s < limits.cpu_s < limits.wall_s
    assert limits.memory_bytes == 4 << 30


def test_how_much_more_an_exploration_may_take_can_be_said() -> None:
    limits = SymbolicBudget(cpu_s=3.0, slack_cpu_s=1.0).limits
    assert (limits.call_cpu_s, limits.cpu_s) == (4.0, 6)


def test_it_is_known_whether_crosshair_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "PACKAGES", ("json", "ast"))
    assert request.is_installed()
    monkeypatch.setattr(request, "PACKAGES", ("json", "no_such_package"))
    assert not request.is_installed()


def test_a_request_holds_plain_values_only(make_task: Callable[..., TaskSpec]) -> None:
    task = make_task({"x": "list[int | 0..9] | len<=3", "y": "Literal['a', 1]"}, law="f(x, y) == f(x, y)", requires="x")
    request = check_request(task, "code", "laws[0]", BUDGET)
    assert encode(request)
    assert (request["promise"], request["is_law"], request["requires"]) == ("laws_0", True, ["requires_0"])
    assert request["shapes"][0]["items"][0]["high"] == 9
    assert request["shapes"][1]["choices"] == ["a", 1]
    assert "def laws_0(f, x, y):" in request["contract"]


def test_what_goes_wrong_in_the_jail_is_told(scripted: Any, result: Any) -> None:
    def jail(*outcomes: Outcome, **fields: Any) -> Any:
        return scripted(lambda source, calls, run: result(outcomes, **fields))

    assert failure(jail(load_error="ModuleNotFoundError: No module named 'crosshair'")).startswith("ModuleNotFound")
    assert failure(jail(Outcome("raised", None, "KeyError", "'f'"))) == "KeyError: 'f'"
    late = "the exploration did not stop when its time was up"
    assert failure(jail(Outcome("timeout"))) == late
    assert failure(jail(Outcome("missing"), stopped_by="cpu")) == late
    assert failure(jail(Outcome("missing"), stopped_by="signal")) == "the exploration ended without a report (signal)"
    unreadable = Outcome("unencodable", None, "ValueCodecError", "too deep")
    assert failure(jail(unreadable)) == "the exploration ended without a report (too deep)"


def test_a_sandbox_that_breaks_is_told(scripted: Any) -> None:
    def broken(source: str, calls: Any, run: int) -> Any:
        raise SandboxError("the zygote has died")

    assert failure(scripted(broken)) == "the zygote has died"


@pytest.mark.parametrize("report", [5, {}, {"is_exhausted": 1}, {"set": [[]]}])
def test_a_report_that_was_tampered_with_is_none(scripted: Any, result: Any, report: Any) -> None:
    jail = scripted(lambda source, calls, run: result([Outcome("returned", report)]))
    assert failure(jail).startswith("a malformed report")


def test_a_report_with_odd_runs_is_none(reporting: Callable[..., Any], run_of: Callable[..., Any]) -> None:
    assert failure(reporting().explorer) == ""
    odd = run_of([1], 1) | {"error": 3}
    assert failure(reporting(witnesses=[odd]).explorer).startswith("a malformed report")
    assert failure(reporting(obstacles={"a": "b", "c": 1}).explorer).startswith("a malformed report")


def test_a_jail_that_there_is_not_is_refused_before_anything_runs() -> None:
    pytest.importorskip("crosshair")
    with pytest.raises(UsageError, match="no sandbox tier"):
        open_explorer("D")
