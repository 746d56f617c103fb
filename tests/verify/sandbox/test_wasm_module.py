"""The interpreter of tier C is found as data, is the one that was tried, and is compiled once."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from armillary.core.errors import SandboxError
from armillary.verify.sandbox.wasm_module import (
    STACK_BYTES,
    find_interpreter,
    load_module,
    open_engine,
    read_interpreter,
    with_larger_stack,
)

wasmtime = pytest.importorskip("wasmtime", reason="tier C comes with the extra `wasm`")

PAGE_BYTES = 64 << 10
SMALL = wasmtime.wat2wasm(
    """(module
        (memory (export "memory") 300)
        (global (mut i32) (i32.const 70000))
        (func (export "stack") (result i32) global.get 0))"""
)


def answer_of(module: object, engine: object) -> tuple[int, int]:
    """Where the module's stack begins, and how large its memory is."""
    store = wasmtime.Store(engine)
    store.set_epoch_deadline(1)
    exports = wasmtime.Instance(store, module, []).exports(store)
    return exports["stack"](store), exports["memory"].data_len(store)


def test_the_interpreter_is_found_without_importing_its_package(interpreter: Path) -> None:
    assert interpreter.read_bytes()[:4] == b"\0asm"
    assert not {"sandbox", "mcp_server"} & set(sys.modules)


def test_without_the_interpreter_the_error_names_the_extra() -> None:
    with pytest.raises(SandboxError, match=r"pip install 'armillary\[wasm\]'"):
        find_interpreter("no-such-distribution")


def test_without_the_engine_the_error_names_the_extra(interpreter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    with pytest.raises(SandboxError, match=r"pip install 'armillary\[wasm\]'"):
        find_interpreter()


def test_another_interpreter_is_refused(interpreter: Path, tmp_path: Path) -> None:
    assert read_interpreter(interpreter)
    other = tmp_path / "python.wasm"
    other.write_bytes(SMALL)
    with pytest.raises(SandboxError, match="not the one that was tried"):
        read_interpreter(other)


def test_the_stack_stands_in_new_memory_above_all_else() -> None:
    engine = open_engine()
    size_bytes = 300 * PAGE_BYTES + STACK_BYTES
    assert answer_of(wasmtime.Module(engine, with_larger_stack(SMALL)), engine) == (size_bytes, size_bytes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    engine = open_engine()
    load_module(engine, SMALL, tmp_path / "home" / "wasm")
    return tmp_path / "home" / "wasm"


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def load_again(folder: Path) -> bool:
    """Whether a further loading left what is kept as it was."""
    path = only_file(folder)
    before = path.read_bytes(), path.stat().st_ino
    engine = open_engine()
    assert answer_of(load_module(engine, SMALL, folder), engine)[0] > STACK_BYTES
    assert len(list(folder.iterdir())) == 1
    return (path.read_bytes(), path.stat().st_ino) == before


def test_machine_code_is_kept_for_its_user_alone(folder: Path) -> None:
    assert [path.stat().st_mode & 0o777 for path in (folder, only_file(folder))] == [0o700, 0o600]


def test_what_is_kept_is_used_again(folder: Path) -> None:
    assert load_again(folder)


def test_a_damaged_file_is_compiled_anew(folder: Path) -> None:
    path = only_file(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert not load_again(folder)
    assert hashlib.sha256(path.read_bytes()[32:]).digest() == path.read_bytes()[:32]


def test_whole_code_that_this_engine_does_not_take_is_compiled_anew(folder: Path) -> None:
    text = b"machine code of another engine"
    only_file(folder).write_bytes(hashlib.sha256(text).digest() + text)
    assert not load_again(folder)
    assert load_again(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such modes")
def test_a_file_that_others_may_write_is_not_used(folder: Path) -> None:
    only_file(folder).chmod(0o666)
    assert not load_again(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such modes")
def test_a_folder_that_others_may_write_is_neither_read_nor_written(folder: Path) -> None:
    path = only_file(folder)
    path.write_bytes(b"left as it is")
    folder.chmod(0o777)
    assert load_again(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="makes no links without rights")
def test_a_link_is_replaced_by_a_file(folder: Path, tmp_path: Path) -> None:
    path = only_file(folder)
    aim = tmp_path / "elsewhere"
    os.replace(path, aim)
    path.symlink_to(aim)
    assert not load_again(folder)
    assert not path.is_symlink()


def test_on_windows_the_folder_of_the_user_is_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_file(folder).chmod(0o666)
    # The name of the file holds the platform's: what was kept for one is nothing to the other.
    monkeypatch.setattr(sys, "platform", "win32")
    engine = open_engine()
    load_module(engine, SMALL, folder)
    (path,) = [path for path in folder.iterdir() if path.stat().st_mode & 0o777 == 0o600]
    path.chmod(0o666)
    before = path.stat().st_ino
    load_module(engine, SMALL, folder)
    assert path.stat().st_ino == before


def test_a_home_where_nothing_can_be_kept_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    engine = open_engine()
    assert answer_of(load_module(engine, SMALL, tmp_path / "file" / "wasm"), engine)[0] > STACK_BYTES
