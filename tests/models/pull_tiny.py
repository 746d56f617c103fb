"""Pull the tiny model and print what happens, line by line; run as a program by the fault tests."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from wheels import tiny_entry

from armillary.core.errors import ArmillaryError
from armillary.models.hub import PullProgress, pull_entry


def main(models_folder: str, num_bytes: str, slow_s: str, *sources: str) -> int:
    """Pull; each step of assembling takes ``slow_s``."""

    def progress(step: PullProgress) -> None:
        print(step.stage, step.num_bytes, flush=True)
        if step.stage == "assembling":
            time.sleep(float(slow_s))

    entry = tiny_entry(content=bytes(int(num_bytes)))
    try:
        result = pull_entry(entry, models_folder=Path(models_folder), sources=sources, progress=progress)
    except ArmillaryError as error:
        print(type(error).__name__, error)
        print("left:", *sorted(path.name for path in Path(models_folder).iterdir()))
        return int(error.exit_code)
    print("done", result.source, result.already_there)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
