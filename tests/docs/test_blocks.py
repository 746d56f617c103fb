"""Every code block of the README and the docs runs, in its order on the page, in one empty folder per page.

A comment right before a block says more: ``<!-- file: NAME -->`` writes it, ``<!-- exit: N -->`` names its exit status,
``<!-- not run: REASON -->`` keeps it from running. The lines that a console block shows must be printed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUNNABLE = ("python", "bash", "console")
FILE_KINDS = ("yaml", "toml")
TIMEOUT_S = 240

FENCE = re.compile(r"^(?:<!-- (?P<note>[^\n]*?) -->\n+)?```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
# What cannot run inside its own tests: fetching the repository, and the commands that run these tests.
UNTESTED = re.compile(
    r"^(git clone \S+( \S+)?|cd \S+|make (demo|test|check|lock|pages)( .*)?|PIP_\w+=\S+ make .*|pip install .*)$"
)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        note: text of the comment right before it, such as ``file: task.yaml`` or ``exit: 6``.
    """

    kind: str
    body: str
    note: str

    @property
    def commands(self) -> list[str]:
        """Lines to type, without the prompt; continuation lines end in a backslash."""
        lines = self.body.replace("\\\n", " ").splitlines()
        if self.kind == "console":
            return [line[2:] for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]

    @property
    def printed(self) -> list[str]:
        """Lines that a console block shows below its commands."""
        lines = self.body.replace("\\\n", " ").splitlines()
        return [line for line in lines if not line.startswith("$ ")] if self.kind == "console" else []


def blocks_of(path: Path) -> list[Block]:
    found = FENCE.finditer(path.read_text(encoding="utf-8"))
    return [Block(match["kind"], match["body"], match["note"] or "") for match in found]


def environment() -> dict[str, str]:
    """The caller's own, with the project's commands first and the small model as the default one."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "ARMILLARY_MODEL": "smollm2-135m"}


def run_block(block: Block, folder: Path) -> None:
    wanted = int(block.note.removeprefix("exit: ")) if block.note.startswith("exit: ") else 0
    command = [sys.executable, "-c", block.body] if block.kind == "python" else ["bash", "-euo", "pipefail", "-c", ""]
    if block.kind != "python":
        command[-1] = "\n".join(block.commands)
    finished = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    output = finished.stdout + finished.stderr
    assert finished.returncode == wanted, f"{block.body}\n{output}"
    assert not [line for line in block.printed if not is_printed(line, output)], output


def is_printed(line: str, output: str) -> bool:
    """Whether a line of the page stands in the output; ``...`` stands for anything."""
    pattern = ".*".join(re.escape(part.strip()) for part in line.split("..."))
    return any(re.fullmatch(pattern, got.strip()) for got in output.splitlines())


@pytest.mark.model
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for block in blocks_of(page):
        if block.note.startswith("file: "):
            (tmp_path / block.note.removeprefix("file: ")).write_text(block.body, encoding="utf-8")
        elif block.kind in RUNNABLE and not block.note.startswith("not run: "):
            run_block(block, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_only_commands_that_cannot_run_here_are_left_out(page: Path) -> None:
    left_out = [block for block in blocks_of(page) if block.note.startswith("not run: ")]
    lines = [line for block in left_out for line in block.commands]
    assert not [line for line in lines if not UNTESTED.match(line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fence_says_what_it_holds(page: Path) -> None:
    fences = re.findall(r"^```(\w*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    kinds = fences[::2]
    assert set(kinds) <= {*RUNNABLE, *FILE_KINDS, "text"}
    assert len(fences) == 2 * len(blocks_of(page))
