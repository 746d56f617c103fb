"""Let a jailed program import chosen installed packages: find their files outside, hide all others inside.

Nothing is imported in order to be found. A package comes with the whole distribution that brings it, but not with what
that distribution requires: whoever names packages names those too. Neighbours show their names only.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from types import ModuleType
from typing import Any, Final

from armillary.core.errors import SandboxError, UsageError

_LOADERS: Final[tuple[Any, ...]] = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceFileLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Part of one folder of installed packages.

    Attributes:
        folder: goes on the program's import path.
        entries: what may be read beneath it, relative; nothing else may.
    """

    folder: str
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outfit:
    """What a zygote gets besides the standard library.

    Attributes:
        preload: modules that it imports itself, outside the jail, so that every child has them at once.
    """

    places: tuple[Place, ...] = ()
    preload: tuple[str, ...] = ()

    def to_text(self) -> str:
        """One line of JSON."""
        return json.dumps([[[place.folder, place.entries] for place in self.places], self.preload])

    @classmethod
    def from_text(cls, text: str) -> Outfit:
        """Inverse of :meth:`to_text`; trusts its input, which comes from the parent."""
        places, preload = json.loads(text)
        return cls(tuple(Place(folder, tuple(entries)) for folder, entries in places), tuple(preload))


def find_packages(names: Iterable[str]) -> tuple[Place, ...]:
    """Where packages and modules with these top-level names are installed; the standard library's need no place.

    Raises:
        UsageError: one of them is not installed, or not a top-level name.
    """
    wanted = [name for name in dict.fromkeys(names) if name not in sys.stdlib_module_names]
    found: dict[str, dict[str, None]] = {}
    owners = _distributions_by_name() if wanted else {}
    for name in wanted:
        own = list(_own_entries(name))
        brought = [pair for distribution in owners.get(name, ()) for pair in _brought_entries(distribution)]
        is_namespace = bool(brought) and not any(_is_package_or_module(*pair) for pair in own)
        for folder, entry in brought if is_namespace else own + brought:
            found.setdefault(folder, {})[entry] = None
    return tuple(Place(folder, tuple(entries)) for folder, entries in found.items())


def open_to_imports(places: Iterable[Place]) -> None:
    """Put the folders last on this process's import path; what is not granted there is not found, as if not there."""
    for place in places:
        sys.path.append(place.folder)
        sys.path_importer_cache[place.folder] = _NamedFinder(place)


def preload(names: Iterable[str]) -> None:
    """Import modules now.

    Raises:
        SandboxError: one of them left a thread behind, which no fork would survive.
    """
    num_threads = threading.active_count()
    for name in names:
        importlib.import_module(name)
        if threading.active_count() > num_threads:
            raise SandboxError(f"{name!r} starts a thread when it is imported", hint="do not preload it")


class _NamedFinder(FileFinder):
    """Finds modules in one folder by their top-level names, and no other.

    Otherwise an import of what may not be read would be a PermissionError, where programs expect an ImportError.
    """

    def __init__(self, place: Place) -> None:
        super().__init__(place.folder, *_LOADERS)
        self._names = frozenset(entry.partition("/")[0].partition(".")[0] for entry in place.entries)

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """As the finder it derives from, for granted names."""
        return super().find_spec(fullname, target) if fullname in self._names else None


def _own_entries(name: str) -> Iterator[tuple[str, str]]:
    spec = None if "." in name else importlib.util.find_spec(name)
    if spec is None:
        raise UsageError(f"there is no package {name!r} to give to the sandbox", hint="name an installed package")
    for path in spec.submodule_search_locations or [str(spec.origin)]:
        yield os.path.split(os.path.abspath(path))


def _distributions_by_name() -> dict[str, list[Any]]:
    from importlib.metadata import distribution, packages_distributions

    return {name: [distribution(owner) for owner in {*owners}] for name, owners in packages_distributions().items()}


def _brought_entries(distribution: Any) -> Iterator[tuple[str, str]]:
    """Everything that one distribution put beside its packages: other modules, its own metadata, bundled libraries."""
    folder = os.path.abspath(distribution.locate_file(""))
    entries: dict[str, None] = {}
    for file in distribution.files or ():
        first, *rest = file.parts
        # A folder that is no package may be shared with other distributions: then only what is ours in it.
        is_shared = bool(rest) and "." not in first and not os.path.exists(f"{folder}/{first}/__init__.py")
        entries[f"{first}/{rest[0]}" if is_shared else first] = None
    for entry in entries:
        if not entry.startswith((".", "/")) and os.path.exists(f"{folder}/{entry}"):
            yield folder, entry


def _is_package_or_module(folder: str, entry: str) -> bool:
    path = f"{folder}/{entry}"
    return os.path.isfile(path) or os.path.exists(f"{path}/__init__.py")
