"""A layer's matrix product, over the file's own integers or over float32. Knows no file format."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from armillary.kernels.grouped import GroupedMatrix
from armillary.kernels.interface import Kernels


class Linear(Protocol):
    """``y = x @ weight.T``."""

    @property
    def num_bytes(self) -> int:
        """Bytes that one product reads."""
        ...

    def __call__(self, x: Tensor) -> Tensor:
        """[M, K] float32 -> [M, N] float32."""
        ...


class GroupedLinear:
    """One or several integer matrices that share their input.

    Args:
        kernels: what multiplies.
        parts: matrices, stacked in the output.
        terms: int8 numbers per value of the input; see :meth:`armillary.kernels.interface.Kernels.linear`.
    """

    def __init__(self, kernels: Kernels, parts: tuple[GroupedMatrix, ...], *, terms: int = 1) -> None:
        self._kernels = kernels
        self._parts = parts
        self._terms = terms

    @property
    def num_bytes(self) -> int:
        """Bytes that one product reads."""
        return sum(part.num_bytes for part in self._parts)

    def __call__(self, x: Tensor) -> Tensor:
        """[M, K] float32 -> [M, N1 + N2 + ...] float32."""
        return self._kernels.linear(x, self._parts, terms=self._terms)


class DenseLinear:
    """One or several float32 matrices that share their input, stacked."""

    def __init__(self, weights: tuple[Tensor, ...]) -> None:
        self._weight = weights[0] if len(weights) == 1 else torch.cat(weights)

    @property
    def num_bytes(self) -> int:
        """Bytes that one product reads."""
        return self._weight.numel() * self._weight.element_size()

    def __call__(self, x: Tensor) -> Tensor:
        """[M, K] float32 -> [M, N] float32."""
        return functional.linear(x, self._weight)
