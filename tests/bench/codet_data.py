"""Recorded samples and tests of our own, in the form of CodeT's files, beside the three small problems."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench_data import ADD, DOUBLE, ROOT, write_data

SOLUTIONS = "codet_humaneval_small_solutions.jsonl"
TESTS = "codet_humaneval_small_tests.jsonl"
# The model goes on after the function; the last one is no Python.
SAMPLES = {
    "add": [
        "    return x - y\n",
        "    return x + y\n\nassert add(1, 2) == 4\n",
        "    return x + abs(y)\n",
        "    return y + x\n",
        "    return x - y\n\n\nprint(add(1, 2))",
        "    return (x +\n",
    ],
    "root": ["    return x ** 0.5\n"] * 6,
    "double": [
        "    return 4\n",
        "    return 2 * x\n",
        "    return 4\n",
        "    return x + x\n",
        "    return x\n",
        "    return 5\n",
    ],
}
TEXTS = {
    "add": ["add(2, 2) == 4\nassert add(0, 1) == 1\n", "add(5, -5) == 0, 'nothing'\n", "add(2, 2) == 4", "", "", ""],
    "root": ["", "", "", "", "", ""],
    "double": ["\ndouble(3) == 6", "double(0) is 0\n", "12 == double(6)", "", "", ""],
}


def without_examples(problem: dict[str, Any]) -> str:
    """The prompt as the model was shown it."""
    before, _, _ = str(problem["prompt"]).partition("\n    >>>")
    return f'{before}    """\n'


def write_recordings(folder: Path, *, with_problems: bool = True) -> Path:
    """Write ``model_outputs`` and, beside it, ``humaneval``; return the first."""
    outputs, problems = folder / "model_outputs", folder / "humaneval"
    outputs.mkdir()
    if with_problems:
        problems.mkdir()
        write_data(problems)
    shuffled = [DOUBLE, ADD, ROOT]
    write_rows(outputs / SOLUTIONS, ((without_examples(row), SAMPLES[row["entry_point"]]) for row in shuffled))
    asking = "    pass\n\n# check the correctness\nassert "
    write_rows(outputs / TESTS, ((without_examples(row) + asking, TEXTS[row["entry_point"]]) for row in shuffled))
    return outputs


def write_rows(path: Path, rows: Iterable[tuple[str, list[str]]]) -> None:
    """Write one line for each prompt."""
    lines = (json.dumps({"prompt": prompt, "samples": samples}) + "\n" for prompt, samples in rows)
    path.write_text("".join(lines), encoding="utf-8")
