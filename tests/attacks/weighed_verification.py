"""Run as a script: do something with a program and print what it took of this process, as one JSON object.

Arguments: ``run`` (two hundred calls), or the kind of promise that a task makes; the program.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits
from armillary.verify.sandbox.sizes import memory_bytes
from armillary.verify.verifier import CodeVerifier


@dataclass
class WeighingSandbox:
    """The real sandbox, with a count of what it gave back."""

    inner: Sandbox
    num_runs: int = 0
    num_value_bytes: int = 0

    @property
    def tier(self) -> str:
        return self.inner.tier

    def run(
        self, source: str, calls: Sequence[Call] = (), *, limits: Limits | None = None, seed: int = 0
    ) -> JailResult:
        result = self.inner.run(source, calls, limits=limits, seed=seed)
        self.num_runs += 1
        self.num_value_bytes += sum(memory_bytes(outcome.value) for outcome in result.outcomes)
        return result


def peak_mib() -> float:
    """Most memory that this process held since its program began."""
    # Not by getrusage: its maximum is inherited from the process that started this one.
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def task(kind: str, program: str) -> TaskSpec:
    """A task that the program keeps, whatever it returns."""
    return TaskSpec(
        prompt="Return it.",
        entry_point="f",
        parameters=(Parameter("n", "int"),),
        ensures=(Predicate("len(result) > 0"),) if kind == "ensures" else (),
        laws=(Predicate("f(n) == f(n)"),) if kind == "law" else (),
        reference=program if kind == "reference" else "",
    )


kind, program = sys.argv[1:]
found: dict[str, object] = {}
with Sandbox("A") as real:
    sandbox = WeighingSandbox(real)
    sandbox.run("def f(n):\n    return n", [Call("f", (1,))])
    start_mib = peak_mib()
    if kind == "run":
        result = sandbox.run(program, [Call("f", (1,))] * 200)
        found |= {"stopped_by": result.stopped_by, "kinds": [outcome.kind for outcome in result.outcomes]}
    else:
        verdict = CodeVerifier(sandbox).verify(task(kind, program), program)
        found |= {"status": verdict.status.value, "reason": verdict.reason}
found |= {"peak_mib": peak_mib() - start_mib, "num_runs": sandbox.num_runs, "num_value_bytes": sandbox.num_value_bytes}
print(json.dumps(found))
