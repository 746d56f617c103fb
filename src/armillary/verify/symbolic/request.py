"""Turn a task into what the driver in the jail is asked: plain values only. Explores nothing, judges nothing."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from armillary.core.errors import SandboxError, UsageError, ValueCodecError
from armillary.core.forms import exactly
from armillary.core.tasks import TaskSpec
from armillary.core.values import Json, decode
from armillary.verify.domains import Domain, parameter_domains
from armillary.verify.execution import Jail
from armillary.verify.generate import Arguments
from armillary.verify.predicates import contract_source
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, Limits
from armillary.verify.source import parse_expression
from armillary.verify.symbolic.obstacles import MAX_BUILT_LENGTH

PACKAGES = (
    "crosshair", "_crosshair_tracers", "z3", "packaging", "typing_inspect", "mypy_extensions", "typing_extensions",
    "typeshed_client",
)  # fmt: skip
"""What CrossHair imports; the lot comes with the extra ``symbolic``."""

MEMORY_BYTES = 4 << 30
# CrossHair lets a path that it has begun go on, and a solver's answer may come late.
SLACK_CPU_S = 10.0
WALL_PER_CPU = 4.0
_DRIVER = "driver.py"
_EXPLORABLE = frozenset({
    "int", "float", "bool", "str", "bytes", "complex", "none", "list", "tuple", "dict", "set", "frozenset", "union",
    "choice",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class SymbolicBudget:
    """What one exploration may spend.

    Attributes:
        cpu_s: processor time; a path that has begun may take some more.
        max_paths: paths to explore.
        slack_cpu_s: how much more, before the exploration is ended and what it found is lost.

    Raises:
        UsageError: a number that is not above 0.
    """

    cpu_s: float = 5.0
    max_paths: int = 2000
    slack_cpu_s: float = SLACK_CPU_S

    def __post_init__(self) -> None:
        if not (self.cpu_s > 0 and self.max_paths > 0):
            raise UsageError(f"a budget of {self.cpu_s} s and {self.max_paths} paths; both must be above 0")

    @property
    def limits(self) -> Limits:
        """The jail's limits around such an exploration."""
        call_cpu_s = self.cpu_s + self.slack_cpu_s
        wall_s = call_cpu_s * WALL_PER_CPU
        return Limits(wall_s=wall_s, cpu_s=int(call_cpu_s) + 2, call_cpu_s=call_cpu_s, memory_bytes=MEMORY_BYTES)


@dataclass(frozen=True, slots=True)
class SymbolicRun:
    """One path of a program, with values that lead down it.

    Attributes:
        result: what the program gave on the path, if ``has_result``.
        error: name of the exception that ended the path, or empty.
    """

    arguments: Arguments
    result: Any = None
    has_result: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Exploration:
    """What the driver reports.

    Attributes:
        is_exhausted: every path was run to its end and held, or lies outside of what the task speaks of.
        counterexamples: paths on which the promise seems broken.
        witnesses: some of the paths on which it holds.
        obstacles: why paths were given up -> how many.
        failure: why there is no report, or empty; then the rest says nothing.
    """

    is_exhausted: bool = False
    num_paths: int = 0
    num_held: int = 0
    num_outside: int = 0
    counterexamples: tuple[SymbolicRun, ...] = ()
    witnesses: tuple[SymbolicRun, ...] = ()
    obstacles: tuple[tuple[str, int], ...] = ()
    cpu_s: float = 0.0
    failure: str = ""


def is_installed() -> bool:
    """Whether CrossHair and all that it imports are there."""
    return all(find_spec(name) is not None for name in PACKAGES)


def open_explorer(minimum_tier: str = "A") -> Sandbox:
    """A jail in which CrossHair can be imported; the caller closes it.

    Raises:
        UsageError: CrossHair is not installed.
    """
    return Sandbox(minimum_tier, packages=PACKAGES, preload=("crosshair.core_and_libs",))


def check_request(task: TaskSpec, code: str, promise_id: str, budget: SymbolicBudget) -> dict[str, Any]:
    """Ask for one ``ensures`` or law."""
    kind, place = promise_id.rstrip("]").split("[")
    contract = contract_source(task)
    if kind == "laws":
        contract += "\n" + _law_source(task, int(place))
    return _request(task, code, budget) | {
        "contract": contract,
        "promise": f"{kind}_{place}",
        "is_law": kind == "laws",
        "raises": [f"raises_{index}" for index in range(len(task.raises))],
    }


def difference_request(task: TaskSpec, left: str, right: str, budget: SymbolicBudget) -> dict[str, Any]:
    """Ask for an input on which two programs differ."""
    more = {"contract": contract_source(task), "other": right, "is_reference": False}
    return _request(task, left, budget) | more


def reference_request(task: TaskSpec, code: str, budget: SymbolicBudget) -> dict[str, Any]:
    """Ask for an input on which the task's reference returns and the program does not do the same."""
    return difference_request(task, code, task.reference, budget) | {"is_reference": True}


def explore(explorer: Jail, function: str, request: dict[str, Any], budget: SymbolicBudget) -> Exploration:
    """Run the driver's ``check`` or ``compare`` in the jail."""
    try:
        result = explorer.run(_driver_source(), [Call(function, (request,))], limits=budget.limits)
    except SandboxError as error:
        return Exploration(failure=str(error))
    if result.load_error:
        return Exploration(failure=result.load_error)
    outcome = result.outcomes[0]
    if outcome.kind == "returned":
        return _read(outcome.value)
    if outcome.kind == "raised":
        return Exploration(failure=f"{outcome.error_type}: {outcome.error_message}")
    if outcome.kind == "timeout" or result.stopped_by in ("wall", "cpu"):
        return Exploration(failure="the exploration did not stop when its time was up")
    return Exploration(failure=f"the exploration ended without a report ({outcome.error_message or result.stopped_by})")


def unexplorable(domains: Sequence[Domain]) -> str:
    """Why no symbolic value of such domains can be made, or an empty text."""
    for domain in domains:
        if domain.kind not in _EXPLORABLE:
            return f"a parameter of kind {domain.kind} has no symbolic form"
        if found := unexplorable(domain.items):
            return found
    return ""


def _request(task: TaskSpec, code: str, budget: SymbolicBudget) -> dict[str, Any]:
    return {
        "code": code,
        "entry_point": task.entry_point,
        "shapes": [_shape(domain) for domain in parameter_domains(task)],
        "requires": [f"requires_{index}" for index in range(len(task.requires))],
        "cpu_s": budget.cpu_s,
        "max_paths": budget.max_paths,
        "max_built_length": MAX_BUILT_LENGTH,
    }


def _shape(domain: Domain) -> dict[str, Any]:
    is_number = domain.kind in ("int", "float")
    return {
        "kind": domain.kind,
        "items": [_shape(item) for item in domain.items],
        "low": domain.low if is_number else domain.min_length,
        "high": domain.high if is_number else domain.max_length,
        "alphabet": domain.alphabet,
        "choices": list(domain.choices),
        "is_variadic": domain.is_variadic,
    }


def _law_source(task: TaskSpec, place: int) -> str:
    names = ", ".join((task.entry_point, *(parameter.name for parameter in task.parameters)))
    claim = ast.unparse(parse_expression(task.laws[place].text))
    return f"def laws_{place}({names}):\n    return True if ({claim}) else False\n"


def _read(tagged: Json) -> Exploration:
    """The driver's report; the program that it explored ran beside it and may have tampered with it."""
    try:
        found = decode(tagged)
        return Exploration(
            is_exhausted=exactly(found["is_exhausted"], bool),
            num_paths=exactly(found["num_paths"], int),
            num_held=exactly(found["num_held"], int),
            num_outside=exactly(found["num_outside"], int),
            counterexamples=tuple(map(_read_run, exactly(found["counterexamples"], list))),
            witnesses=tuple(map(_read_run, exactly(found["witnesses"], list))),
            obstacles=tuple(sorted(exactly(found["obstacles"], dict).items(), key=lambda item: (-item[1], item[0]))),
            cpu_s=exactly(found["cpu_s"], float),
        )
    except (KeyError, TypeError, ValueError, ValueCodecError) as error:
        return Exploration(failure=f"a malformed report: {error!r}"[:200])


def _read_run(item: Any) -> SymbolicRun:
    return SymbolicRun(
        arguments=tuple(exactly(item["arguments"], list)),
        result=item["result"],
        has_result=exactly(item["has_result"], bool),
        error=exactly(item["error"], str),
    )


@cache
def _driver_source() -> str:
    return files(__package__).joinpath(_DRIVER).read_text(encoding="utf-8")
