"""Run as a script in the place of the interpreter: a zygote on a kernel whose Landlock is that of Linux 6.11.

Its last three arguments are those of the real zygote.
"""

from __future__ import annotations

import sys

folder, channel_fd, parent_pid = sys.argv[-3:]
sys.path.append(folder)

from armillary.verify.sandbox import landlock, zygote  # noqa: E402 - found only now

newest = landlock.abi_version()
landlock.abi_version = lambda: min(5, newest)  # 6 brought the scopes
sys.path.remove(folder)
sys.path_importer_cache.pop(folder, None)
zygote.main(int(channel_fd), int(parent_pid))
