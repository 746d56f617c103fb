"""Write ``requirements/lock.txt``: what ``pyproject.toml`` asks for, pinned, with hashes.

Leaves out torch, whose build depends on the machine, and the ``bench`` extra, which compiles for long.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "lock.txt"
EXTRAS = ("engine", "symbolic", "wasm", "dev")
HEADER = "# Written by `make lock` from pyproject.toml (every extra but bench, without torch). Do not edit.\n"


def locked_requirements() -> list[str]:
    """What the lock must cover: the base, the locked extras and the build backend, without torch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = list(project["project"]["dependencies"]) + list(project["build-system"]["requires"])
    for extra in EXTRAS:
        wanted += project["project"]["optional-dependencies"][extra]
    return [line for line in wanted if requirement_name(line) != "torch"]


def requirement_name(requirement: str) -> str:
    """The normalised project name at the start of a requirement line."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def main() -> int:
    """Resolve and write; exit with pip-compile's own status."""
    command = [
        *(sys.executable, "-m", "piptools", "compile", "-", "--quiet", "--output-file", str(LOCK)),
        *("--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-header", "--no-annotate"),
        *("--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "--no-emit-options"),
        *sys.argv[1:],
    ]
    finished = subprocess.run(command, input="\n".join(locked_requirements()), text=True, cwd=ROOT, check=False)
    if finished.returncode == 0:
        pins = "".join(line for line in LOCK.read_text(encoding="utf-8").splitlines(True) if not line.startswith("#"))
        LOCK.write_text(HEADER + pins.lstrip("\n"), encoding="utf-8")
    return finished.returncode


if __name__ == "__main__":
    raise SystemExit(main())
