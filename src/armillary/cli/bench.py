"""``armillary bench TOPIC``: measure one topic; a topic's module is imported only when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from armillary.bench.rows import Row
from armillary.cli.inputs import STDIN
from armillary.cli.output import columns, emit, keeping, say
from armillary.core.errors import ExitCode, NotFoundError, UsageError
from armillary.core.values import Json

TOPICS = {
    "demo": "whether the demo shows a refuted and an accepted program",
    "engine": "speed and exactness of the engine, beside llama.cpp",
    "solve": "how many tasks are answered right, wrong and not at all",
    "verify": "what the verifier refutes, proves and gets wrong, and what its jail holds",
}


def command(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help=f"One of: {', '.join(TOPICS)}.")],
    quick: Annotated[bool, typer.Option("--quick", help="The small size that fits into minutes.")] = False,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the data set.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Items of the data set to take.")] = None,
    noisy: Annotated[bool, typer.Option("--noisy", help="Measure although others use this machine.")] = False,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the rows there, or - .")
    ] = None,
) -> int:
    """Measure one topic on this machine and say which claims hold.

    Exit status 1 if a claim is missed.
    """
    if topic not in TOPICS:
        raise UsageError(f"unknown topic {topic!r}", hint=f"known: {', '.join(TOPICS)}")
    if data is not None and not data.is_dir():
        raise NotFoundError(f"no folder {data}")
    if json_file is not None and not Path(json_file).parent.is_dir():
        raise NotFoundError(f"no folder {Path(json_file).parent}")
    module = import_module(f"armillary.bench.{topic}")
    with keeping(lambda: "the items that were finished are kept; the same command goes on from there"):
        rows = module.run(quick=quick, data=data, limit=limit, noisy=noisy)
    _show(topic, rows, json_file)
    if any(row.is_partial for row in rows):
        say("a partial run (--quick, --limit or --noisy): its rows are kept, and never published")
    missed = [row.metric for row in rows if row.holds is False]
    if missed:
        say(f"missed: {', '.join(missed)}")
    return ExitCode.FAILED if missed else ExitCode.OK


def _show(topic: str, rows: Sequence[Row], json_file: str | None) -> None:
    body: dict[str, Json] = {"topic": topic, "rows": [asdict(row) for row in rows]}
    if json_file == STDIN:
        emit(body)
        return
    if json_file is not None:
        Path(json_file).write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    head = ("metric", "value", "unit", "target", "holds", "n")
    cells = [(row.metric, _number(row.value), row.unit, _number(row.target), _word(row), str(row.n)) for row in rows]
    for line in columns([head, *cells]):
        print(line)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _word(row: Row) -> str:
    return "" if row.holds is None else "yes" if row.holds else "NO"
