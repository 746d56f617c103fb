"""What a layer needs computed, and the two ways to get it: native code or its eager twin. Holds no weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from armillary.kernels.grouped import GroupedMatrix

BLOCK_TOKENS = 32


@dataclass(frozen=True)
class LayerCache:
    """Paged keys and values of one layer.

    Attributes:
        keys: [blocks, G, D, 32] float32; a block's keys lie side by side so that one query meets 32 at once.
        values: [blocks, G, 32, D] float32.
    """

    keys: Tensor
    values: Tensor


@dataclass(frozen=True)
class QueryRun:
    """Consecutive query tokens of one sequence.

    Attributes:
        block_table: [blocks] int32, covering positions 0 .. start + num_tokens - 1.
        first_row: row of the first token in the step's tensors.
        num_tokens: query tokens.
        start: position of the first one.
    """

    block_table: Tensor
    first_row: int
    num_tokens: int
    start: int


@dataclass(frozen=True)
class Rotation:
    """Where each row of a step stands.

    Attributes:
        cosines: [M, D / 2] float32.
        sines: [M, D / 2] float32.
        slots: [M] int64, ``block * 32 + offset`` of the row's place in the cache.
    """

    cosines: Tensor
    sines: Tensor
    slots: Tensor


class Kernels(Protocol):
    """The computations of one decoder layer on float32 rows; M rows never influence each other."""

    @property
    def name(self) -> str:
        """What runs, for people."""
        ...

    def can_run(self, head_dim: int, widths: Sequence[int]) -> bool:
        """Whether heads of that size and rows of those widths can be computed; asked once, when a model is loaded."""
        ...

    def linear(self, x: Tensor, parts: Sequence[GroupedMatrix], *, terms: int = 1) -> Tensor:
        """Multiply by one or several matrices that share their input.

        Rows are rounded to int8 with one scale per 32 columns; products are exact integers per group.

        Args:
            x: [M, K] float32.
            parts: matrices of K columns.
            terms: int8 numbers that a value of x is the sum of; each further one rounds what was left over.

        Returns:
            [M, N1 + N2 + ...] float32.
        """
        ...

    def rms_norm(self, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """[M, K] -> [M, K], each row divided by its root mean square, times ``weight``."""
        ...

    def silu_mul(self, x: Tensor) -> Tensor:
        """[M, 2F] -> [M, F]: ``silu(x[:, :F]) * x[:, F:]``."""
        ...

    def rotate_and_store(self, qkv: Tensor, bias: Tensor | None, cache: LayerCache, at: Rotation) -> None:
        """Add the bias, rotate queries and keys by halves, write keys and values into the cache.

        Args:
            qkv: [M, (H + 2G) * D] float32; the queries in it are rotated in place.
            bias: [(H + 2G) * D] or None.
            cache: of this layer.
            at: positions and slots of the M rows.
        """
        ...

    def attention(self, qkv: Tensor, num_heads: int, cache: LayerCache, runs: Sequence[QueryRun]) -> Tensor:
        """Causal attention of every row over its own sequence's blocks, scaled by ``D ** -0.5``.

        Args:
            qkv: [M, (H + 2G) * D], of which the first H * D columns are read.
            num_heads: H.
            cache: of this layer, with the keys and values of these rows already in it.
            runs: which rows belong to which sequence; rows outside all runs are undefined.

        Returns:
            [M, H * D] float32.
        """
        ...
