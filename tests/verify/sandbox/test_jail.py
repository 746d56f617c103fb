"""A child whose keeper died before it could ask to die with it ends by itself, locked in or not."""

from __future__ import annotations

import subprocess
import sys

ORDER = """
import os, sys, time
from armillary.verify.sandbox import jail
from armillary.verify.sandbox.namespaces import choose_private_folder
os.open(os.devnull, os.O_RDONLY)  # stands for the result channel
order = jail.Order(sys.argv[1], 4, 512 << 20, 8 << 20, choose_private_folder(), ())
"""
OF_ANOTHER_KEEPER = f"""{ORDER}
jail.lock_in(order, keeper_pid=os.getpid())
print("locked in")
"""
SLOW_TO_ASK = f"""{ORDER}
ask, num_asked = jail.die_with_parent, 0

def slow():
    global num_asked
    num_asked += 1
    if num_asked == 2:
        os.write(1, b"forked\\n")
        time.sleep(float(sys.argv[2]))
    ask()

jail.die_with_parent = slow
jail.lock_in(order, keeper_pid=os.getppid())
os.write(1, b"locked in\\n")
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)


def test_a_child_whose_keeper_is_another_already_is_not_locked_in_and_ends() -> None:
    with start(OF_ANOTHER_KEEPER, "B") as child:
        assert child.communicate(timeout=20.0)[0] == ""
    assert child.returncode == 1


def test_the_first_process_of_a_namespace_is_locked_in_while_its_keeper_lives() -> None:
    with start(SLOW_TO_ASK, "A", "0") as keeper:
        assert keeper.communicate(timeout=20.0)[0] == "forked\nlocked in\n"
    assert keeper.returncode == 0


def test_the_first_process_of_a_namespace_ends_when_its_keeper_died_before_it_asked() -> None:
    with start(SLOW_TO_ASK, "A", "0.5") as keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == "forked\n"
        keeper.kill()
        assert keeper.stdout.read() == ""  # which comes to its end with the last process
