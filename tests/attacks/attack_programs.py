"""Programs that try to get out of the jail, and honest ones that must not notice it. Only text; nothing runs here.

Each attack prints ``ESCAPED`` when it got what it wanted. ``$name`` stands for a target in the outer world.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

MARK = "ESCAPED"


@dataclass(frozen=True)
class Attack:
    """One way out.

    ``shows_outside``: the same program, run without a jail, does reach its aim; so that a pass in the jail says
    something. Left out where that would harm the machine, or where this kernel or user forbids it anyway.
    """

    name: str
    text: str
    shows_outside: bool = True

    @property
    def program(self) -> str:
        return dedent(self.text)


ATTACKS = (
    Attack("reads_a_file_of_the_host", 'print("ESCAPED" if "CANARY" in open("$canary").read() else "")'),
    Attack(
        "reads_a_file_with_the_c_library",
        """
        import ctypes
        libc, room = ctypes.CDLL(None), ctypes.create_string_buffer(64)
        libc.read(libc.open(b"$canary", 0), room, 64)
        print("ESCAPED" if b"CANARY" in room.raw else "")
        """,
    ),
    Attack(
        "reads_a_file_through_a_symlink",
        """
        import os, tempfile
        link = os.path.join(tempfile.mkdtemp(), "link")
        os.symlink("$canary", link)
        print("ESCAPED" if "CANARY" in open(link).read() else "")
        """,
    ),
    Attack("lists_the_home_folder", 'import os; os.listdir("$home"); print("ESCAPED")'),
    Attack("reads_the_password_file", 'print("ESCAPED" if open("/etc/passwd").read() else "")'),
    Attack("writes_a_file_of_the_host", 'open("$folder/written", "w").write("x"); print("ESCAPED")'),
    Attack(
        "writes_where_the_parent_can_see_it",
        'open("/var/tmp/armillary-attack", "w").write("x"); print("ESCAPED")',
        shows_outside=False,
    ),
    Attack("finds_any_variable_in_the_environment", 'import os; print("ESCAPED" if os.environ else "")'),
    Attack(
        "finds_any_variable_with_the_c_library",
        """
        import ctypes
        first = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        print("ESCAPED" if first and first[0] else "")
        """,
    ),
    Attack(
        "learns_from_its_command_line_who_started_it",
        'import sys; print("ESCAPED" if sys.argv != ["candidate.py"] or sys.orig_argv else "")',
    ),
    Attack(
        "finds_the_modules_of_its_keepers",
        """
        import sys
        ours = [name for name in sys.modules if name.partition(".")[0] == "armillary"]
        print("ESCAPED" if ours else "")
        """,
        shows_outside=False,
    ),
    Attack(
        "fills_the_disk_with_empty_files",
        """
        for number in range(2000):
            open(f"file{number}", "w").close()
        print("ESCAPED")
        """,
        shows_outside=False,
    ),
    Attack(
        "holds_a_hundred_files_open",
        """
        files = [open("/dev/null") for _ in range(100)]
        print("ESCAPED")
        """,
    ),
    Attack(
        "keeps_a_page_out_of_the_swap",
        """
        import ctypes
        room = ctypes.create_string_buffer(4096)
        print("ESCAPED" if ctypes.CDLL(None).mlock(room, 4096) == 0 else "")
        """,
    ),
    Attack("finds_a_secret_in_the_environment", 'import os; print("ESCAPED" if "CANARY_KEY" in os.environ else "")'),
    Attack(
        "reads_the_environment_of_the_parent",
        'print("ESCAPED" if open("/proc/$parent/environ", "rb").read() else "")',
    ),
    Attack(
        "connects_to_a_local_port",
        'import socket; socket.create_connection(("127.0.0.1", $port), 1); print("ESCAPED")',
    ),
    Attack(
        "sends_a_datagram",
        """
        import socket
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.sendto(b"x", ("127.0.0.1", 9))
        print("ESCAPED")
        """,
    ),
    Attack(
        "connects_to_an_abstract_socket",
        'import socket; socket.socket(socket.AF_UNIX).connect("\\0$abstract"); print("ESCAPED")',
    ),
    Attack("signals_the_parent", 'import os; os.kill($parent, 0); print("ESCAPED")'),
    Attack(
        "traces_another_process",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        print("ESCAPED" if libc.ptrace(16, $sibling, 0, 0) == 0 else "")
        """,
        shows_outside=False,
    ),
    Attack(
        "finds_an_open_file_that_it_inherited",
        """
        import os
        for number in range(3, 64):
            try:
                if b"CANARY" in os.pread(number, 64, 0):
                    print("ESCAPED")
            except OSError:
                pass
        """,
    ),
    Attack(
        "makes_namespaces_of_its_own",
        'import ctypes; print("ESCAPED" if ctypes.CDLL(None).unshare(0x10020000) == 0 else "")',
        shows_outside=False,
    ),
    Attack(
        "sets_up_an_io_uring",
        """
        import ctypes
        print("ESCAPED" if ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(120)) >= 0 else "")
        """,
        shows_outside=False,
    ),
    Attack(
        "makes_a_kernel_map_with_bpf",
        """
        import ctypes, platform, struct
        number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
        request = ctypes.create_string_buffer(struct.pack("IIII", 1, 4, 8, 1) + bytes(112))
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, 0, request, 72) >= 0 else "")
        """,
        shows_outside=False,
    ),
    Attack(
        "takes_a_gigabyte_of_memory",
        """
        block = bytearray(1 << 30)
        block[::4096] = b"1" * len(block[::4096])
        print("ESCAPED")
        """,
        shows_outside=False,
    ),
    Attack(
        "ignores_the_signal_of_the_cpu_limit",
        """
        import signal, time
        for number in (signal.SIGXCPU, signal.SIGPROF, signal.SIGALRM, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        end = time.time() + 12
        while time.time() < end:
            pass
        print("ESCAPED")
        """,
        shows_outside=False,
    ),
    Attack(
        "sleeps_past_the_wall_clock",
        'import signal, time; signal.setitimer(signal.ITIMER_REAL, 0); time.sleep(12); print("ESCAPED")',
        shows_outside=False,
    ),
    Attack(
        "fills_the_disk_with_many_files",
        """
        for number in range(20):
            open(f"file{number}", "wb").write(b"x" * (10 << 20))
        print("ESCAPED")
        """,
        shows_outside=False,
    ),
    Attack(
        "fills_the_disk_with_one_file",
        'open("file", "wb").write(b"x" * (64 << 20)); print("ESCAPED")',
        shows_outside=False,
    ),
    Attack(
        "floods_the_output",
        """
        import os, sys
        for number in range(3000):
            sys.stdout.write("x" * 10_000)
        os.write(2, b"ESCAPED")
        """,
        shows_outside=False,
    ),
    Attack(
        "forks_sixty_four_times",
        """
        import os, time
        children = 0
        for _ in range(64):
            if os.fork() == 0:
                time.sleep(1)
                os._exit(0)
            children += 1
        print("ESCAPED" if children == 64 else "")
        """,
        shows_outside=False,
    ),
    Attack(
        "leaves_a_daemon_behind",
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(30)
            os._exit(0)
        print("ESCAPED")
        """,
        shows_outside=False,
    ),
    Attack(
        "runs_another_program",
        """
        import subprocess
        print("ESCAPED" if b"uid" in subprocess.run(["/usr/bin/id"], capture_output=True).stdout else "")
        """,
    ),
    Attack(
        "digs_the_system_module_out_of_the_classes",
        """
        importer = [kind for kind in object.__subclasses__() if kind.__name__ == "BuiltinImporter"][0]
        system = importer.load_module("posix").system
        print("ESCAPED" if system("true") == 0 else "")
        """,
        shows_outside=False,
    ),
    # Beyond the first matrix.
    Attack("changes_the_mode_of_a_host_file", 'import os; os.chmod("$canary", 0o777); print("ESCAPED")'),
    Attack("sets_the_times_of_a_host_file", 'import os; os.utime("$canary", (1, 1)); print("ESCAPED")'),
    Attack(
        "empties_a_readable_file",
        """
        import json, os
        os.close(os.open(json.__file__, os.O_RDONLY | os.O_TRUNC))
        print("ESCAPED")
        """,
        shows_outside=False,
    ),
    Attack(
        "makes_a_raw_clone",
        """
        import ctypes, os, platform
        number = {"x86_64": 56, "aarch64": 220}[platform.machine()]
        pid = ctypes.CDLL(None).syscall(number, 17, 0, 0, 0, 0)
        if pid == 0:
            os._exit(0)
        print("ESCAPED" if pid > 0 else "")
        """,
    ),
    Attack(
        "outlives_its_keepers_by_giving_up_the_death_signal",
        'import ctypes; print("ESCAPED" if ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0 else "")',
    ),
    Attack(
        "keeps_bytes_in_an_anonymous_file",
        'import os; os.write(os.memfd_create("x"), b"x"); print("ESCAPED")',
    ),
    Attack(
        "opens_a_handle_on_another_process",
        'import ctypes; print("ESCAPED" if ctypes.CDLL(None).syscall(434, 1, 0) >= 0 else "")',
    ),
    Attack(
        "has_the_kernel_signal_another_process",
        """
        import fcntl, os, signal, socket
        here, there = socket.socketpair()
        fcntl.fcntl(here, fcntl.F_SETOWN, $sibling)
        fcntl.fcntl(here, fcntl.F_SETSIG, signal.SIGCONT)
        fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC)
        there.send(b"x")
        print("ESCAPED")
        """,
    ),
    Attack(
        "lowers_the_limits_of_the_parent",
        'import resource; resource.prlimit($parent, resource.RLIMIT_CORE); print("ESCAPED")',
    ),
    Attack(
        "imports_an_installed_package",
        """
        import sys, sysconfig
        sys.path += ["$site", sysconfig.get_path("purelib"), "/usr/lib/python3/dist-packages"]
        for name in ("yaml", "pytest", "pip", "armillary.core.errors"):
            try:
                __import__(name)
                print("ESCAPED")
            except ImportError:
                pass
        """,
    ),
)

BENIGN = {
    "computes": "print('OK' if sum(range(10**6)) == 499_999_500_000 else '')",
    "imports_the_usual_modules": """
        import bisect, collections, copy, dataclasses, datetime, decimal, fractions, functools, hashlib, heapq
        import itertools, json, math, operator, random, re, statistics, string, typing
        print("OK")
        """,
    "imports_rarer_modules": """
        import csv, email.message, difflib, html, locale, sqlite3, xml.etree.ElementTree, zoneinfo
        print("OK")
        """,
    "uses_a_file_of_its_own": """
        with open("a.txt", "w") as file:
            file.write("hi")
        print("OK" if open("a.txt").read() == "hi" else "")
        """,
    "uses_a_temporary_folder": """
        import os, pathlib, shutil, tempfile
        folder = pathlib.Path(tempfile.mkdtemp())
        (folder / "a").write_text("hi")
        shutil.copy(folder / "a", folder / "b")
        os.rename(folder / "b", folder / "c")
        print("OK" if (folder / "c").read_text() == "hi" else "")
        """,
    "finds_an_empty_standard_input": "import sys\nprint('OK' if sys.stdin.read() == '' else '')",
    "runs_threads": """
        import threading
        seen = []
        threads = [threading.Thread(target=seen.append, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("OK" if sorted(seen) == list(range(8)) else "")
        """,
    "uses_a_pool_of_threads": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            print("OK" if list(pool.map(abs, [-1, -2])) == [1, 2] else "")
        """,
    "runs_an_event_loop": """
        import asyncio
        async def later():
            await asyncio.sleep(0.01)
            print("OK")
        asyncio.run(later())
        """,
    "takes_two_hundred_megabytes": "block = bytearray(200 << 20)\nprint('OK')",
    "recurses_fifteen_thousand_deep": """
        import sys
        sys.setrecursionlimit(20_000)
        def depth(n):
            return 0 if n == 0 else 1 + depth(n - 1)
        print("OK" if depth(15_000) == 15_000 else "")
        """,
    "prints_any_script": "print('OK ж 漢 \\U0001f600')",
    "sleeps_a_little": "import time\ntime.sleep(0.1)\nprint('OK')",
    "asks_for_random_bytes": "import os\nprint('OK' if len(os.urandom(8)) == 8 else '')",
    "asks_for_the_time": "import datetime\nprint('OK' if datetime.datetime.now().year > 2020 else '')",
    "knows_the_time_zones_of_the_machine": """
        import os, zoneinfo
        print("OK" if not os.path.isdir("/usr/share/zoneinfo") or zoneinfo.ZoneInfo("Africa/Nairobi") else "")
        """,
    "defines_data_classes_with_postponed_types": """
        from __future__ import annotations
        import dataclasses, typing
        @dataclasses.dataclass
        class Point:
            x: int
            y: typing.ClassVar[int] = 0
        print("OK" if typing.get_type_hints(Point)["x"] is int and Point(1).x == 1 else "")
        """,
    "signals_itself": """
        import os, signal
        signal.signal(signal.SIGUSR1, lambda number, frame: print("OK"))
        os.kill(os.getpid(), signal.SIGUSR1)
        """,
}
