"""Things in the outer world that a jailed program must not reach, and a look at what became of them.

Everything in it is made for one block and is gone afterwards: files of its own, listeners, a process that sleeps.
"""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Final

from armillary.bench.attack_form import MARK, Attack

SECRET: Final = "CANARY"  # noqa: S105 - a word to look for
SECRET_VARIABLE: Final = "CANARY_KEY"  # noqa: S105 - where it stands
_SLEEPER: Final = (sys.executable, "-S", "-c", "import time; time.sleep(600)")


class World:
    """Targets by the names that the attacks' texts use, and a descriptor that careless code would pass on.

    Args:
        folder: holds the files that are aimed at.
        shared: a path where every process of the machine may write.
        others: further targets.
    """

    def __init__(self, folder: Path, shared: Path, others: dict[str, str]) -> None:
        self.folder = folder
        self._shared = shared
        self._others = others
        self._sibling: subprocess.Popen[bytes] | None = None
        self.canary.write_text(SECRET)
        self.open_canary = os.open(self.canary, os.O_RDONLY)
        os.set_inheritable(self.open_canary, True)
        self.renew()

    @property
    def canary(self) -> Path:
        """A file with a secret."""
        return self.folder / "canary"

    @property
    def targets(self) -> dict[str, str]:
        """Name in an attack's text -> what stands there in the end."""
        assert self._sibling is not None
        paths = {"canary": self.canary, "written": self.folder / "written", "spare": self.folder / "spare"}
        return self._others | {
            **{name: str(path) for name, path in paths.items()},
            "folder": str(self.folder),
            "shared": str(self._shared),
            "sibling": str(self._sibling.pid),
        }

    def aim(self, text: str) -> str:
        """The attack's text with the real targets in it."""
        return Template(text).safe_substitute(self.targets)

    def renew(self) -> None:
        """Put back what attacks may have taken away, and take away what they may have left."""
        for path in (self.folder / "written", self._shared):
            path.unlink(missing_ok=True)
        (self.folder / "spare").write_text("spare")
        if self._sibling is None or self._sibling.poll() is not None:
            self._sibling = subprocess.Popen(_SLEEPER, stdin=subprocess.DEVNULL, cwd="/", env={})  # noqa: S603 - ours

    def has_succeeded(self, attack: Attack, printed: str) -> bool:
        """Whether an attack, which printed this, got what it wanted."""
        assert self._sibling is not None
        match attack.seen:
            case "printed":
                return MARK in printed
            case "written":
                return (self.folder / "written").exists() or self._shared.exists()
            case "deleted":
                return not (self.folder / "spare").exists()
            case "killed":
                return self._has_ended(self._sibling)

    def close(self) -> None:
        """End the process and forget the descriptor."""
        os.close(self.open_canary)
        self._shared.unlink(missing_ok=True)
        if self._sibling is not None:
            self._sibling.kill()
            self._sibling.wait()

    @staticmethod
    def _has_ended(process: subprocess.Popen[bytes]) -> bool:
        # The kernel may take a moment to end what was signalled; what was not stays for good.
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            return False
        return True


@contextmanager
def outer_world(beside: Path | None = None) -> Iterator[World]:
    """Files, listeners, a terminal, a sleeping process, and a secret in the environment.

    Args:
        beside: where the folder of targets is made, by default the working directory. The usual folder for temporary
            files would prove little: it is hidden in the jail.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(dir=beside or Path.cwd())))
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unique = f"armillary-{os.getpid()}-{folder.name}"
        abstract, named = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        abstract.bind(f"\0{unique}")
        named.bind(str(folder / "socket"))
        for listener in (abstract, named):
            listener.listen()
        for listener in (port, abstract, named):
            threading.Thread(target=_accept_all, args=(listener,), daemon=True).start()
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
        keyboard, terminal = pty.openpty()
        stack.callback(os.close, keyboard)
        stack.callback(os.close, terminal)
        os.environ[SECRET_VARIABLE] = SECRET
        stack.callback(os.environ.pop, SECRET_VARIABLE)
        others = {
            "home": str(Path.home()),
            "parent": str(os.getpid()),
            "port": str(port.getsockname()[1]),
            "abstract": unique,
            "socket": str(folder / "socket"),
            "terminal": os.ttyname(terminal),
            "site": next(path for path in sys.path if path.endswith("site-packages")),
        }
        world = World(folder, Path("/dev/shm", unique), others)  # noqa: S108 - gone with the world
        stack.callback(world.close)
        yield world


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
