"""Things in the outer world that a jailed program must not reach, and a look at what a run left behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory


@dataclass(frozen=True)
class World:
    """Targets by the names that the attacks' texts use, and a descriptor that careless code would pass on."""

    targets: dict[str, str]
    open_canary: int

    def aim(self, text: str) -> str:
        """The attack's text with the real targets in it."""
        return Template(text).safe_substitute(self.targets)

    @property
    def canary(self) -> Path:
        return Path(self.targets["canary"])


@contextmanager
def outer_world() -> Iterator[World]:
    """A file with a secret, a secret in the environment, two listeners and a sleeping process."""
    with ExitStack() as stack:
        # Beside the tests: the usual folder for temporary files is hidden in the jail, which would prove little.
        folder = Path(stack.enter_context(TemporaryDirectory(dir=Path(__file__).parent)))
        canary = folder / "canary"
        canary.write_text("CANARY")
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0armillary-{os.getpid()}")
        abstract.listen()
        for listener in (port, abstract):
            threading.Thread(target=_accept_all, args=(listener,), daemon=True).start()
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
        sibling = subprocess.Popen(["sleep", "600"])
        stack.callback(sibling.wait)
        stack.callback(sibling.kill)
        open_canary = os.open(canary, os.O_RDONLY)
        os.set_inheritable(open_canary, True)
        stack.callback(os.close, open_canary)
        os.environ["CANARY_KEY"] = "CANARY"
        stack.callback(os.environ.pop, "CANARY_KEY")
        yield World(
            {
                "canary": str(canary),
                "folder": str(folder),
                "home": str(Path.home()),
                "parent": str(os.getpid()),
                "port": str(port.getsockname()[1]),
                "abstract": f"armillary-{os.getpid()}",
                "sibling": str(sibling.pid),
                "site": next(path for path in sys.path if path.endswith("site-packages")),
            },
            open_canary,
        )


def _accept_all(listener: socket.socket) -> None:
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return


def descendants(root: int | None = None) -> set[int]:
    """Processes below ``root`` (us), zombies and orphans of a zygote included."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found: set[int] = set()
    generation = {root or os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        found |= generation
    return found


def open_descriptors(pid: int | None = None) -> int:
    """How many descriptors a process holds."""
    return len(os.listdir(f"/proc/{pid or os.getpid()}/fd"))
