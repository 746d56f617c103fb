"""Take the native kernels when they were built, else their eager twin."""

from __future__ import annotations

from armillary.kernels.eager import EagerKernels
from armillary.kernels.interface import Kernels
from armillary.kernels.native import NativeKernels, instruction_sets


def best_kernels(num_threads: int) -> Kernels:
    """The fastest kernels of this install, with ``num_threads`` threads."""
    return NativeKernels(num_threads) if instruction_sets() else EagerKernels()
