"""A jail with chosen layers left out, to show what an attack does without them. Never to be used for anything else.

Programs get a throw-away folder; where the namespaces stay out, so do the mounts, which would else be the host's.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from armillary.bench.attack_form import PARENT_LAYERS
from armillary.bench.attack_world import SECRET, SECRET_VARIABLE
from armillary.core.errors import SandboxError
from armillary.verify.sandbox.link import ZygoteLink
from armillary.verify.sandbox.outcomes import Limits, Tier
from armillary.verify.sandbox.wire import job_to_bytes, make_job, read_report

SMALL: Final = Limits(
    wall_s=2.0, cpu_s=1, call_cpu_s=1.0, memory_bytes=256 << 20, output_bytes=64 << 10, disk_bytes=4 << 20
)
"""What attacks are held to here, so that trying to break a limit is cheap."""

_NO_WALL_S: Final = 20.0
_NO_CAP_BYTES: Final = 8 << 20
_SCRIPT: Final = Path(__file__).with_name("weak_zygote.py")
_BARE_S: Final = 20.0


class WeakJail:
    """The sandbox without some of its layers; each run is a child of one zygote.

    While one is made, no other thread may start a sandbox: it would get the same weak zygote.

    Args:
        removed: names of layers.
        folder: existing and empty; takes what programs may write.
        canary: a file that the zygote holds open and should not pass on.
    """

    def __init__(self, removed: Collection[str], folder: Path, canary: Path) -> None:
        self._tier: Tier = "B" if "namespaces" in removed else "A"
        self._limits = _without(SMALL, removed)
        layers = [layer for layer in removed if layer not in PARENT_LAYERS]
        python = folder.with_name("python")
        python.write_text(
            "#!/bin/sh\n"
            f"exec 9<{shlex.quote(str(canary))}\n"
            f"export {SECRET_VARIABLE}={SECRET}\n"
            f"exec {shlex.quote(sys.executable)} -S -s -P -X utf8 {shlex.quote(str(_SCRIPT))} "
            f'"{",".join(layers)}" {shlex.quote(str(folder))} "$@"\n'
        )
        python.chmod(0o755)
        with _interpreter(python):
            self._link = ZygoteLink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._link.close()

    def run(self, program: str) -> str:
        """What a program printed.

        Raises:
            SandboxError: what is left of the jail could not be built.
        """
        job = job_to_bytes(make_job(program, (), seed=0, call_cpu_s=self._limits.call_cpu_s))
        raw = self._link.execute(self._tier, job, self._limits)
        layers = read_report(raw.lines, 0).layers
        if not layers or not layers[-1].works:
            raise SandboxError(f"the weak jail could not be built: {layers[-1].detail if layers else raw.last_words}")
        return raw.output.decode(errors="replace")


def run_bare(program: str, folder: Path) -> str:
    """What a program prints in a plain interpreter, whose descriptor 3 leads to somebody who reads all of it."""
    reader, writer = os.pipe()
    code = f"import os; os.dup2({writer}, 3)\n{program}"
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-S", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        pass_fds=(writer,),
    )
    os.close(writer)
    drain = threading.Thread(target=_read_all, args=(reader,))
    drain.start()
    try:
        printed, _ = process.communicate(timeout=_BARE_S)
    finally:
        process.kill()
        drain.join()
    return printed


def _without(limits: Limits, removed: Collection[str]) -> Limits:
    if "wall clock" in removed:
        limits = replace(limits, wall_s=_NO_WALL_S)
    return replace(limits, output_bytes=_NO_CAP_BYTES) if "output cap" in removed else limits


def _read_all(reader: int) -> None:
    while os.read(reader, 1 << 20):
        pass
    os.close(reader)


@contextmanager
def _interpreter(python: Path) -> Iterator[None]:
    """Have the sandbox start this in the place of the interpreter."""
    real, sys.executable = sys.executable, str(python)
    try:
        yield
    finally:
        sys.executable = real
