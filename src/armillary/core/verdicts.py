"""What was found out about an answer, and on what evidence. Passes no judgement itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias, get_args

from armillary.core.errors import TraceError
from armillary.core.forms import exactly, number, one_of
from armillary.core.values import Json

# What a program does on shared inputs, one word for each: equal words are equal outcomes. The word of an input on which
# it gives no value begins with a mark.
NO_VALUE = "-"
Behaviour: TypeAlias = tuple[str, ...]
Level = Literal["policy", "examples", "property", "differential", "temporal", "symbolic", "agreement"]
CheckOrigin = Literal["user", "docstring", "model", "sandbox"]


class Status(StrEnum):
    """The strongest thing that may be said."""

    PROVED = "PROVED"
    TESTED = "TESTED"
    EXAMPLES_PASS = "EXAMPLES_PASS"  # noqa: S105 - not a password
    REFUTED = "REFUTED"
    UNKNOWN = "UNKNOWN"
    SPEC_SUSPECT = "SPEC_SUSPECT"


@dataclass(frozen=True, slots=True)
class Check:
    """One item of evidence.

    Attributes:
        id: stable name within the task, such as ``examples[2]`` or ``ensures[0]``; sets of ids are compared when a
            revision wants to replace an answer.
        origin: who wrote the expectation; everything but ``model`` is hard evidence.
        num_inputs: inputs that were tried.
        text: the expectation as the user would read it.
    """

    id: str
    level: Level
    origin: CheckOrigin
    passed: bool
    num_inputs: int = 1
    text: str = ""

    @property
    def is_hard(self) -> bool:
        """Whether a failure refutes the answer."""
        return self.origin != "model"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An input on which the answer is wrong; it was run again before it was reported.

    Attributes:
        check_id: the check that it breaks.
        call: the call as Python source, such as ``f([1, 2], 3)``.
        expected: what should have happened, as text.
        actual: what happened, as text.
        arguments: the arguments as tagged JSON.
    """

    check_id: str
    call: str
    expected: str
    actual: str
    arguments: Json = None


@dataclass(frozen=True, slots=True)
class Risk:
    """How often answers with such evidence were wrong before.

    Attributes:
        probability: share of wrong ones among the labelled answers with this much evidence.
        low, high: 95 % interval of it.
        num_labels: labelled answers that it rests on.
        source: where the labels came from, for the user.
    """

    probability: float
    low: float
    high: float
    num_labels: int
    source: str


@dataclass(frozen=True, slots=True)
class Prover:
    """What looked for proofs, and within which bounds; what it proved are checks, each with the paths that it saw.

    Attributes:
        tools: names and versions of the programs that explored and solved.
        cpu_s: processor seconds for each promise.
        max_paths: paths for each promise.
    """

    tools: tuple[tuple[str, str], ...]
    cpu_s: float
    max_paths: int

    @property
    def text(self) -> str:
        """All of it in a few words."""
        tools = " with ".join(f"{name} {version}" for name, version in self.tools)
        return f"{tools}, {self.cpu_s:g} CPU-s and {self.max_paths} paths for each promise"


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that is known about one answer to one task.

    Attributes:
        reason: one sentence for the user; says why when the status is UNKNOWN.
        sandbox_tier: strength of the jail that ran the code: ``A``, ``B``, ``C``, or ``none`` when nothing ran.
        seed: seed of the generated inputs.
        elapsed_ms: wall clock; a replay may see it differ.
        risk: what the user's own labelled tasks say of such evidence, or None; no part of what is replayed.
        prover: what looked for proofs, or None where the ladder did not get there or was not asked to.
    """

    status: Status
    checks: tuple[Check, ...] = ()
    counterexample: Counterexample | None = None
    reason: str = ""
    sandbox_tier: str = "none"
    seed: int = 0
    elapsed_ms: float = 0.0
    risk: Risk | None = None
    prover: Prover | None = None

    @property
    def passed_hard(self) -> frozenset[str]:
        """Ids of the hard checks that passed."""
        return frozenset(check.id for check in self.checks if check.is_hard and check.passed)

    @property
    def is_accepted(self) -> bool:
        """Whether everything hard that was tried passed, and something was."""
        return self.status in (Status.PROVED, Status.TESTED, Status.EXAMPLES_PASS)

    @property
    def num_inputs(self) -> int:
        """Inputs tried over all checks."""
        return sum(check.num_inputs for check in self.checks if check.level != "policy")


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """The verdict as it stands in a trace; its time is rounded to a microsecond."""
    found, prover = verdict.counterexample, verdict.prover
    body: dict[str, Json] = {
        "status": verdict.status.value,
        "checks": [
            [item.id, item.level, item.origin, item.passed, item.num_inputs, item.text] for item in verdict.checks
        ],
        "counterexample": None
        if found is None
        else {
            "check_id": found.check_id,
            "call": found.call,
            "expected": found.expected,
            "actual": found.actual,
            "arguments": found.arguments,
        },
        "reason": verdict.reason,
        "sandbox_tier": verdict.sandbox_tier,
        "seed": verdict.seed,
        "elapsed_ms": round(verdict.elapsed_ms, 3),
    }
    if prover is not None:
        body["prover"] = {"tools": dict(prover.tools), "cpu_s": prover.cpu_s, "max_paths": prover.max_paths}
    return body


def verdict_from_json(body: Any) -> Verdict:
    """Inverse of :func:`verdict_to_json`, but for the rounded time.

    Raises:
        TraceError: the body was not written by :func:`verdict_to_json`.
    """
    try:
        found = body["counterexample"]
        return Verdict(
            status=Status(body["status"]),
            checks=tuple(_check_from_json(*item) for item in exactly(body["checks"], list)),
            counterexample=None if found is None else _counterexample_from_json(found),
            reason=exactly(body["reason"], str),
            sandbox_tier=exactly(body["sandbox_tier"], str),
            seed=exactly(body["seed"], int),
            elapsed_ms=number(body["elapsed_ms"]),
            prover=_prover_from_json(body["prover"]) if "prover" in body else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"not a verdict's JSON form: {error!r}") from error


def _check_from_json(name: Any, level: Any, origin: Any, passed: Any, num_inputs: Any, text: Any) -> Check:
    return Check(
        id=exactly(name, str),
        level=one_of(level, get_args(Level)),
        origin=one_of(origin, get_args(CheckOrigin)),
        passed=exactly(passed, bool),
        num_inputs=exactly(num_inputs, int),
        text=exactly(text, str),
    )


def _counterexample_from_json(found: Any) -> Counterexample:
    texts = {name: exactly(found[name], str) for name in ("check_id", "call", "expected", "actual")}
    return Counterexample(**texts, arguments=found["arguments"])


def _prover_from_json(found: Any) -> Prover:
    tools = tuple(
        (exactly(name, str), exactly(version, str)) for name, version in exactly(found["tools"], dict).items()
    )
    return Prover(tools, number(found["cpu_s"]), exactly(found["max_paths"], int))


def replay_form(verdict: Verdict) -> dict[str, Json]:
    """What a replay must reproduce bit for bit: everything but the time it took."""
    return {key: value for key, value in verdict_to_json(verdict).items() if key != "elapsed_ms"}
