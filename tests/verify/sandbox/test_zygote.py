"""The real zygote with a parent that does not keep to the order of things."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary.verify.sandbox import zygote
from armillary.verify.sandbox.wire import KILL, MAX_MESSAGE_BYTES, READY, job_to_bytes, make_job

SOURCES = str(Path(zygote.__file__).parents[3])
START = """
import sys
sys.path.append(sys.argv[1])
from armillary.verify.sandbox.zygote import main
main(*map(int, sys.argv[2:]))
"""
HEADER = {"tier": "A", "cpu_s": 4, "memory_bytes": 512 << 20, "disk_bytes": 8 << 20}


class Parent:
    """Our end of a zygote's channel."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.settimeout(20.0)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, SOURCES, str(theirs.fileno()), str(os.getpid())],
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                text=True,
            )
        assert self.channel.recv(MAX_MESSAGE_BYTES) == READY

    def submit(self, program: str, *, is_started: bool = True) -> int:
        """Send a job; returns the end of the pipe to which it prints."""
        output, output_end = os.pipe()
        with open(os.memfd_create("job"), "w+b") as job, open(os.devnull, "wb") as lines:
            job.write(job_to_bytes(make_job(program, (), seed=0, call_cpu_s=60.0)))
            job.flush()
            start_end, start = os.pipe()
            descriptors = [job.fileno(), start_end, output_end, lines.fileno()]
            socket.send_fds(self.channel, [json.dumps(HEADER).encode()], descriptors)
            if is_started:
                os.write(start, b"1")
            os.close(start_end)
            os.close(start)
        os.close(output_end)
        return output

    def reply(self) -> dict[str, object]:
        answer: dict[str, object] = json.loads(self.channel.recv(MAX_MESSAGE_BYTES))
        return answer

    def last_words(self) -> tuple[int, str]:
        """How the zygote ended once its channel was closed."""
        self.channel.close()
        said = self.process.communicate(timeout=20.0)[1]
        return self.process.returncode, said


@pytest.fixture
def parent() -> Iterator[Parent]:
    made = Parent()
    yield made
    made.channel.close()
    made.process.kill()
    made.process.communicate()


def printed(output: int) -> str:
    with open(output, encoding="utf-8") as file:
        return file.read()


def test_an_order_to_kill_that_comes_after_the_end_kills_nothing(parent: Parent) -> None:
    for number in range(3):
        output = parent.submit(f"print({number})")
        assert (parent.reply()["code"], printed(output)) == (0, f"{number}\n")
        parent.channel.send(KILL)
    assert parent.last_words() == (0, "")


def test_an_order_to_kill_ends_a_job_and_not_the_zygote(parent: Parent) -> None:
    output = parent.submit("import time\nprint('began', flush=True)\ntime.sleep(60)")
    assert select.select([output], [], [], 20.0)[0]
    parent.channel.send(KILL)
    assert (parent.reply()["code"], printed(output)) == (-9, "began\n")
    output = parent.submit("print('next')")
    assert (parent.reply()["code"], printed(output)) == (0, "next\n")


@pytest.mark.parametrize("program", ["", "import time; time.sleep(60)"])
def test_a_channel_that_closes_during_a_job_ends_the_zygote_in_order(parent: Parent, program: str) -> None:
    output = parent.submit(program)
    assert parent.last_words() == (0, "")
    assert printed(output) == ""


def test_a_channel_that_closes_between_a_jobs_end_and_its_answer_ends_the_zygote_in_order(parent: Parent) -> None:
    output = parent.submit("import time\nprint('began', flush=True)\ntime.sleep(0.2)")
    assert select.select([output], [], [], 20.0)[0]
    os.kill(parent.process.pid, signal.SIGSTOP)
    assert printed(output) == "began\n"  # which comes to its end with the job's
    time.sleep(0.1)
    parent.channel.close()
    os.kill(parent.process.pid, signal.SIGCONT)
    assert parent.last_words() == (0, "")


def test_a_channel_that_closes_between_jobs_ends_the_zygote_in_order(parent: Parent) -> None:
    assert parent.last_words() == (0, "")


def test_a_job_that_cannot_be_read_ends_its_child_and_not_the_zygote(parent: Parent) -> None:
    with open(os.devnull, "r+b") as nothing, open("/dev/zero", "rb") as start:
        descriptors = [nothing.fileno(), start.fileno(), nothing.fileno(), nothing.fileno()]
        socket.send_fds(parent.channel, [json.dumps(HEADER).encode()], descriptors)
        assert parent.reply()["code"] == 70
    output = parent.submit("print('next')")
    assert (parent.reply()["code"], printed(output)) == (0, "next\n")


def test_a_child_that_will_get_no_job_ends_and_runs_nothing(parent: Parent) -> None:
    output = parent.submit("print('ran')", is_started=False)
    assert (parent.reply()["code"], printed(output)) == (0, "")
