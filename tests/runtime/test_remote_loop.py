"""The whole job against a remote server: real protocol, real verifier, real jail; only the answers are scripted."""

from __future__ import annotations

from pathlib import Path

from fake_server import answers, serve, streams

from armillary.core.tasks import Budget, Example, Parameter, TaskSpec
from armillary.core.trace import Trace, read_trace
from armillary.core.verdicts import Status
from armillary.reason.loop import solve
from armillary.runtime.remote import RemoteGenerator
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.verifier import CodeVerifier

TASK = TaskSpec(
    prompt="Add one.",
    entry_point="f",
    parameters=(Parameter("x", "int"),),
    examples=(Example((1,), 2), Example((-1,), 0)),
    budget=Budget(num_candidates=3, max_rounds=1),
)
KEY = "sk-very-secret-0123456789"


def fenced(expression: str) -> str:
    return f"```python\ndef f(x):\n    return {expression}\n```"


def test_a_remote_model_is_refuted_repaired_and_traced(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    replies = (answers(fenced("x")), answers(fenced("2 * x")), streams(is_done=False), answers(fenced("x + 1")))
    with serve(*replies) as server, Sandbox("B") as jail, Trace(path) as trace:
        solution = solve(TASK, RemoteGenerator(server.url, "coder", key=KEY), CodeVerifier(jail), trace)
    assert (solution.code.split()[-3:], solution.stopped_by) == (["x", "+", "1"], "accepted")
    assert solution.verdict.status in (Status.EXAMPLES_PASS, Status.TESTED)
    assert [attempt.verdict.status for attempt in solution.attempts[:3]] == [Status.REFUTED] * 3
    assert (solution.usage.prompt_tokens, solution.usage.completion_tokens) == (30, 15)
    assert server.bodies[-1]["messages"][-2]["role"] == "assistant"
    header = next(iter(read_trace(path)))
    assert header.body["model"] == {"name": "coder", "sha256": ""}
    assert KEY not in path.read_text()
