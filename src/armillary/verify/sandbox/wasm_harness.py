"""What a guest of tier C is started with: our own modules, compiled once by the interpreter that runs them.

Only texts; nothing in here is run by the host.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

BOOT: Final = """
def boot():
    import _functools, sys
    # Of the two wrappers for caches take the one in Python: a recursion through it is bounded as any other is, where
    # code in C may only call itself a few hundred times in here.
    wrapper = _functools.__dict__.pop("_lru_cache_wrapper")
    import functools, marshal
    _functools._lru_cache_wrapper = wrapper
    from types import ModuleType
    first, size = (int.from_bytes(sys.stdin.buffer.read(4), "big") for _ in range(2))
    for name, code in marshal.loads(sys.stdin.buffer.read(size)):
        module = sys.modules[name] = ModuleType(name)
        exec(code, module.__dict__)
    del globals()["boot"]
    module.main(first, sys.stdin.buffer.read())
boot()
"""
"""What each guest runs; it reads what :func:`guest_input` makes."""

COMPILE: Final = """
import json, marshal, os, sys
codes = [(name, compile(text, "harness", "exec", dont_inherit=True)) for name, text in json.loads(sys.stdin.read())]
rest = marshal.dumps(codes)
while rest:
    rest = rest[os.write(2, rest) :]
"""
"""Writes the modules that it reads, compiled, on the channel of results."""

_SOURCES: Final = (
    ("armillary.core.errors", "../../core/errors.py"),
    ("armillary.core.values", "../../core/values.py"),
    ("armillary.verify.sandbox.outcomes", "outcomes.py"),
    ("armillary.verify.sandbox.sizes", "sizes.py"),
    ("armillary.verify.sandbox.wire", "wire.py"),
    ("armillary.verify.sandbox.clock", "wasm_clock.py"),
    ("armillary.verify.sandbox.child", "child.py"),
    ("armillary.verify.sandbox.wasm_guest", "wasm_guest.py"),
)


def sources() -> list[tuple[str, str]]:
    """Names and texts of the modules that a guest is given, each after those that it imports."""
    folder = Path(__file__).parent
    return [(name, (folder / file).read_text(encoding="utf-8")) for name, file in _SOURCES]


def guest_input(modules: bytes, first: int, job: bytes) -> bytes:
    """What a guest reads: its modules, the number of the first call that it is to make, and the job."""
    return first.to_bytes(4, "big") + len(modules).to_bytes(4, "big") + modules + job
