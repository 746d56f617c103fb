"""Attacks on other processes and by further ones: signals, traces, forks, programs; and on what was inherited.

Only text.
"""

from __future__ import annotations

from typing import Final

from armillary.bench.attack_form import Attack

_OTHERS: Final = ("namespaces", "landlock", "seccomp")
_OTHERS_AS_ROOT: Final = ("namespaces", "privileges", "landlock", "seccomp")
_RANK: Final = ("namespaces", "privileges", "seccomp")

# The smallest program for Linux on x86_64: writes ESCAPED on its standard output and ends.
_TINY_ELF: Final = """
        import struct
        code = bytes.fromhex("b801000000bf01000000488d3510000000ba080000000f05b83c00000031ff0f05") + b"ESCAPED\\n"
        head = b"\\x7fELF\\x02\\x01\\x01" + bytes(9)
        head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0)
        head += struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 120 + len(code), 120 + len(code), 4096)
        tiny = head + code
"""

PROCESS_ATTACKS: Final = (
    Attack("signals_the_parent", 'import os; os.kill($parent, 0); print("ESCAPED")', _OTHERS),
    Attack("kills_another_process", "import os; os.kill($sibling, 9)", _OTHERS, seen="killed"),
    Attack(
        "kills_another_process_with_a_raw_system_call",
        """
        import ctypes, platform
        ctypes.CDLL(None).syscall({"x86_64": 62, "aarch64": 129}[platform.machine()], $sibling, 9)
        """,
        _OTHERS,
        seen="killed",
    ),
    Attack(
        "kills_a_thread_of_another_process",
        """
        import ctypes, platform
        ctypes.CDLL(None).syscall({"x86_64": 234, "aarch64": 131}[platform.machine()], $sibling, $sibling, 9)
        """,
        _OTHERS,
        seen="killed",
    ),
    Attack(
        "kills_another_process_by_its_handle",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.syscall(424, libc.syscall(434, $sibling, 0), 9, None, 0)
        """,
        _OTHERS,
        seen="killed",
    ),
    Attack(
        "opens_a_handle_on_another_process",
        'import ctypes; print("ESCAPED" if ctypes.CDLL(None).syscall(434, 1, 0) >= 0 else "")',
        ("seccomp",),
    ),
    Attack(
        "has_the_kernel_kill_another_process",
        """
        import fcntl, os, signal, socket
        here, there = socket.socketpair()
        fcntl.fcntl(here, fcntl.F_SETOWN, $sibling)
        fcntl.fcntl(here, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC)
        there.send(b"x")
        """,
        _OTHERS,
        seen="killed",
    ),
    Attack(
        "traces_another_process",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        print("ESCAPED" if libc.ptrace(0x4206, $sibling, 0, 0) == 0 else "")
        """,
        _OTHERS_AS_ROOT,
    ),
    Attack(
        "reads_the_memory_of_another_process",
        """
        import ctypes, os, platform, struct
        libc, room = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(8)
        ours = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(room), 8))
        theirs = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(room), 8))
        number = {"x86_64": 310, "aarch64": 270}[platform.machine()]
        got = libc.syscall(number, $sibling, ours, 1, theirs, 1, 0)
        # Whatever is mapped there in the other process: to be refused for its address is to be let in.
        print("ESCAPED" if got == 8 or ctypes.get_errno() == 14 else "")
        """,
        _OTHERS_AS_ROOT,
    ),
    Attack(
        "reads_the_limits_of_another_process",
        'import resource; resource.prlimit($sibling, resource.RLIMIT_CORE); print("ESCAPED")',
        ("namespaces", "seccomp"),
    ),
    Attack(
        "pins_another_process_to_one_core",
        'import os; os.sched_setaffinity($sibling, {0}); print("ESCAPED")',
        _RANK,
    ),
    Attack(
        "slows_another_process_down",
        'import os; os.setpriority(os.PRIO_PROCESS, $sibling, 19); print("ESCAPED")',
        _RANK,
    ),
    Attack(
        "forks_sixty_four_times",
        """
        import os, time
        children = 0
        for _ in range(64):
            if os.fork() == 0:
                time.sleep(0.5)
                os._exit(0)
            children += 1
        print("ESCAPED" if children == 64 else "")
        """,
        ("seccomp",),
    ),
    Attack(
        "leaves_a_daemon_behind",
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(0.5)
                os.write(1, b"ESCAPED")
            os._exit(0)
        """,
        ("namespaces", "seccomp"),
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
        ("seccomp",),
    ),
    Attack(
        "forks_with_the_newest_clone",
        """
        import ctypes, os, struct
        request = ctypes.create_string_buffer(struct.pack("8Q", 0, 0, 0, 0, 17, 0, 0, 0))
        pid = ctypes.CDLL(None).syscall(435, request, 64)
        if pid == 0:
            os._exit(0)
        print("ESCAPED" if pid > 0 else "")
        """,
        ("seccomp",),
    ),
    Attack(
        "runs_another_program",
        """
        import subprocess
        print("ESCAPED" if b"uid" in subprocess.run(["/usr/bin/id"], capture_output=True).stdout else "")
        """,
        ("landlock", "seccomp"),
    ),
    Attack(
        "spawns_another_program",
        """
        import os
        pid = os.posix_spawn("/bin/true", ["true"], {})
        print("ESCAPED" if os.waitpid(pid, 0)[1] == 0 else "")
        """,
        ("landlock", "seccomp"),
    ),
    Attack(
        "becomes_another_program",
        'import os; os.set_inheritable(1, True); os.execv("/bin/echo", ["echo", "ESCAPED"])',
        ("landlock", "seccomp"),
        ends_itself=True,
    ),
    Attack(
        "becomes_a_program_of_its_own_making",
        _TINY_ELF
        + """
        import os
        with open("tiny", "wb") as file:
            file.write(tiny)
        os.chmod("tiny", 0o700)
        os.set_inheritable(1, True)
        os.execv("tiny", ["tiny"])
        """,
        ("landlock", "seccomp"),
        ends_itself=True,
    ),
    Attack(
        "becomes_a_program_in_an_anonymous_file",
        _TINY_ELF
        + """
        import os
        memory = os.memfd_create("tiny", 0)
        os.write(memory, tiny)
        os.set_inheritable(1, True)
        os.execve(memory, ["tiny"], {})
        """,
        ("seccomp",),
        ends_itself=True,
    ),
    Attack(
        "digs_the_system_module_out_of_the_classes",
        """
        importer = [kind for kind in object.__subclasses__() if kind.__name__ == "BuiltinImporter"][0]
        system = importer.load_module("posix").system
        print("ESCAPED" if system("true") == 0 else "")
        """,
        ("landlock", "seccomp"),
    ),
    Attack(
        "outlives_its_keepers_by_giving_up_the_death_signal",
        'import ctypes; print("ESCAPED" if ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0 else "")',
        ("seccomp",),
    ),
    Attack(
        "finds_any_variable_in_the_environment",
        'import os; print("ESCAPED" if os.environ else "")',
        ("environment",),
    ),
    Attack(
        "finds_any_variable_with_the_c_library",
        """
        import ctypes
        first = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        print("ESCAPED" if first and first[0] else "")
        """,
        ("environment",),
    ),
    Attack(
        "finds_a_secret_in_the_environment",
        'import os; print("ESCAPED" if "CANARY_KEY" in os.environ else "")',
        ("environment",),
    ),
    Attack(
        "learns_from_its_command_line_who_started_it",
        'import sys; print("ESCAPED" if sys.argv != ["candidate.py"] or sys.orig_argv else "")',
        ("environment",),
    ),
    Attack(
        "finds_the_modules_of_its_keepers",
        """
        import sys
        ours = [name for name in sys.modules if name.partition(".")[0] == "armillary"]
        print("ESCAPED" if ours else "")
        """,
        ("modules",),
    ),
)
