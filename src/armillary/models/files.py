"""Put a model file in place so that it is whole or absent: lock, hash, temporary name, sync, rename.

Knows nothing about where the bytes come from. Hashes are noted in a folder of our own: what lies beside a file may be
as foreign as the file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from armillary.core.errors import DiskSpaceError, IntegrityError
from armillary.core.settings import load_settings

CHUNK_BYTES = 1 << 20
NOTES_FOLDER = "hashes"
FULL_DISK_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def exclusive(lock: Path, when_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock between processes; a crash of its holder frees it.

    Args:
        lock: a file that is made if it is missing and stays.
        when_waiting: called once if another process holds it.
    """
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            when_waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def require_space(folder: Path, need_bytes: int) -> None:
    """Refuse to begin what cannot end.

    Raises:
        DiskSpaceError: the disk of ``folder`` has less than ``need_bytes`` free.
    """
    have_bytes = shutil.disk_usage(folder).free
    if have_bytes < need_bytes:
        raise DiskSpaceError(
            f"{folder} needs {_megabytes(need_bytes)} free, it has {_megabytes(have_bytes)}",
            hint="free some space or set ARMILLARY_HOME to another disk",
        )


@contextlib.contextmanager
def full_disk_explained(folder: Path) -> Iterator[None]:
    """Turn the system's errors about a full disk into one that says what to do.

    Raises:
        DiskSpaceError: the disk, the quota or the largest file size was reached.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL_DISK_NUMBERS:
            raise
        raise full_disk(folder, os.strerror(error.errno)) from error


def full_disk(folder: Path, reason: str) -> DiskSpaceError:
    """The error for a disk that became full under way."""
    return DiskSpaceError(f"the disk of {folder} is full: {reason}", hint="free some space and pull again")


def write_checked(chunks: Iterable[bytes], target: Path, temporary: Path, sha256: str) -> None:
    """Write a file under a temporary name, check its hash, and only then give it its name.

    Raises:
        IntegrityError: the bytes are not the promised ones; nothing is left.
        DiskSpaceError: the disk became full; nothing is left.
    """
    digest = hashlib.sha256()
    try:
        with full_disk_explained(target.parent), temporary.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != sha256:
            raise IntegrityError(
                f"{target.name}: the bytes have the hash {digest.hexdigest()}, promised is {sha256}",
                hint="pull again, or from another source with --source",
            )
        temporary.replace(target)
        _sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def file_sha256(path: Path, notes: Path | None = None) -> str:
    """Hash of a file, noted and believed until the file's size, times or place on the disk change.

    Args:
        path: any file.
        notes: folder of the notes, which only we write; ``<home>/hashes`` of the settings by default.

    Raises:
        SettingsError: no folder was given and the settings cannot be read.
    """
    notes = notes or load_settings().home / NOTES_FOLDER
    return _recall(_note(path, notes), path.stat()) or fresh_sha256(path, notes)


def fresh_sha256(path: Path, notes: Path) -> str:
    """Hash of the bytes that a file has now, whatever is noted; one that changes while it is read is not noted."""
    note = _note(path, notes)
    with path.open("rb") as file:
        before = os.fstat(file.fileno())
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        after = os.fstat(file.fileno())
    if _fingerprint(before) == _fingerprint(after):
        _remember(note, after, sha256)
    return sha256


def read_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a piece at a time."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _note(path: Path, notes: Path) -> Path:
    """Named by the place alone, so that any two files have two notes."""
    return notes / f"{hashlib.sha256(os.fsencode(path.absolute())).hexdigest()}.json"


def _fingerprint(status: os.stat_result) -> dict[str, int]:
    """What differs after any change: unlike the time of the last change, that of the status cannot be set back."""
    return {
        "num_bytes": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "ctime_ns": status.st_ctime_ns,
        "device": status.st_dev,
        "inode": status.st_ino,
    }


def _recall(note: Path, status: os.stat_result) -> str:
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    if not isinstance(noted, dict) or not isinstance(noted.get("sha256"), str):
        return ""
    return noted["sha256"] if noted == _fingerprint(status) | {"sha256": noted["sha256"]} else ""


def _remember(note: Path, status: os.stat_result, sha256: str) -> None:
    """Note the hash; it only saves time, so a folder that cannot be written simply has no note."""
    temporary = note.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(_fingerprint(status) | {"sha256": sha256}), encoding="utf-8")
        temporary.replace(note)
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _megabytes(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:,.1f} MB"
