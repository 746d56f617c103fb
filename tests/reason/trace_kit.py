"""Traces to report on, event by event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec, task_to_json
from armillary.core.trace import FORMAT_VERSION, Trace
from armillary.core.values import Json
from armillary.core.verdicts import Check, Counterexample, Status, Verdict, verdict_to_json

TASK = TaskSpec(
    prompt="Double it.",
    entry_point="f",
    parameters=(Parameter("n", "int", "int | 0..9"), Parameter("plain")),
    returns="int",
    examples=(Example((3,), 6), Example((-1,), raises="ValueError", origin="docstring")),
    requires=(Predicate("n >= 0"),),
    ensures=(Predicate("result == 2 * n"),),
    laws=(Predicate("f(n + 1) > f(n)", "model"),),
    raises=(("ValueError", "n < 0"),),
    temporal=(Predicate("steps <= 9"),),
    reference="def f(n):\n    return n + n\n",
)
REFUTED = Verdict(
    Status.REFUTED,
    (Check("policy", "policy", "sandbox", True), Check("examples[0]", "examples", "user", False, 1, "f(3) == 6")),
    Counterexample("examples[0]", "f(3)", "6", "4"),
    "fails examples[0]",
    "A",
    elapsed_ms=12.0,
)
TESTED = Verdict(
    Status.TESTED,
    (Check("examples[0]", "examples", "user", True, 1, "f(3) == 6"), Check("ensures[0]", "property", "user", True, 90)),
    reason="passed 1 example and 90 inputs",
    sandbox_tier="A",
)


class TraceKit:
    """Writes a trace as a solve would.

    Args:
        path: file to make.
    """

    def __init__(self, path: Path, task: TaskSpec = TASK, **header: Json) -> None:
        self.path = path
        self.trace = Trace(path)
        body: dict[str, Json] = {
            "format": FORMAT_VERSION,
            "armillary": "0.1.0",
            "python": "3.11.7",
            "model": {"name": "tiny", "sha256": "ab" * 32},
            "sandbox_tier": "A",
            "seed": 7,
        }
        self.trace.append("header", body | header)
        self.trace.append("task", task_to_json(task))

    def proposal(self, round_number: int = 0, text: str = "Double it.", parent: str | None = None) -> None:
        self.trace.append(
            "proposal",
            {
                "round": round_number,
                "num_candidates": 2,
                "parent": parent,
                "messages": [["user", text]],
                "sampling": {"temperature": 0.8},
            },
        )

    def attempt(self, name: str, code: str, verdict: Verdict | None = TESTED, **changes: Any) -> None:
        body: dict[str, Json] = {
            "id": name,
            "round": 0,
            "parent": None,
            "text": f"```python\n{code}```",
            "code": code,
            "finish_reason": "stop",
            "tokens": 9,
        }
        self.trace.append("attempt", body | changes)
        if verdict is not None:
            self.trace.append("verdict", {"attempt": name, "verdict": verdict_to_json(verdict)})

    def selection(self, chosen: str, *clusters: list[Json], why: str = "stands alone") -> None:
        self.trace.append("selection", {"chosen": chosen, "clusters": list(clusters) or [[chosen]], "why": why})

    def revision(self, incumbent: str, revision: str, *, accepted: bool) -> None:
        body: dict[str, Json] = {
            "incumbent": incumbent,
            "revision": revision,
            "accepted": accepted,
            "why": "adds ensures[0]",
        }
        self.trace.append("revision", body)

    def votes(self, **changes: Any) -> None:
        body: dict[str, Json] = {
            "inputs": [{"tuple": [0]}],
            "tests": [[{"tuple": [0]}, 0, "", 3], [{"tuple": [0]}, None, "ValueError", 1]],
            "passed": {"a0": [True, False], "a1": [False, False]},
        }
        self.trace.append("votes", body | changes)

    def answer(self, attempt: str | None, status: str = "TESTED", **more: Json) -> None:
        body: dict[str, Json] = {
            "attempt": attempt,
            "status": status,
            "why": "passed",
            "usage": {"prompt_tokens": 10, "completion_tokens": 20},
            "elapsed_s": 1.0,
            "stopped_by": "accepted",
        }
        self.trace.append("answer", body | more)

    def close(self) -> Path:
        self.trace.close()
        return self.path


def repaired(path: Path) -> TraceKit:
    """A wrong first proposal and its accepted revision."""
    kit = TraceKit(path)
    kit.proposal()
    kit.attempt("a0", "def f(n):\n    return n + 1\n", REFUTED)
    kit.selection("a0")
    kit.proposal(1, "Find the mistake.", "a0")
    kit.attempt("a1", "def f(n):\n    return n + n\n", parent="a0", round=1)
    kit.selection("a1")
    kit.revision("a0", "a1", accepted=True)
    kit.answer("a1")
    return kit
