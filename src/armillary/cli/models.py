"""``armillary models``: which models are known by name, which are here. Fetches nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from armillary.cli.output import columns, emit, human_bytes
from armillary.core.errors import ExitCode
from armillary.core.settings import load_settings
from armillary.core.values import Json
from armillary.runtime import stack


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> int:
    """List the models that are known by name, and other files in the models folder."""
    settings = load_settings()
    rows = stack.list_models(settings)
    if as_json:
        emit({"models": [_to_json(row) for row in rows], "folder": str(stack.models_folder(settings))})
        return ExitCode.OK
    head = ("name", "size", "context", "licence", "sha256", "here", "about")
    for line in columns([head, *map(_cells, rows)]):
        print(line)
    return ExitCode.OK


def _cells(row: stack.ModelRow) -> tuple[str, ...]:
    context = str(row.context_tokens) if row.context_tokens else ""
    here = row.note or ("yes" if row.path else "no")
    return row.name, human_bytes(row.num_bytes), context, row.license, row.sha256[:12], here, row.about


def _to_json(row: stack.ModelRow) -> dict[str, Json]:
    return {
        "name": row.name,
        "path": None if row.path is None else str(row.path),
        "num_bytes": row.num_bytes,
        "sha256": row.sha256,
        "license": row.license,
        "context_tokens": row.context_tokens,
        "about": row.about,
        "note": row.note,
    }
