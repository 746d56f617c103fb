"""Attacks on files: of the host, of other processes, and on the room that there is for files. Only text."""

from __future__ import annotations

from typing import Final

from armillary.bench.attack_form import Attack

_READ: Final = ("landlock",)
_WRITE: Final = ("mounts", "landlock")
_PROC: Final = ("mounts", "landlock")

FILE_ATTACKS: Final = (
    Attack("reads_a_file_of_the_host", 'print("ESCAPED" if "CANARY" in open("$canary").read() else "")', _READ),
    Attack(
        "reads_a_file_with_the_c_library",
        """
        import ctypes
        libc, room = ctypes.CDLL(None), ctypes.create_string_buffer(64)
        libc.read(libc.open(b"$canary", 0), room, 64)
        print("ESCAPED" if b"CANARY" in room.raw else "")
        """,
        _READ,
    ),
    Attack(
        "reads_a_file_with_raw_system_calls",
        """
        import ctypes, platform
        numbers = {"x86_64": (257, 0), "aarch64": (56, 63)}[platform.machine()]
        libc, room = ctypes.CDLL(None), ctypes.create_string_buffer(64)
        libc.syscall(numbers[1], libc.syscall(numbers[0], -100, b"$canary", 0, 0), room, 64)
        print("ESCAPED" if b"CANARY" in room.raw else "")
        """,
        _READ,
    ),
    Attack(
        "reads_a_file_through_a_symlink",
        """
        import os
        os.symlink("$canary", "link")
        print("ESCAPED" if "CANARY" in open("link").read() else "")
        """,
        _READ,
    ),
    Attack(
        "links_a_file_of_the_host_into_its_folder",
        """
        import os
        os.link("$canary", "hard-link")
        print("ESCAPED" if "CANARY" in open("hard-link").read() else "")
        """,
        _WRITE,
    ),
    Attack("lists_the_home_folder", 'import os; os.listdir("$home"); print("ESCAPED")', _READ),
    Attack("reads_the_password_file", 'print("ESCAPED" if open("/etc/passwd").read() else "")', _READ),
    Attack("writes_a_file_of_the_host", 'open("$written", "w").write("x")', _WRITE, seen="written"),
    Attack("writes_into_shared_memory", 'open("$shared", "w").write("x")', _WRITE, seen="written"),
    Attack("deletes_a_file_of_the_host", 'import os; os.unlink("$spare")', _WRITE, seen="deleted"),
    Attack("moves_a_file_of_the_host", 'import os; os.rename("$spare", "$written")', _WRITE, seen="written"),
    Attack(
        "empties_a_file_of_the_host",
        'import os; os.close(os.open("$spare", os.O_RDONLY | os.O_TRUNC)); print("ESCAPED")',
        _WRITE,
    ),
    Attack(
        "empties_a_file_that_it_may_read",
        """
        import os
        victim = os.path.join(os.path.dirname(os.__file__), "antigravity.py")
        os.close(os.open(victim, os.O_RDONLY | os.O_TRUNC))
        print("ESCAPED")
        """,
        _WRITE,
        no_control="it would empty a file of the standard library",
    ),
    Attack("changes_the_mode_of_a_host_file", 'import os; os.chmod("$spare", 0o777); print("ESCAPED")', ("mounts",)),
    Attack("sets_the_times_of_a_host_file", 'import os; os.utime("$spare", (1, 1)); print("ESCAPED")', ("mounts",)),
    Attack(
        "watches_a_file_of_the_host",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        print("ESCAPED" if libc.inotify_add_watch(libc.inotify_init(), b"$canary", 2) >= 0 else "")
        """,
        ("seccomp",),
    ),
    Attack("lists_the_processes_of_the_machine", 'import os; print("ESCAPED" if os.listdir("/proc") else "")', _PROC),
    Attack(
        "reads_the_environment_of_the_parent",
        'print("ESCAPED" if open("/proc/$parent/environ", "rb").read() else "")',
        ("namespaces", "privileges", "landlock"),
    ),
    Attack(
        "reads_the_command_line_of_its_keeper",
        'print("ESCAPED" if open("/proc/self/cmdline", "rb").read() else "")',
        _PROC,
    ),
    Attack(
        "writes_into_its_own_memory_as_a_file",
        'open("/proc/self/mem", "r+b").close(); print("ESCAPED")',
        _PROC,
    ),
    Attack("reads_the_symbols_of_the_kernel", 'open("/proc/kallsyms").readline(); print("ESCAPED")', _PROC),
    Attack(
        "reads_the_log_of_the_kernel",
        'import os; os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)); print("ESCAPED")',
        ("namespaces", "privileges", "landlock"),
    ),
    Attack(
        "makes_a_device",
        """
        import os, stat
        os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        print("ESCAPED")
        """,
        ("namespaces", "privileges", "landlock", "seccomp"),
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
        _READ,
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
        ("descriptors",),
    ),
    Attack(
        "keeps_bytes_in_an_anonymous_file",
        'import os; os.write(os.memfd_create("x"), b"x"); print("ESCAPED")',
        ("seccomp",),
    ),
    Attack(
        "fills_the_disk_with_many_files",
        """
        for number in range(12):
            with open(f"file{number}", "wb") as file:
                file.write(bytes(900 << 10))
        print("ESCAPED")
        """,
        ("mounts",),
    ),
    Attack(
        "fills_the_disk_with_one_file",
        'open("file", "wb").write(b"x" * (12 << 20)); print("ESCAPED")',
        ("mounts", "limits"),
    ),
    Attack(
        "fills_the_disk_with_empty_files",
        """
        for number in range(1100):
            open(f"file{number}", "w").close()
        print("ESCAPED")
        """,
        ("mounts",),
    ),
    Attack(
        "holds_a_hundred_files_open",
        """
        files = [open("/dev/null") for _ in range(100)]
        print("ESCAPED")
        """,
        ("limits",),
    ),
)
