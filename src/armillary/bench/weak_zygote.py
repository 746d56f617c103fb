"""Run as a script in the place of the interpreter: the sandbox's zygote with chosen layers left out.

Only for showing that each layer is needed. Arguments: the layers, comma-separated; a throw-away folder that programs
get as their own; then whatever the sandbox gives its interpreter, the last of which starts the real zygote.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

# Layer -> the functions of the sandbox that put it on, as module and name.
STEPS: Final = {
    "namespaces": ("namespaces.enter",),
    "mounts": ("namespaces.mount_private_tree",),
    "privileges": ("limits.drop_privileges",),
    "limits": ("limits.bound_resources", "limits.forbid_core_dumps"),
    "landlock": ("landlock.restrict",),
    "seccomp": ("seccomp.lock_calls",),
    "descriptors": ("limits.close_others",),
    "environment": ("limits.clear_environment",),
    "modules": ("zygote._forget_ourselves",),
}
_PACKAGE: Final = "armillary.verify.sandbox"


def left_out(*_: object, **__: object) -> str:
    """Stand in for a layer: do nothing, and say so."""
    return "left out"


def replace(step: str, stand_in: object) -> None:
    """Put something in the place of one of the sandbox's functions, in this process.

    Raises:
        AttributeError: there is no such function.
    """
    module_name, _, name = step.rpartition(".")
    module = import_module(f"{_PACKAGE}.{module_name}")
    getattr(module, name)
    setattr(module, name, stand_in)


def main(removed: str, folder: str, boot: str, arguments: list[str]) -> None:
    """Leave the layers out and go on as the zygote that ``boot`` starts."""
    sources = str(Path(__file__).resolve().parents[2])
    sys.path.append(sources)
    for layer in filter(None, removed.split(",")):
        for step in STEPS[layer]:
            replace(step, left_out)
    # Where the mounts are left out, this is a folder on the disk, and it must be the throw-away one.
    replace("namespaces.choose_private_folder", lambda: folder)
    sys.path.remove(sources)
    sys.path_importer_cache.pop(sources, None)
    os.chdir(folder)
    sys.argv = ["-c", *arguments]
    exec(boot, {"__name__": "__main__"})  # noqa: S102 - the sandbox's own text


if __name__ == "__main__":
    start = sys.argv.index("-c")
    main(sys.argv[1], sys.argv[2], sys.argv[start + 1], sys.argv[start + 2 :])
