"""Blocks are neither lost nor used twice, whatever is allocated, shared, copied and freed in whatever order."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from armillary.core.errors import CacheFullError
from armillary.engine.block_manager import BlockManager


def test_a_new_pool_is_all_free() -> None:
    blocks = BlockManager(3)
    assert (blocks.num_free, blocks.num_blocks) == (3, 3)


def test_allocated_blocks_are_distinct_and_counted() -> None:
    blocks = BlockManager(4)
    table = blocks.allocate(3)
    assert len(set(table)) == 3
    assert blocks.num_free == 1


def test_asking_for_too_many_names_both_numbers_and_takes_nothing() -> None:
    blocks = BlockManager(2)
    with pytest.raises(CacheFullError, match="3 KV blocks wanted, 2 of 2 are free"):
        blocks.allocate(3)
    assert blocks.num_free == 2


def test_a_fork_shares_blocks_at_no_cost() -> None:
    blocks = BlockManager(4)
    table = blocks.allocate(2)
    assert blocks.fork(table) == table
    assert blocks.num_free == 2
    assert all(blocks.is_shared(block) for block in table)


def test_a_shared_block_is_free_only_when_its_last_owner_lets_go() -> None:
    blocks = BlockManager(1)
    first = blocks.allocate(1)
    second = blocks.fork(first)
    blocks.free(first)
    assert blocks.num_free == 0
    blocks.free(second)
    assert blocks.num_free == 1


def test_writing_into_an_own_block_needs_no_copy() -> None:
    blocks = BlockManager(1)
    assert blocks.make_writable(blocks.allocate(1), 0) is None


def test_writing_into_a_shared_block_moves_the_writer_to_a_copy() -> None:
    blocks = BlockManager(2)
    reader = blocks.allocate(1)
    writer = blocks.fork(reader)
    assert blocks.make_writable(writer, 0) == (reader[0], writer[0])
    assert writer != reader
    assert not blocks.is_shared(reader[0])


def test_a_copy_without_a_free_block_is_refused_and_changes_nothing() -> None:
    blocks = BlockManager(1)
    reader = blocks.allocate(1)
    writer = blocks.fork(reader)
    with pytest.raises(CacheFullError):
        blocks.make_writable(writer, 0)
    assert writer == reader
    assert blocks.num_references(reader[0]) == 2


def test_the_start_of_a_freed_sequence_is_overwritten_last() -> None:
    blocks = BlockManager(3)
    table = blocks.allocate(3)
    start, middle, end = table
    blocks.free(table)
    assert blocks.allocate(3) == [end, middle, start]


def test_freeing_can_keep_the_beginning() -> None:
    blocks = BlockManager(3)
    table = blocks.allocate(3)
    first = table[0]
    blocks.free(table, keep=1)
    assert table == [first]
    assert blocks.num_free == 2


def test_freeing_twice_is_caught() -> None:
    blocks = BlockManager(1)
    table = blocks.allocate(1)
    stale = list(table)
    blocks.free(table)
    with pytest.raises(AssertionError, match="freed twice"):
        blocks.free(stale)


def test_sharing_a_free_block_is_caught() -> None:
    with pytest.raises(AssertionError, match="cannot be shared"):
        BlockManager(1).fork([0])


class BlockLife(RuleBasedStateMachine):
    """Any history of tables over one small pool; the tables themselves are the model of what must hold."""

    @initialize(num_blocks=st.integers(1, 12))
    def begin(self, num_blocks: int) -> None:
        self.blocks = BlockManager(num_blocks)
        self.tables: list[list[int]] = []

    def pick(self, choice: int) -> list[int]:
        return self.tables[choice % len(self.tables)]

    @rule(num_blocks=st.integers(0, 6))
    def allocate(self, num_blocks: int) -> None:
        fits = num_blocks <= self.blocks.num_free
        assert self.blocks.can_allocate(num_blocks) == fits
        if fits:
            self.tables.append(self.blocks.allocate(num_blocks))
        else:
            with pytest.raises(CacheFullError):
                self.blocks.allocate(num_blocks)

    @precondition(lambda self: self.tables)
    @rule(choice=st.integers(0, 99))
    def fork(self, choice: int) -> None:
        self.tables.append(self.blocks.fork(self.pick(choice)))

    @precondition(lambda self: any(self.tables))
    @rule(choice=st.integers(0, 99), place=st.integers(0, 99))
    def write(self, choice: int, place: int) -> None:
        table = [table for table in self.tables if table][choice % sum(map(bool, self.tables))]
        index = place % len(table)
        before, was_shared = table[index], self.blocks.is_shared(table[index])
        if was_shared and not self.blocks.num_free:
            return
        copy = self.blocks.make_writable(table, index)
        assert copy == ((before, table[index]) if was_shared else None)
        assert not self.blocks.is_shared(table[index])

    @precondition(lambda self: self.tables)
    @rule(choice=st.integers(0, 99), keep=st.integers(0, 3))
    def free(self, choice: int, keep: int) -> None:
        table = self.pick(choice)
        self.blocks.free(table, keep=keep)
        if not table:
            self.tables = [other for other in self.tables if other is not table]

    @invariant()
    def every_block_is_free_or_held_as_often_as_counted(self) -> None:
        held = [block for table in self.tables for block in table]
        for block in range(self.blocks.num_blocks):
            assert self.blocks.num_references(block) == held.count(block)
        assert self.blocks.num_free == self.blocks.num_blocks - len(set(held))

    @invariant()
    def no_table_holds_a_block_twice(self) -> None:
        assert all(len(set(table)) == len(table) for table in self.tables)


TestBlockLife = BlockLife.TestCase
