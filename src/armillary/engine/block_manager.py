"""Count who uses which KV block: allocate, share, copy on write, free. Stores no keys and no values.

A block table is a plain list of block ids that the caller owns; the manager only counts references.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from armillary.core.errors import CacheFullError


class BlockManager:
    """Reference counts of a fixed pool of blocks.

    Args:
        num_blocks: blocks in the pool; their ids are 0 to ``num_blocks - 1``.
    """

    def __init__(self, num_blocks: int) -> None:
        self._num_references = [0] * num_blocks
        self._free = deque(range(num_blocks))

    @property
    def num_blocks(self) -> int:
        """Blocks in the pool, free or not."""
        return len(self._num_references)

    @property
    def num_free(self) -> int:
        """Blocks that nobody uses."""
        return len(self._free)

    def can_allocate(self, num_blocks: int) -> bool:
        """Whether so many blocks are free."""
        return num_blocks <= len(self._free)

    def num_references(self, block: int) -> int:
        """Tables that hold the block."""
        return self._num_references[block]

    def is_shared(self, block: int) -> bool:
        """Whether writing into the block would change somebody else's history."""
        return self._num_references[block] > 1

    def allocate(self, num_blocks: int) -> list[int]:
        """Take blocks from the pool, the longest unused first.

        Raises:
            CacheFullError: fewer are free; nothing was taken.
        """
        if not self.can_allocate(num_blocks):
            raise CacheFullError(f"{num_blocks} KV blocks wanted, {self.num_free} of {self.num_blocks} are free")
        taken = [self._free.popleft() for _ in range(num_blocks)]
        for block in taken:
            self._num_references[block] = 1
        return taken

    def fork(self, table: Sequence[int]) -> list[int]:
        """A second table over the same blocks."""
        for block in table:
            assert self._num_references[block] > 0, f"block {block} is free and cannot be shared"
            self._num_references[block] += 1
        return list(table)

    def make_writable(self, table: list[int], index: int) -> tuple[int, int] | None:
        """Give the table a block of its own at ``index``.

        Returns:
            None when it has one already, else ``(source, target)``: the block that the caller must copy, and where to.

        Raises:
            CacheFullError: a copy is needed and no block is free.
        """
        source = table[index]
        if not self.is_shared(source):
            return None
        (target,) = self.allocate(1)
        self._num_references[source] -= 1
        table[index] = target
        return source, target

    def free(self, table: list[int], *, keep: int = 0) -> None:
        """Give back all blocks of a table but the first ``keep``, and cut the table."""
        # Last first: the pool hands out the longest unused block, so the start of a sequence, which others may
        # want to share, is the last to be overwritten.
        while len(table) > keep:
            block = table.pop()
            assert self._num_references[block] > 0, f"block {block} is freed twice"
            self._num_references[block] -= 1
            if self._num_references[block] == 0:
                self._free.append(block)
