"""Attacks that use more time, memory or output than a run may have. Only text."""

from __future__ import annotations

from typing import Final

from armillary.bench.attack_form import EVERYTHING, Attack

_DEAF: Final = """
        import signal, time
        for number in (signal.SIGXCPU, signal.SIGPROF, signal.SIGVTALRM, signal.SIGALRM, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
"""

RESOURCE_ATTACKS: Final = (
    Attack(
        # Little more than it may have: a busy machine is slow to hand out pages, and time is not what is tried here.
        "takes_three_hundred_megabytes",
        'block = bytearray(300 << 20); print("ESCAPED")',
        ("limits",),
    ),
    Attack(
        "maps_memory_without_end",
        """
        import mmap
        held = [mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | 0x4000, prot=0) for _ in range(32)]
        print("ESCAPED")
        """,
        ("limits",),
    ),
    Attack(
        "keeps_a_page_out_of_the_swap",
        """
        import ctypes
        room = ctypes.create_string_buffer(4096)
        print("ESCAPED" if ctypes.CDLL(None).mlock(room, 4096) == 0 else "")
        """,
        ("limits", "seccomp"),
    ),
    Attack(
        "allows_itself_a_deeper_stack",
        'import resource; resource.setrlimit(resource.RLIMIT_STACK, (256 << 20, 256 << 20)); print("ESCAPED")',
        ("limits",),
    ),
    Attack(
        "allows_itself_more_files",
        'import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (500, 500)); print("ESCAPED")',
        ("limits",),
    ),
    Attack(
        "allows_itself_to_dump_core",
        'import resource; resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20)); print("ESCAPED")',
        ("limits",),
    ),
    Attack(
        "recurses_until_the_stack_is_full",
        """
        import sys
        sys.setrecursionlimit(1 << 30)
        def deeper(n):
            return list(map(deeper, [n + 1]))
        deeper(0)
        print("ESCAPED")
        """,
        ("limits",),
        no_control="only its own process ends, with the limit or without",
        ends_itself=True,
    ),
    Attack(
        "ignores_the_signal_of_the_cpu_limit",
        _DEAF
        + """
        while time.process_time() < 1.2:
            pass
        print("ESCAPED")
        """,
        ("limits", "wall clock"),
        ends_itself=True,
    ),
    Attack(
        "computes_with_huge_integers",
        _DEAF
        + """
        while time.process_time() < 1.2:
            7 ** 1_000_000
        print("ESCAPED")
        """,
        ("limits", "wall clock"),
        ends_itself=True,
    ),
    Attack(
        "sleeps_past_the_wall_clock",
        """
        import signal, time
        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(2.5)
        print("ESCAPED")
        """,
        ("wall clock",),
        ends_itself=True,
    ),
    Attack(
        "floods_the_output",
        """
        import os
        for number in range(100):
            os.write(1, b"x" * 10_000)
        os.write(2, b"ESCAPED")
        """,
        ("output cap",),
        ends_itself=True,
    ),
    Attack(
        "floods_the_channel_of_results",
        """
        import os
        for number in range(512):
            os.write(3, b"x" * (1 << 16))
        print("ESCAPED", flush=True)
        """,
        (EVERYTHING,),
        ends_itself=True,
    ),
)
