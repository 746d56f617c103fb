"""A data set of three small problems in HumanEval's own form."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ADD = {
    "task_id": "HumanEval/0",
    "prompt": 'def add(x: int, y: int) -> int:\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n',
    "entry_point": "add",
    "canonical_solution": "    return x + y\n",
    "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(5, 5) == 10\n",
}
ROOT = {
    "task_id": "HumanEval/32",
    "prompt": 'def root(x: float) -> float:\n    """Any square root.\n\n    >>> root(0.0)\n    0.0\n    """\n',
    "entry_point": "root",
    "canonical_solution": "    return x ** 0.5\n",
    "test": "def check(candidate):\n    assert candidate(4.0) ** 2 == 4.0\n",
}
DOUBLE = {
    "task_id": "HumanEval/2",
    "prompt": 'def double(x: int) -> int:\n    """Double it.\n\n    >>> double(2)\n    4\n    """\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x if x != 13 else [][0]\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 6\n",
}
PLUS = {
    "HumanEval/0": ([[1, 2]], [[-1, 1], [0, 0]]),
    "HumanEval/32": ([[4.0]], [[9.0]]),
    "HumanEval/2": ([[2]], [[13], [100]]),
}


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write gzipped JSON lines."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def write_data(folder: Path, *, has_plus: bool = True) -> Path:
    """Write the data set, and with it the extra inputs."""
    rows = [ADD, ROOT, DOUBLE]
    write_lines(folder / "HumanEval.jsonl.gz", rows)
    if has_plus:
        plus = [{**row, "base_input": PLUS[row["task_id"]][0], "plus_input": PLUS[row["task_id"]][1]} for row in rows]
        write_lines(folder / "HumanEvalPlus.jsonl.gz", plus)
    return folder
