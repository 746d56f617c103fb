"""Replace the generated part of a page between two marks. Generates nothing itself."""

from __future__ import annotations


def replace_block(page: str, block: str, marks: tuple[str, str]) -> str:
    """The page with what stands between the two marks replaced.

    Raises:
        ValueError: the page lacks the marks.
    """
    head, begin, rest = page.partition(marks[0])
    _, end, tail = rest.partition(marks[1])
    if not begin or not end:
        raise ValueError(f"the page lacks {marks[0]} or {marks[1]}")
    return f"{head}{begin}\n{block}\n{end}{tail}"
