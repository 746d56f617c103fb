"""Write a file whole or not at all, so that nobody ever reads half of one. Knows nothing of what is in it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from armillary.core.errors import ArmillaryError


def write_whole(path: Path, content: str) -> None:
    """Put a text in place of whatever a path held; its folder is made.

    Raises:
        ArmillaryError: it cannot be written; what was there is untouched.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("xb") as file:
            file.write(content.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise ArmillaryError(f"cannot write {path}: {error.strerror}") from error
