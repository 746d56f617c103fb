"""CrossHair in its jail beside the ordinary one, and an explorer that reports whatever a test wants."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.core.values import encode
from armillary.verify.execution import Jail
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Outcome
from armillary.verify.symbolic.adapter import Jails
from armillary.verify.symbolic.request import open_explorer

MakeTask = Callable[..., TaskSpec]


@pytest.fixture(scope="session")
def explorer() -> Iterator[Sandbox]:
    if importlib.util.find_spec("crosshair") is None:
        pytest.skip("CrossHair comes with the extra `symbolic`")
    with open_explorer("B") as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def jails(jail: Sandbox, explorer: Sandbox) -> Jails:
    return Jails(jail, explorer)


def _make_task(
    inputs: dict[str, str] | str = "int", *, ensures: str = "", law: str = "", requires: str = "", **fields: Any
) -> TaskSpec:
    domains = {"x": inputs} if isinstance(inputs, str) else inputs
    return TaskSpec(
        "p",
        "f",
        tuple(Parameter(name, domain=domain) for name, domain in domains.items()),
        ensures=(Predicate(ensures),) if ensures else (),
        laws=(Predicate(law),) if law else (),
        requires=(Predicate(requires),) if requires else (),
        **fields,
    )


@pytest.fixture(scope="session")
def make_task() -> MakeTask:
    return _make_task


@pytest.fixture
def reporting(scripted: Any, result: Any, jail: Jail) -> Callable[..., Jails]:
    """Jails whose explorer gives a report that says all is well, but for what a test changes in it."""

    def make(**changes: Any) -> Jails:
        report = {
            "is_exhausted": True,
            "num_paths": 1,
            "num_held": 1,
            "num_outside": 0,
            "counterexamples": [],
            "witnesses": [path([0], 0)],
            "obstacles": {},
            "cpu_s": 0.5,
        }
        outcome = Outcome("returned", encode(report | changes))
        return Jails(jail, scripted(lambda source, calls, run: result([outcome])))

    return make


@pytest.fixture(scope="session")
def run_of() -> Callable[..., dict[str, Any]]:
    return path


def path(arguments: list[Any], outcome: Any = None, *, has_result: bool = True, error: str = "") -> dict[str, Any]:
    return {"arguments": arguments, "result": outcome, "has_result": has_result, "error": error}
