"""Compose the parts that the settings name, and offer them as a few plain functions.

The one place that knows every package; decides nothing about how a part works. Heavy parts load inside functions.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from armillary.core.errors import NotFoundError, UsageError
from armillary.core.messages import Token
from armillary.core.plans import Precision
from armillary.core.protocols import Generator
from armillary.core.settings import Settings, load_settings
from armillary.core.tasks import TaskSpec
from armillary.core.trace import Trace, TraceEvent
from armillary.core.verdicts import Level

if TYPE_CHECKING:
    from armillary.engine.engine import Engine
    from armillary.models.hub import PullProgress as PullProgress  # noqa: PLC0414 - may be taken from here
    from armillary.models.hub import PullResult
    from armillary.models.registry import RegistryEntry
    from armillary.reason.replay import DecisionRow as DecisionRow  # noqa: PLC0414 - so spelled, it may be taken from here
    from armillary.reason.replay import TraceReport as TraceReport  # noqa: PLC0414 - may be taken from here
    from armillary.reason.search import Solution as Solution  # noqa: PLC0414 - may be taken from here
    from armillary.verify.replay import ReplayRow

ENGINE_PACKAGES = ("torch", "numpy", "tokenizers", "jinja2")
MAX_NAME_BYTES = 60


def load(
    name: str | None = None,
    *,
    settings: Settings | None = None,
    precision: Precision = "native",
    max_context_tokens: int | None = None,
) -> Engine:
    """Start the engine on a model that is on this machine.

    Args:
        name: registry name or path; the default model if None.
        settings: instead of those that ``load_settings`` finds.
        precision: ``float32`` dequantises; ``native`` multiplies the file's own integers.
        max_context_tokens: tokens one sequence may hold, if fewer than the model and the memory allow.

    Raises:
        UsageError: the name is no text.
        NotFoundError: no such model, it was not pulled yet, or the engine's packages are not installed.
        ModelFileError: the file is damaged.
    """
    from armillary.models.hub import local_path
    from armillary.verify.facade import require_type

    require_type(name, (str, type(None)), "the model must be named by text: a registry name or a path")
    settings = settings or load_settings()
    name = name or settings["models.default"]
    path = local_path(name, models_folder(settings))
    try:
        from armillary.runtime.local_engine import load_engine
    except ModuleNotFoundError as error:
        if error.name not in ENGINE_PACKAGES:
            raise
        raise NotFoundError(
            f"the engine needs the package {error.name}", hint="pip install 'armillary[engine]', or set remote.url"
        ) from error
    return load_engine(
        path,
        name=name,
        num_threads=settings["engine.threads"],
        precision=precision,
        max_context_tokens=max_context_tokens,
    )


def generator_for(settings: Settings, model: str | None = None) -> Generator:
    """The model that answers: a remote server if the settings name one, else the engine on this machine."""
    if not settings["remote.url"]:
        return load(model, settings=settings)
    from armillary.runtime.remote import RemoteGenerator

    return RemoteGenerator(settings["remote.url"], model or settings["models.default"], key=settings["remote.key"])


class Watcher(Protocol):
    """Somebody who looks on while a task is solved; the live view is one."""

    def on_event(self, event: TraceEvent) -> None:
        """Hear each event of the trace, after it was written."""
        ...

    def on_token(self, token: Token) -> None:
        """Hear each token as it appears."""
        ...

    def on_level(self, level: Level) -> None:
        """Hear each level of the ladder as it is begun."""
        ...


def solve(
    task: TaskSpec | Path | str,
    *,
    model: Generator | str | None = None,
    seed: int = 0,
    candidates: int | None = None,
    prove: bool = False,
    trace_path: Path | None = None,
    watcher: Watcher | None = None,
    settings: Settings | None = None,
) -> Solution:
    """Propose code for a task, test it, repair it, and return the best with its verdict.

    Args:
        task: a task, its file, or its text.
        model: a generator, a registry name or path, or None for the settings' own.
        seed: fixes every candidate and every generated input.
        candidates: first proposals, instead of the task's own number.
        prove: also look for proofs that properties hold on all paths; some ten seconds for each, and each program.
        trace_path: file for the trace; by default one in ``<home>/traces``.
        watcher: hears everything while it happens.
        settings: instead of those that ``load_settings`` finds.

    Raises:
        UsageError: the task or the model is none, the number of candidates is below 1, the seed is below 0, or the
            trace file is there already; or CrossHair is to prove and is not installed.
        SandboxError: this machine cannot offer a jail as strong as the settings ask for.
        BudgetError: the budget ended before a single answer was finished.
    """
    from armillary.reason.lease import CoreLease
    from armillary.reason.loop import solve as run_loop
    from armillary.verify.facade import as_task, require_seed, verifier_for

    require_seed(seed)
    settings = settings or load_settings()
    spec = with_candidates(as_task(task), candidates)
    path = trace_path or default_trace_path(settings, spec)
    if path.exists():
        raise UsageError(f"{path} exists already", hint="a trace never overwrites; name another file")
    # Before the model is loaded: a place that cannot hold the trace is told at once.
    path.parent.mkdir(parents=True, exist_ok=True)
    listeners = (watcher.on_event,) if watcher else ()
    with verifier_for(settings, prove=prove, on_level=watcher.on_level if watcher else None) as verifier:
        lease = CoreLease()
        if model is None or isinstance(model, str):
            with lease.hold("model"):
                model = generator_for(settings, model)
        on_token = watcher.on_token if watcher else None
        with Trace(path, listeners) as trace:
            return run_loop(spec, model, verifier, trace, seed=seed, on_token=on_token, lease=lease)


def replay_trace(
    path: Path | str,
    *,
    settings: Settings | None = None,
    on_verdict: Callable[[ReplayRow], None] | None = None,
    on_decision: Callable[[DecisionRow], None] | None = None,
) -> TraceReport:
    """Derive every verdict and every decision of a trace again, without the model.

    Args:
        path: file that a solve wrote.
        settings: instead of those that ``load_settings`` finds.
        on_verdict: told each verdict as soon as it is derived again.
        on_decision: told each decision, after the verdicts.

    Raises:
        NotFoundError: there is no such trace.
        TraceError: the trace is damaged.
        UsageError: proofs were looked for, and CrossHair is not installed.
    """
    from armillary.reason.replay import replay_trace as replay
    from armillary.verify.facade import verifier_for
    from armillary.verify.replay import has_looked_for_proofs

    path = Path(path)
    with verifier_for(settings or load_settings(), prove=has_looked_for_proofs(path)) as verifier:
        return replay(path, verifier, on_verdict=on_verdict, on_decision=on_decision)


def pull_model(
    name: str, *, settings: Settings | None = None, progress: Callable[[PullProgress], None] | None = None
) -> PullResult:
    """Fetch a known model into the models folder; a stopped pull goes on where it stopped.

    Raises:
        NotFoundError: no model has that name.
        DownloadError: no source that the settings allow could give it.
        IntegrityError: the bytes are not the promised ones.
        DiskSpaceError: the disk has too little room.
    """
    from armillary.models.hub import pull

    settings = settings or load_settings()
    return pull(name, models_folder=models_folder(settings), sources=settings["models.sources"], progress=progress)


def num_kept_bytes(name: str, settings: Settings) -> int:
    """Bytes of finished pieces that a stopped pull of a model has left to go on from."""
    from armillary.models.hub import num_kept_bytes as count

    return count(name, models_folder(settings))


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model that is known, here, or both.

    Attributes:
        name: registry name, or the path of a file that no name stands for.
        path: its file, or None if it was not pulled yet.
        license: empty where nobody told us.
        context_tokens: positions that it was trained for; 0 where only the file knows.
        note: what is wrong with the file, or empty.
    """

    name: str
    path: Path | None
    num_bytes: int
    sha256: str
    license: str = ""
    context_tokens: int = 0
    about: str = ""
    note: str = ""


def list_models(settings: Settings | None = None) -> list[ModelRow]:
    """The registry's models, then whatever else lies in the models folder."""
    from armillary.models.files import NOTES_FOLDER, file_sha256
    from armillary.models.registry import known_models

    folder = models_folder(settings or load_settings())
    known = [_known_row(entry, folder / entry.file_name) for entry in known_models()]
    taken = {row.path for row in known}
    notes = folder.parent / NOTES_FOLDER
    others = [path for path in sorted(folder.glob("*.gguf")) if path not in taken and path.is_file()]
    return known + [ModelRow(str(path), path, path.stat().st_size, file_sha256(path, notes)) for path in others]


def _known_row(entry: RegistryEntry, path: Path) -> ModelRow:
    is_here = path.is_file()
    return ModelRow(
        name=entry.name,
        path=path if is_here else None,
        num_bytes=entry.num_bytes,
        sha256=entry.sha256,
        license=entry.license,
        context_tokens=entry.context_tokens,
        about=entry.about,
        note=_fault_of(entry, path) if is_here else "",
    )


def _fault_of(entry: RegistryEntry, path: Path) -> str:
    """What is wrong with a file that should be a known model, or empty; believes a hash that was noted before."""
    from armillary.models.files import NOTES_FOLDER, file_sha256

    num_bytes = path.stat().st_size
    if num_bytes != entry.num_bytes:
        return f"has {num_bytes} bytes: remove it and pull again"
    is_right = file_sha256(path, path.parent.parent / NOTES_FOLDER) == entry.sha256
    return "" if is_right else "hash differs: remove it and pull again"


def with_candidates(task: TaskSpec, num_candidates: int | None) -> TaskSpec:
    """The same task with another number of first proposals.

    Raises:
        TaskFormatError: the number is below 1, or none.
    """
    if num_candidates is None:
        return task
    return dataclasses.replace(task, budget=dataclasses.replace(task.budget, num_candidates=num_candidates))


def default_trace_path(settings: Settings, task: TaskSpec) -> Path:
    """A file of its own for each run, sorted by time: ``<home>/traces/<UTC time>-<entry point, cut short>.jsonl``."""
    now = time.time()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    # Bytes, because file systems count those: a name of 60 letters may have 240.
    name = task.entry_point.encode("utf-8", "replace")[:MAX_NAME_BYTES].decode("utf-8", "ignore")
    return settings.home / "traces" / f"{stamp}.{int(now * 1e6) % 1_000_000:06d}Z-{name}.jsonl"


def models_folder(settings: Settings) -> Path:
    """Where pulled models live."""
    return settings.home / "models"


def kernels_status() -> str:
    """One line on whether the native kernels were built and what they use here."""
    from armillary.kernels.native import status

    return status()
