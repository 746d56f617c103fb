"""Read the small text files in which a kernel describes itself. What is absent reads as empty; nothing is cached."""

from __future__ import annotations

from pathlib import Path


def read_text(path: Path) -> str:
    """The file's text, or empty if this kernel does not offer it to us."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # absent, forbidden, or a controller that answers with an error: all mean "not offered"
        return ""


def read_number(path: Path) -> int | None:
    """The file's only integer, or None if it is absent or says ``max``."""
    text = read_text(path).strip()
    return int(text) if text.lstrip("-").isdecimal() else None


def read_rows(path: Path, separator: str | None = None) -> dict[str, str]:
    """``key separator value`` lines as a mapping; the first line with a key wins."""
    rows: dict[str, str] = {}
    for line in read_text(path).splitlines():
        key, *rest = line.split(separator, 1)
        if rest:
            rows.setdefault(key.strip(), rest[0].strip())
    return rows


def parse_cpu_list(text: str) -> frozenset[int]:
    """Core numbers of a list such as ``0-3,8``."""
    cores: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return frozenset(cores)
