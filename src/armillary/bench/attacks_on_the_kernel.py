"""Attacks by system calls: on the network, the rights of other users, the kernel's lesser-known parts. Only text."""

from __future__ import annotations

from typing import Final

from armillary.bench.attack_form import Attack

_NETWORK: Final = ("namespaces", "landlock", "seccomp")
_HOST_RIGHTS: Final = ("namespaces", "privileges", "seccomp")

KERNEL_ATTACKS: Final = (
    Attack(
        "connects_to_a_local_port",
        'import socket; socket.create_connection(("127.0.0.1", $port), 1); print("ESCAPED")',
        _NETWORK,
    ),
    Attack(
        "sends_a_datagram",
        """
        import socket
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.sendto(b"x", ("127.0.0.1", 9))
        print("ESCAPED")
        """,
        ("namespaces", "seccomp"),
    ),
    Attack(
        "listens_for_strangers",
        'import socket; socket.create_server(("127.0.0.1", 0)); print("ESCAPED")',
        ("landlock", "seccomp"),
    ),
    Attack(
        "connects_to_an_abstract_socket",
        'import socket; socket.socket(socket.AF_UNIX).connect("\\0$abstract"); print("ESCAPED")',
        _NETWORK,
    ),
    Attack(
        "connects_to_a_named_socket",
        'import socket; socket.socket(socket.AF_UNIX).connect("$socket"); print("ESCAPED")',
        ("seccomp",),
    ),
    Attack(
        "asks_the_kernel_about_its_network",
        'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).bind((0, 0)); print("ESCAPED")',
        ("seccomp",),
    ),
    Attack(
        "listens_to_all_packets",
        'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x300); print("ESCAPED")',
        ("privileges", "seccomp"),
    ),
    Attack(
        "makes_namespaces_of_its_own",
        'import ctypes; print("ESCAPED" if ctypes.CDLL(None).unshare(0x10020000) == 0 else "")',
        ("seccomp",),
    ),
    Attack(
        "mounts_over_a_folder_in_namespaces_of_its_own",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.unshare(0x10020000)
        print("ESCAPED" if libc.mount(b"tmpfs", b".", b"tmpfs", 0, b"size=4096") == 0 else "")
        """,
        ("landlock", "seccomp"),
    ),
    Attack(
        "changes_its_root_folder",
        'import os; os.chroot("."); print("ESCAPED")',
        ("privileges", "seccomp"),
    ),
    Attack(
        "becomes_another_user",
        'import os; os.setuid(1); print("ESCAPED")',
        _HOST_RIGHTS,
    ),
    Attack(
        "takes_its_capabilities_back",
        """
        import ctypes, platform, struct
        number = {"x86_64": 126, "aarch64": 91}[platform.machine()]
        header = struct.pack("=Ii", 0x20080522, 0)
        wanted = struct.pack("=6I", 1 << 21, 1 << 21, 0, 0, 0, 0)
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, header, wanted) == 0 else "")
        """,
        ("privileges", "seccomp"),
    ),
    Attack(
        "renames_the_machine",
        'import socket; socket.sethostname("armillary-attack"); print("ESCAPED")',
        ("privileges", "seccomp"),
    ),
    Attack(
        "takes_a_processor_for_itself",
        'import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); print("ESCAPED")',
        _HOST_RIGHTS,
    ),
    Attack(
        "sets_up_an_io_uring",
        """
        import ctypes
        print("ESCAPED" if ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(120)) >= 0 else "")
        """,
        ("limits", "seccomp"),
    ),
    Attack(
        "makes_a_kernel_map_with_bpf",
        """
        import ctypes, platform, struct
        number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
        request = ctypes.create_string_buffer(struct.pack("5I", 2, 4, 8, 1, 0) + bytes(108))
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, 0, request, 72) >= 0 else "")
        """,
        _HOST_RIGHTS,
    ),
    Attack(
        "counts_events_of_the_processor",
        """
        import ctypes, platform, struct
        number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
        # The clock of this very process, what happens in the kernel left out.
        request = ctypes.create_string_buffer(struct.pack("=IIQQQQQ", 1, 112, 1, 0, 0, 0, 0b1100000) + bytes(64))
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, request, 0, -1, -1, 0) >= 0 else "")
        """,
        ("seccomp",),
    ),
    Attack(
        "keeps_a_key_in_the_kernel",
        """
        import ctypes, platform
        number = {"x86_64": 248, "aarch64": 217}[platform.machine()]
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, b"user", b"armillary", b"x", 1, -2) >= 0 else "")
        """,
        ("seccomp",),
    ),
    Attack(
        "handles_its_own_page_faults",
        """
        import ctypes, platform
        number = {"x86_64": 323, "aarch64": 282}[platform.machine()]
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, 1) >= 0 else "")
        """,
        ("seccomp",),
    ),
    Attack(
        "reads_the_kernel_log_by_a_system_call",
        """
        import ctypes, platform
        number = {"x86_64": 103, "aarch64": 116}[platform.machine()]
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, 10, None, 0) >= 0 else "")
        """,
        _HOST_RIGHTS,
    ),
    Attack(
        "turns_address_randomization_off",
        'import ctypes; print("ESCAPED" if ctypes.CDLL(None).personality(0x0040000) >= 0 else "")',
        ("seccomp",),
    ),
    Attack(
        "reads_the_segments_of_its_processor",
        """
        import ctypes, platform
        number = {"x86_64": 154}[platform.machine()]
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, 0, ctypes.create_string_buffer(8), 8) >= 0 else "")
        """,
        ("seccomp",),
    ),
    Attack(
        "makes_a_call_of_the_second_convention",
        """
        import ctypes
        print("ESCAPED" if ctypes.CDLL(None).syscall(0x40000000 + 39) > 0 else "")
        """,
        ("seccomp",),
        no_control="the kernel on which this was tried is built without it",
        ends_itself=True,
    ),
    Attack(
        "makes_a_call_of_the_old_32_bit_convention",
        """
        import ctypes, mmap
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex("53b814000000cd805bc3"))
        call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
        print("ESCAPED" if call() > 0 else "")
        """,
        ("seccomp",),
        ends_itself=True,
    ),
    Attack(
        "leaves_a_segment_of_shared_memory",
        """
        import ctypes, platform
        number = {"x86_64": 29, "aarch64": 194}[platform.machine()]
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, 0, 4096, 0o600) >= 0 else "")
        """,
        ("seccomp",),
    ),
    Attack(
        "leaves_a_message_in_the_kernel",
        """
        import ctypes, platform
        number = {"x86_64": 68, "aarch64": 186}[platform.machine()]
        print("ESCAPED" if ctypes.CDLL(None).syscall(number, 0, 0o600) >= 0 else "")
        """,
        ("seccomp",),
    ),
    Attack(
        "types_into_a_terminal",
        """
        import fcntl, os
        terminal = os.open("$terminal", os.O_RDWR | os.O_NOCTTY)
        fcntl.ioctl(terminal, 0x5412, b"x")
        print("ESCAPED")
        """,
        ("namespaces", "privileges", "landlock", "seccomp"),
    ),
)
