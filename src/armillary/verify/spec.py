"""Read a task from a file or a text: YAML, Python or ``VERIFY(...)``. Chooses the reader, reads nothing itself."""

from __future__ import annotations

import re
from pathlib import Path

from armillary.core.errors import NotFoundError, TaskFormatError
from armillary.core.tasks import TaskSpec
from armillary.verify.spec_literal import is_literal, read_literal
from armillary.verify.spec_python import has_stub, task_from_stub
from armillary.verify.spec_yaml import task_from_yaml

MAX_FILE_BYTES = 1 << 20
# So that a slip in a Python task is reported as such, and not as strange YAML.
_PYTHON_LINE = re.compile(r"\A(?:\s|#.*)*(?:def |@\w+\(|from \w+ import |import \w+$)", re.MULTILINE)


def load_task(path: str | Path) -> TaskSpec:
    """Read a task file; ``.py`` is Python, ``.yaml`` and ``.yml`` YAML, ``.verify`` a literal, others are looked at.

    Raises:
        NotFoundError: there is no such file.
        TaskFormatError: the file is no task; names field and line.
    """
    path = Path(path)
    if not path.is_file():
        raise NotFoundError(f"no task file at {path}")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise TaskFormatError(f"{path} has {path.stat().st_size} bytes, a task has at most {MAX_FILE_BYTES}")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskFormatError(f"{path} is not UTF-8 text", hint="save the task as UTF-8") from error
    return parse_task(text, path.name)


def parse_task(text: str, name: str = "-") -> TaskSpec:
    """Read a task from text.

    Args:
        text: YAML, Python, or a ``VERIFY(...)`` that holds its code.
        name: file name, whose ending decides; any other name lets the text decide.

    Raises:
        TaskFormatError: the text is no task; names field and line.
    """
    if len(text) > MAX_FILE_BYTES:
        raise TaskFormatError(f"{len(text)} characters, a task has at most {MAX_FILE_BYTES}")
    if not text.strip():
        raise TaskFormatError("the file is empty; a task needs at least a prompt")
    suffix = Path(name).suffix.lower()
    if is_literal(text, name):
        return read_literal(text)[0]
    is_python = suffix == ".py" or (suffix not in (".yaml", ".yml") and _looks_like_python(text))
    return task_from_stub(text) if is_python else task_from_yaml(text)


def _looks_like_python(text: str) -> bool:
    return has_stub(text) or _PYTHON_LINE.search(text) is not None
