"""Every way in which the kernel could be made to signal another process is shut by the filter alone.

Tried in tier B with a Landlock that does not know of signals, so that nothing else stands in the way.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from other_machine import on_a_machine_without, python_with_old_landlock

from armillary.verify.sandbox.syscalls import find_machine

NUMBERS = find_machine().numbers
WAYS_TO_SIGNAL = {
    "kill": "os.kill({pid}, 9)",
    "kill_a_group": "os.killpg({pid}, 9)",
    "owner_of_a_socket": """
fcntl.fcntl(here, fcntl.F_SETOWN, {pid}); fcntl.fcntl(here, fcntl.F_SETSIG, 9)
fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC); there.send(b"x")""",
    "owner_by_kind": """
fcntl.fcntl(here, 15, struct.pack("ii", 1, {pid})); fcntl.fcntl(here, fcntl.F_SETSIG, 9)
fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC); there.send(b"x")""",
    "group_that_owns_a_socket": """
fcntl.fcntl(here, fcntl.F_SETOWN, -{pid}); fcntl.fcntl(here, fcntl.F_SETSIG, 9)
fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC); there.send(b"x")""",
    "owner_by_ioctl": """
control(here, 0x8901, {pid}); fcntl.fcntl(here, fcntl.F_SETSIG, 9); control(here, 0x5452, 1); there.send(b"x")""",
    "owner_of_a_pipe": """
fcntl.fcntl(reader, fcntl.F_SETOWN, {pid}); fcntl.fcntl(reader, fcntl.F_SETSIG, 9)
fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC); os.write(writer, b"x")""",
    "thread": "call('tkill', {pid}, 9)",
    "thread_of_a_process": "call('tgkill', {pid}, {pid}, 9)",
    "queue": "call('rt_sigqueueinfo', {pid}, 9, struct.pack('iiiiii', 9, 0, -1, 0, 0, 0) + bytes(104))",
    "handle": "call('pidfd_send_signal', call('pidfd_open', {pid}, 0), 9, None, 0)",
}
PRELUDE = """
import ctypes, fcntl, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
here, there = socket.socketpair()
reader, writer = os.pipe()
def call(name, *words):
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result
def control(file, request, value):
    if libc.ioctl(file.fileno(), request, ctypes.byref(ctypes.c_int(value))) < 0:
        raise OSError(ctypes.get_errno(), "ioctl")
"""


def ways_to_signal(pid: int, *, only: str = "") -> str:
    """A program that tries every way, or one, and prints the names of those that seemed to work."""
    names = ("tkill", "tgkill", "rt_sigqueueinfo", "pidfd_send_signal", "pidfd_open")
    ways = {name: text.format(pid=pid) for name, text in WAYS_TO_SIGNAL.items() if only in ("", name)}
    return f"""
NUMBERS = { ({name: NUMBERS[name] for name in names})!r}
{PRELUDE}
for name, text in {ways!r}.items():
    try:
        exec(text)
    except OSError:
        continue
    print(name)
print("tried", {len(ways)})
"""


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user, in a group of its own."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


def test_no_way_is_left_where_landlock_does_not_know_of_signals(
    victim: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    python = python_with_old_landlock(tmp_path)
    found = on_a_machine_without("unshare", "B", ways_to_signal(victim.pid), python=python)
    assert (found["tier"], found["load_error"]) == ("B", "")
    assert found["details"]["landlock"].startswith("ABI 5")
    assert found["stdout"] == "tried 11\n"
    assert victim.poll() is None


@pytest.mark.parametrize("name", WAYS_TO_SIGNAL)
def test_the_way_kills_where_there_is_no_jail(name: str, victim: subprocess.Popen[bytes]) -> None:
    command = [sys.executable, "-c", ways_to_signal(victim.pid, only=name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == f"{name}\ntried 1\n", done.stderr
    assert victim.wait(10) == -signal.SIGKILL
