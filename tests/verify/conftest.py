"""The real jail, shared by the tests of a run, and a scripted one for what a real program does only by chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits, Outcome

Script = Callable[[str, Sequence[Call], int], JailResult]


def jail_result(outcomes: Sequence[Outcome], *, load_error: str = "", stopped_by: str = "exit") -> JailResult:
    return JailResult(tuple(outcomes), load_error, "", stopped_by, 9 if stopped_by == "signal" else 0, 1.0, "A")


class ScriptedJail:
    """Answers by a script of (source, calls, number of the run) and remembers how many calls each run had."""

    tier = "A"

    def __init__(self, script: Script) -> None:
        self.script = script
        self.runs: list[int] = []

    def run(
        self, source: str, calls: Sequence[Call] = (), *, limits: Limits | None = None, seed: int = 0
    ) -> JailResult:
        self.runs.append(len(calls))
        return self.script(source, calls, len(self.runs) - 1)


@pytest.fixture(scope="session")
def jail() -> Iterator[Sandbox]:
    with Sandbox("B", Limits(wall_s=10.0, cpu_s=2, call_cpu_s=0.5)) as sandbox:
        yield sandbox


@pytest.fixture
def scripted() -> type[ScriptedJail]:
    return ScriptedJail


@pytest.fixture
def result() -> Callable[..., JailResult]:
    return jail_result
