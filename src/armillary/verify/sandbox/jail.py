"""The order in which a forked child locks itself in, and what it reports. Runs no foreign code.

Each step closes what the next ones no longer need, so the order matters: namespaces while `/proc` is there, mounts
while capabilities are there, files before system calls, since Landlock itself is a system call. Tier B needs neither
root nor namespaces; ``LOST_IN_TIER_B`` says what it lacks.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, NoReturn

from armillary.core.errors import SandboxError
from armillary.verify.sandbox import landlock, limits, namespaces, seccomp
from armillary.verify.sandbox.kernel import die_with_parent
from armillary.verify.sandbox.outcomes import Layer, Tier

LAYERS: Final[dict[Tier, tuple[str, ...]]] = {
    "A": ("namespaces", "mounts", "privileges", "limits", "landlock", "seccomp"),
    "B": ("privileges", "limits", "landlock", "seccomp"),
}
"""What each tier is made of, in the order in which it is put on."""

LOST_IN_TIER_B: Final = (
    "no folder to write in, as nothing could bound it",
    "threads are not counted",
    "which processes and files exist can be seen",
    "processes, network, IPC and mounts are shared and shut off by Landlock and the filter alone",
)
"""What a jail without namespaces lacks: convenience, a bound, and the second wall behind each way out."""

_SUPERVISED: Final[dict[Tier, int]] = {"A": 2, "B": 0}  # steps before process 1 of the new namespace is forked


@dataclass(frozen=True, slots=True)
class Order:
    """How one child is to be locked in.

    Attributes:
        rules: what may be read; their descriptors are closed on the way.
        private_folder: becomes a tmpfs in tier A; tier B has no writable folder, as nothing could bound it.
    """

    tier: Tier
    cpu_s: int
    memory_bytes: int
    disk_bytes: int
    private_folder: str
    rules: tuple[landlock.Rule, ...]


class LayerError(Exception):
    """A layer could not be put on; carries all layers up to the one that failed."""

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        super().__init__(f"{layers[-1].name}: {layers[-1].detail}")
        self.layers = layers


def lock_in(order: Order, keeper_pid: int) -> tuple[Layer, ...]:
    """Lock this freshly forked process in; returns only in the process that may then run the program.

    In tier A that is a further child, process 1 of its own namespace: when it ends, everything in there ends.
    The process ends when its parent ``keeper_pid`` does.

    Raises:
        LayerError: a layer failed; the caller must end the process.
    """
    die_with_parent()
    if os.getppid() != keeper_pid:
        os._exit(1)
    num_outer = _SUPERVISED[order.tier]
    steps = _steps(order)
    names = LAYERS[order.tier]
    done = _put_on((), names[:num_outer], steps)
    if num_outer:
        _fork_first_process()
    done = _put_on(done, names[num_outer:], steps)
    limits.clear_environment()
    return done


def _steps(order: Order) -> dict[str, Callable[[], str]]:
    has_namespaces = order.tier == "A"
    return {
        "namespaces": namespaces.enter,
        "mounts": partial(namespaces.mount_private_tree, order.private_folder, order.disk_bytes),
        "privileges": limits.drop_privileges,
        "limits": partial(
            limits.bound_resources,
            order.cpu_s,
            order.memory_bytes,
            order.disk_bytes,
            bound_processes=has_namespaces,
        ),
        "landlock": partial(_restrict_files, order.rules, order.private_folder if has_namespaces else ""),
        "seccomp": partial(seccomp.lock_calls, has_read_only_tree=has_namespaces),
    }


def _restrict_files(rules: tuple[landlock.Rule, ...], writable_folder: str) -> str:
    detail = landlock.restrict(rules, writable_folder)
    limits.close_others()
    return detail


def _put_on(done: tuple[Layer, ...], names: tuple[str, ...], steps: dict[str, Callable[[], str]]) -> tuple[Layer, ...]:
    for name in names:
        try:
            layer = Layer(name, True, steps[name]())
        except (OSError, ValueError, OverflowError, SandboxError) as error:
            raise LayerError((*done, Layer(name, False, _in_words(error)))) from error
        done = (*done, layer)
    return done


def _in_words(error: Exception) -> str:
    # Errors of our own calls name the call in their text; a number before it says nothing more.
    if isinstance(error, OSError) and error.filename is None:
        return str(error.strerror)
    return str(error)


def _fork_first_process() -> None:
    """Go on in process 1 of the new namespace; this process waits for it and ends the same way."""
    death_seen, alive = os.pipe()
    pid = os.fork()
    if pid:
        limits.close_all_but(alive)
        _end_like(pid)
    die_with_parent()
    # The signal is lost if our parent was gone before we asked: then the pipe that it held is closed.
    os.close(alive)
    poller = select.poll()
    poller.register(death_seen, 0)
    if poller.poll(0):
        os._exit(1)
    os.close(death_seen)


def _end_like(pid: int) -> NoReturn:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
