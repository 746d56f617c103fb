"""The facade: parts that are built from settings, tasks in every form, traces that overwrite nothing."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import armillary
from armillary.core.errors import NotFoundError, SandboxError, TaskFormatError, UsageError
from armillary.core.messages import Event, Finished, ModelIdentity, Request, Token, Usage
from armillary.core.settings import Settings, load_settings
from armillary.core.tasks import Parameter, Predicate, TaskSpec
from armillary.core.trace import TraceEvent, read_trace
from armillary.core.verdicts import Level, Status
from armillary.runtime import stack
from armillary.runtime.remote import RemoteGenerator
from armillary.verify.sandbox import client
from armillary.verify.sandbox.tiers import TierReport

STUB = 'def double(n: int) -> int:\n    """Double it.\n\n    >>> double(3)\n    6\n    """\n'
RIGHT = "def double(n):\n    return 2 * n\n"
WRONG = "def double(n):\n    return n + 1\n"
REAL_MODELS = load_settings().home / "models"


class Fixed:
    """A ``Generator`` that always gives the same program."""

    model = ModelIdentity("fixed")

    def __init__(self, code: str = RIGHT) -> None:
        self._code = code
        self.num_candidates = 0

    def stream(self, request: Request) -> Iterator[Event]:
        self.num_candidates += request.num_candidates
        for candidate in range(request.num_candidates):
            yield Token(candidate, f"```python\n{self._code}```")
            yield Finished(candidate, "stop", Usage(3, 5))


class Notes:
    """A watcher that writes everything down."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.levels: list[Level] = []
        self.num_tokens = 0

    def on_event(self, event: TraceEvent) -> None:
        self.kinds.append(event.kind)

    def on_token(self, token: Token) -> None:
        self.num_tokens += 1

    def on_level(self, level: Level) -> None:
        self.levels.append(level)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"home": tmp_path / "home"}, folder=tmp_path, environment={})


@pytest.fixture
def real_settings(tmp_path: Path) -> Settings:
    if not (REAL_MODELS / "smollm2-135m.gguf").is_file():
        pytest.skip("run armillary pull smollm2-135m first")
    return load_settings({"home": REAL_MODELS.parent, "models.default": "smollm2-135m"}, folder=tmp_path)


def test_a_stub_is_solved_by_any_generator(settings: Settings) -> None:
    solution = stack.solve(STUB, model=Fixed(), candidates=1, settings=settings)
    assert solution.code == RIGHT
    assert solution.verdict.status is Status.EXAMPLES_PASS


def test_a_wrong_answer_comes_back_refuted(settings: Settings) -> None:
    solution = stack.solve(STUB, model=Fixed(WRONG), candidates=1, settings=settings)
    counterexample = solution.verdict.counterexample
    assert counterexample is not None
    assert (counterexample.call, counterexample.actual) == ("double(3)", "4")


def test_a_task_may_be_a_file(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(STUB)
    for task in (tmp_path / "task.py", str(tmp_path / "task.py")):
        assert stack.solve(task, model=Fixed(), candidates=1, settings=settings).verdict.is_accepted


def test_the_task_decides_how_many_candidates_unless_told_otherwise(settings: Settings) -> None:
    own, told = Fixed(), Fixed()
    stack.solve(STUB, model=own, settings=settings)
    stack.solve(STUB, model=told, candidates=3, settings=settings)
    # Without a number they end early, as they agree.
    assert (own.num_candidates, told.num_candidates) == (4, 3)


@pytest.mark.parametrize("candidates", [0, -1, True, "2", 1.0])
def test_less_than_one_candidate_is_refused(settings: Settings, candidates: Any) -> None:
    with pytest.raises(UsageError, match=r"^budget.num_candidates: .* is not a whole number from 1"):
        stack.solve(STUB, model=Fixed(), candidates=candidates, settings=settings)


def test_what_is_no_task_is_refused_before_anything_is_begun(settings: Settings) -> None:
    with pytest.raises(TaskFormatError):
        stack.solve("- a\n- b\n", model=Fixed(), settings=settings)
    with pytest.raises(NotFoundError):
        stack.solve("nothing.yaml", model=Fixed(), settings=settings)
    assert not settings.home.exists()


@pytest.mark.parametrize(("model", "is_measured"), [("tiny", True), (None, True), (Fixed(), False)])
def test_the_time_to_load_the_model_is_in_the_trace_where_it_was_loaded(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Any, is_measured: bool
) -> None:
    monkeypatch.setattr(stack, "generator_for", lambda settings, name: Fixed())
    stack.solve(STUB, model=model, candidates=1, trace_path=tmp_path / "run.jsonl", settings=settings)
    load_s: Any = next(read_trace(tmp_path / "run.jsonl")).body["load_s"]
    assert (load_s is not None and load_s > 0) == is_measured


def test_each_run_gets_a_trace_of_its_own(settings: Settings) -> None:
    for _ in range(2):
        stack.solve(STUB, model=Fixed(), candidates=1, settings=settings)
    assert len(list((settings.home / "traces").glob("*Z-double.jsonl"))) == 2


@pytest.mark.parametrize("letter", ["f", "\u00e9", "\u4e01", "\U00020001"])
def test_a_function_with_a_long_name_is_solved_and_its_trace_has_part_of_the_name(
    settings: Settings, letter: str
) -> None:
    name = letter * 300
    stack.solve(
        STUB.replace("double", name), model=Fixed(RIGHT.replace("double", name)), candidates=1, settings=settings
    )
    (path,) = (settings.home / "traces").iterdir()
    assert path.stem.split("Z-")[1] == letter * (60 // len(letter.encode()))


def test_a_trace_is_never_overwritten(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        stack.solve(STUB, model=Fixed(), trace_path=path, settings=settings)
    assert path.read_text() == "mine"


def test_a_watcher_hears_events_tokens_and_levels(settings: Settings) -> None:
    notes = Notes()
    stack.solve(STUB, model=Fixed(), candidates=1, watcher=notes, settings=settings)
    assert notes.kinds == ["header", "task", "proposal", "attempt", "verdict", "selection", "answer"]
    assert set(notes.levels) == {"policy", "examples"}
    assert notes.num_tokens == 1


def test_a_trace_replays_without_the_model(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    stack.solve(STUB, model=Fixed(WRONG), candidates=1, trace_path=path, settings=settings)
    rows: list[Any] = []
    report = stack.replay_trace(str(path), settings=settings, on_verdict=rows.append, on_decision=rows.append)
    assert report.matches
    assert [*report.verdicts.rows, *report.decisions.rows] == rows


def test_a_trace_with_proofs_is_proved_again(settings: Settings, tmp_path: Path) -> None:
    path, task = (
        tmp_path / "run.jsonl",
        TaskSpec("p", "f", (Parameter("x", "int"),), ensures=(Predicate("result > x"),)),
    )
    code = "def f(x):\n    return x + 1\n"
    solution = stack.solve(task, model=Fixed(code), candidates=1, prove=True, trace_path=path, settings=settings)
    assert solution.verdict.status is Status.PROVED
    [verdict] = [event.body["verdict"] for event in read_trace(path) if event.kind == "verdict"]
    assert isinstance(verdict, dict)
    assert verdict["prover"]
    report = stack.replay_trace(path, settings=settings)
    assert (report.matches, report.verdicts.rows[0].replayed) == (True, "PROVED")


def test_no_model_works_for_a_jail_that_is_too_weak(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "probe_link", lambda link: TierReport("B", ()))
    model = Fixed()
    with pytest.raises(SandboxError, match="the sandbox needs tier A, this machine allows B"):
        stack.solve(STUB, model=model, settings=settings)
    assert model.num_candidates == 0


def test_code_is_verified_through_the_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert armillary.verify(STUB, RIGHT).is_accepted
    assert armillary.verify(TaskSpec("Double it.", "double"), RIGHT, seed=3).status is Status.UNKNOWN


def test_a_remote_server_answers_where_the_settings_name_one(tmp_path: Path) -> None:
    settings = load_settings({"remote.url": "http://127.0.0.1:9/v1", "models.default": "theirs"}, folder=tmp_path)
    default, named = stack.generator_for(settings), stack.generator_for(settings, "other")
    assert isinstance(default, RemoteGenerator)
    assert (default.model.name, named.model.name) == ("theirs", "other")


@pytest.mark.parametrize("name", [5, b"smollm2-135m", Path("x.gguf")])
def test_a_model_that_is_not_named_by_text_is_refused(settings: Settings, name: Any) -> None:
    with pytest.raises(UsageError, match=f"must be named by text.*, not {type(name).__name__}"):
        armillary.load(name, settings=settings)


def test_a_seed_below_zero_is_refused_before_the_model_works(settings: Settings) -> None:
    model = Fixed()
    with pytest.raises(UsageError, match="the seed is -1"):
        armillary.solve(STUB, model=model, seed=-1, settings=settings)
    assert model.num_candidates == 0


def test_a_model_that_was_not_pulled_says_how(settings: Settings) -> None:
    with pytest.raises(NotFoundError, match=r"run armillary pull smollm2-135m"):
        stack.load("smollm2-135m", settings=settings)


def without(package: str) -> Callable[..., Any]:
    """``__import__`` as it is where a package is not installed."""
    real = builtins.__import__

    def import_or_fail(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "armillary.runtime.local_engine":
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return real(name, *arguments, **named)

    return import_or_fail


@pytest.fixture
def a_model(settings: Settings, tmp_path: Path) -> str:
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    return str(tmp_path / "own.gguf")


def test_without_torch_the_error_names_package_and_way_out(
    settings: Settings, a_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "__import__", without("torch"))
    with pytest.raises(NotFoundError, match=r"the engine needs the package torch \(pip install 'armillary\[engine\]'"):
        stack.load(a_model, settings=settings)


def test_a_module_of_ours_that_is_missing_is_not_explained_away(
    settings: Settings, a_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "__import__", without("armillary.engine.gone"))
    with pytest.raises(ModuleNotFoundError):
        stack.load(a_model, settings=settings)


@pytest.mark.model
def test_the_real_model_streams(real_settings: Settings) -> None:
    from armillary.core.messages import Message, Sampling

    engine = stack.load(settings=real_settings, max_context_tokens=256)
    events = list(engine.stream(Request((Message("user", "Say hello."),), Sampling(max_tokens=4))))
    assert sum(isinstance(event, Token) for event in events) >= 1
    assert isinstance(events[-1], Finished)
    assert len(engine.model.sha256) == 64


@pytest.mark.model
def test_the_real_model_is_a_generator_for_solve(real_settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    solution = stack.solve(STUB, candidates=1, trace_path=path, settings=real_settings)
    assert solution.verdict.status in (Status.EXAMPLES_PASS, Status.REFUTED)
    assert next(read_trace(path)).body["model"]["name"] == "smollm2-135m"  # type: ignore[index,call-overload]
