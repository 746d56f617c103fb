"""One command line, run in this process as a user would run it, in a home of its own; and a short solve to watch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chat_stage import Act, Actor

from armillary.cli.main import run
from armillary.core.messages import Event, Finished, ModelIdentity, Request, Token, Usage
from armillary.core.settings import load_settings
from armillary.core.trace import Listener, Trace
from armillary.core.verdicts import Check, Counterexample, Status, Verdict, verdict_to_json
from armillary.runtime import stack


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


REAL_MODELS = load_settings().home / "models"


@pytest.fixture
def real_model(home: Path) -> str:
    """The small model, pulled before the tests, in this test's own home."""
    file = REAL_MODELS / "smollm2-135m.gguf"
    if not file.is_file():
        pytest.skip("run armillary pull smollm2-135m first")
    (home / "models").mkdir(parents=True)
    (home / "models" / file.name).symlink_to(file)
    return "smollm2-135m"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("ARMILLARY_HOME", str(folder))
    for name in ("MODEL", "SOURCES", "THREADS", "MINIMUM_TIER", "REMOTE_URL", "REMOTE_KEY"):
        monkeypatch.delenv(f"ARMILLARY_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def armillary(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*arguments: str) -> Ran:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def tell() -> Callable[..., None]:
    """Tells a short solve to listeners: two proposals, one refuted, one undecided, a revision that is accepted."""
    return _tell


REFUTED = Verdict(
    Status.REFUTED,
    (Check("examples[0]", "examples", "user", False, 1, "f(1) == 2"),),
    Counterexample("examples[0]", "f([1])", "2", "[bold]3"),
    sandbox_tier="A",
)
UNKNOWN = Verdict(Status.UNKNOWN, reason="nothing to hold it to")
ACCEPTED = Verdict(
    Status.TESTED,
    (Check("ensures[0]", "property", "user", True, 120, "result > 0"),),
    reason="passed 120 inputs",
    sandbox_tier="A",
)


def _attempt(trace: Trace, name: str, verdict: Verdict, parent: str | None = None) -> None:
    body = {
        "id": name,
        "round": 1 if parent else 0,
        "parent": parent,
        "text": "",
        "code": "",
        "finish_reason": "stop",
        "tokens": 7,
    }
    trace.append("attempt", body)  # type: ignore[arg-type]
    trace.append("verdict", {"attempt": name, "verdict": verdict_to_json(verdict)})


def _tell(*listeners: Listener) -> None:
    trace = Trace(None, listeners)
    trace.append("header", {"model": {"name": "tiny", "sha256": ""}})
    trace.append("task", {})
    _attempt(trace, "a0", REFUTED)
    _attempt(trace, "a1", UNKNOWN)
    trace.append("selection", {"chosen": "a0", "clusters": [["a0"]], "why": "a0 stands alone"})
    _attempt(trace, "a2", ACCEPTED, parent="a0")
    trace.append("revision", {"incumbent": "a0", "revision": "a2", "accepted": True, "why": "adds ensures[0]"})
    trace.append("answer", {"attempt": "a2", "status": "TESTED"})


class Scripted:
    """A ``Generator`` that says what it is told to, word by word; each candidate takes the next answer."""

    def __init__(self, *answers: str, end: Finished | None = None) -> None:
        self.model = ModelIdentity("scripted", "ab" * 32)
        self.requests: list[Request] = []
        self._answers = iter(answers)
        self._end = end

    def stream(self, request: Request) -> Iterator[Event]:
        self.requests.append(request)
        for candidate in range(request.num_candidates):
            words = re.findall(r"\S*\s*", next(self._answers))[:-1]
            for word in words:
                yield Token(candidate, word)
            yield self._end or Finished(candidate, "stop", Usage(10, len(words)))


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    """Puts a scripted model in the place of the real one."""

    def use(*answers: str, end: Finished | None = None) -> Scripted:
        generator = Scripted(*answers, end=end)
        monkeypatch.setattr(stack, "generator_for", lambda settings, model=None: generator)
        return generator

    return use


@pytest.fixture
def actor(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Actor]:
    """Puts a model that plays given acts in the place of the real one."""

    def use(*acts: Act) -> Actor:
        model = Actor(*acts)
        monkeypatch.setattr(stack, "generator_for", lambda settings, model_name=None: model)
        return model

    return use
