"""Run as a script in the place of the interpreter: a zygote that starts well and then goes wrong in one chosen way.

Arguments: the way, then whatever the sandbox gives its interpreter; the last three are the folder of the sources, the
number of the channel and the parent's pid. Builds no jail and runs no program.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from fcntl import F_SETPIPE_SZ, fcntl

way, folder, channel_fd = sys.argv[1], sys.argv[-3], int(sys.argv[-2])
sys.path.append(folder)
from armillary.verify.sandbox.wire import KILL, MAX_MESSAGE_BYTES, READY  # noqa: E402

LOCKED_IN = b'["jail",["seccomp",true,"x"]]\n["load",""]\n["call",0,"returned",[],"",""]\n'
channel = socket.socket(fileno=channel_fd)


def next_job() -> list[int]:
    """The descriptors of a job, of its output and of its result lines; late kills are passed over."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, MAX_MESSAGE_BYTES, 4)
        if not message:
            sys.exit()
        if message != KILL:
            return descriptors


def answer(code: int = 0, *, printed: bytes = b"", lines: bytes = LOCKED_IN, is_held: bool = False) -> None:
    """Do one job: what a child printed and reported, and its end; ``is_held`` keeps its pipes open."""
    descriptors = next_job()
    _, _, output, result = descriptors
    fcntl(output, F_SETPIPE_SZ, 1 << 20)  # so that all of it can be there before anything is read
    os.write(output, printed)
    os.write(result, lines)
    channel.send(json.dumps({"code": code, "cpu_s": 0.0}).encode())
    for descriptor in [] if is_held else descriptors:
        os.close(descriptor)


if way == "is never ready":
    time.sleep(60)
if way == "hangs up at once":
    print("no room for a zygote", file=sys.stderr, flush=True)
    channel.close()
    time.sleep(60)
channel.send(READY)
match way:
    case "outlives its channel":
        time.sleep(60)
    case "ends between jobs":
        sys.exit()
    case "ends during a job":
        next_job()
    case "cannot fork":
        next_job()
        channel.send(json.dumps({"error": "fork: Resource temporarily unavailable"}).encode())
    case "cannot kill":
        next_job()
        next_job()  # which passes over the order to kill
    case "leaves the pipes open":
        answer(printed=b"said\n", is_held=True)
        next_job()
    case "loses a child to a signal":
        answer(-9)
    case "prints a megabyte at once":
        while True:
            answer(printed=b"x" * (1 << 20))
    case "has no children that report":
        while True:
            answer(70, printed=b"Traceback\nMemoryError\n", lines=b"")
    case "reports once":
        answer()
        answer(70, printed=b"Traceback\nMemoryError\n", lines=b"")
