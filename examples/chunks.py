"""A decorated stub. The file is read, never run: `armillary solve examples/chunks.py`."""

from armillary import ensures, examples, inputs, raises


@inputs(items="list[int] | len 0..20", size="-2..8")
@examples("chunks([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]", "chunks([], 3) == []")
@ensures("sum(result, []) == items", "all(len(part) == size for part in result[:-1])")
@raises(ValueError="size < 1")
def chunks(items: list[int], size: int) -> list[list[int]]:
    """Cut a list into parts of the given size, in order; only the last part may be shorter.

    A size below 1 is a ValueError.
    """
