"""Tell by a hash whether the code that a kept result depends on is still the same. Follows no imports."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from pathlib import Path

import armillary

NUM_HASH_CHARS = 20


def source_sha256(patterns: Sequence[str], root: Path = Path(armillary.__file__).parent) -> str:
    """Hash of all files that match, comments and layout aside; its first characters.

    Args:
        patterns: globs below ``root``, such as ``verify/**/*.py``.
        root: folder of the package.
    """
    trees = [
        ast.dump(ast.parse(path.read_text(encoding="utf-8")))
        for pattern in patterns
        for path in sorted(root.glob(pattern))
    ]
    return hashlib.sha256("\n".join(trees).encode("utf-8", "surrogatepass")).hexdigest()[:NUM_HASH_CHARS]
