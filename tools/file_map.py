"""Write the file map of ``docs/tour.md``: each source file with the first sentence that it says about itself.

Judges no sentence; tests/architecture holds that there is one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from marked_block import replace_block

MARKS = ("<!-- file map: begin, written by tools/file_map.py -->", "<!-- file map: end -->")
COMMENTS = {".cpp": "//", ".hpp": "//", ".toml": "#"}


def source_files(package: Path) -> list[Path]:
    """Every file worth a line: Python, native and TOML, without the empty package markers."""
    found = [path for path in package.rglob("*") if path.suffix in (".py", *COMMENTS)]
    return sorted(path for path in found if path.name != "__init__.py")


def first_sentence(path: Path) -> str:
    """What a file says it is, in one sentence; empty when it says nothing."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        said = ast.get_docstring(ast.parse(text)) or ""
    else:
        comments = re.match(rf"(?:{COMMENTS[path.suffix]}.*\n)*", text)
        said = re.sub(rf"^{COMMENTS[path.suffix]} ?", "", comments[0] if comments else "", flags=re.MULTILINE)
    paragraph = " ".join(said.partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0].replace("``", "`")


def render(package: Path) -> str:
    """The map: one heading per room, one line per file."""
    names = [path.relative_to(package) for path in source_files(package)]
    lines = []
    for room, members in groupby(names, key=lambda name: name.parts[0]):
        lines += [f"**{room}**", ""]
        lines += [f"- `{name.as_posix()}`: {first_sentence(package / name)}" for name in members]
        lines.append("")
    return "\n".join(lines).rstrip("\n")


def main(arguments: Sequence[str], root: Path) -> int:
    """Write the map, or with ``--check`` only compare; 1 when it is stale."""
    page = root / "docs" / "tour.md"
    old = page.read_text(encoding="utf-8")
    new = replace_block(old, f"\n{render(root / 'src' / 'armillary')}\n", MARKS)
    if "--check" not in arguments:
        page.write_text(new, encoding="utf-8")
    elif new != old:
        print("file map: docs/tour.md is stale: run `make pages`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], Path(__file__).resolve().parent.parent))
