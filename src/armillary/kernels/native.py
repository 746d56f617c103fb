"""Load the native kernels and call them on torch tensors. Chooses the instruction set, never the algorithm."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from armillary.kernels.grouped import GroupedMatrix
    from armillary.kernels.interface import LayerCache, QueryRun, Rotation

LANES = 16  # float32 values of a vector; rows have no tail
MAX_HEAD_DIM = 256  # kMaxHeadDim in native/body.hpp

_Pointer = ctypes.c_void_p
_Int = ctypes.c_int64


class _Matrix(ctypes.Structure):
    _fields_ = (
        ("weights", _Pointer),
        ("scales", _Pointer),
        ("minimums", _Pointer),
        ("num_rows", _Int),
        ("bits", ctypes.c_int32),
        ("group_size", ctypes.c_int32),
        ("zero", ctypes.c_int32),
        ("is_half", ctypes.c_int32),
    )


class _QueryRun(ctypes.Structure):
    _fields_ = (("block_table", _Pointer), ("first_row", _Int), ("num_tokens", _Int), ("start", _Int))


class _Cache(ctypes.Structure):
    _fields_ = (
        ("keys", _Pointer),
        ("values", _Pointer),
        ("num_kv_heads", _Int),
        ("head_dim", _Int),
        ("block_size", _Int),
    )


@cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels, or None when the install had no compiler."""
    found = sorted(Path(__file__).parent.glob("_native*.so"))
    if not found:
        return None
    lib = ctypes.CDLL(str(found[0]))
    lib.arm_instruction_set.restype = ctypes.c_char_p
    lib.arm_instruction_set.argtypes = (_Int,)
    lib.arm_select.argtypes = (_Int,)
    lib.arm_set_threads.argtypes = (_Int,)
    lib.arm_linear.argtypes = (_Pointer, _Int, _Int, _Int, _Pointer, _Int, _Pointer)
    lib.arm_rms_norm.argtypes = (_Pointer, _Pointer, _Int, _Int, ctypes.c_float, _Pointer)
    lib.arm_silu_mul.argtypes = (_Pointer, _Int, _Int, _Pointer)
    lib.arm_rotate_and_store.argtypes = (_Pointer, _Pointer, _Int, _Int, _Pointer, _Pointer, _Pointer, _Pointer)
    lib.arm_attention.argtypes = (_Pointer, _Int, _Pointer, _Int, _Int, _Pointer, ctypes.c_float, _Pointer)
    for function in (
        lib.arm_select,
        lib.arm_set_threads,
        lib.arm_linear,
        lib.arm_rms_norm,
        lib.arm_silu_mul,
        lib.arm_rotate_and_store,
        lib.arm_attention,
    ):
        function.restype = None
    return lib


def instruction_sets() -> tuple[str, ...]:
    """What this machine can run, best first; empty when nothing was compiled."""
    lib = library()
    names: list[str] = []
    while lib is not None and (name := lib.arm_instruction_set(len(names))) is not None:
        names.append(name.decode())
    return tuple(names)


def status() -> str:
    """One line for ``doctor``."""
    names = instruction_sets()
    if not names:
        return "not built: the slower eager kernels are used (install a C++ compiler and reinstall)"
    return f"built, using {names[0]} of {', '.join(names)}"


class NativeKernels:
    """The kernels of ``native/``, through ctypes; results are new tensors.

    Args:
        num_threads: threads of the pool, the caller's included.
        instruction_set: one of :func:`instruction_sets`, or empty for the best.
    """

    def __init__(self, num_threads: int, instruction_set: str = "") -> None:
        lib = library()
        assert lib is not None, "ask instruction_sets() first"
        names = instruction_sets()
        self.name = instruction_set or names[0]
        self._lib = lib
        self._matrices: dict[tuple[int, ...], tuple[Sequence[GroupedMatrix], ctypes.Array[_Matrix]]] = {}
        lib.arm_select(names.index(self.name))
        lib.arm_set_threads(num_threads)

    def can_run(self, head_dim: int, widths: Sequence[int]) -> bool:
        """Whole vectors only: rows of 16, halves of a head of 16, heads up to 256."""
        return head_dim % (2 * LANES) == 0 and head_dim <= MAX_HEAD_DIM and all(width % LANES == 0 for width in widths)

    def linear(self, x: Tensor, parts: Sequence[GroupedMatrix], *, terms: int = 1) -> Tensor:
        """See :class:`armillary.kernels.interface.Kernels`."""
        x = x.contiguous()
        num_rows, num_columns = x.shape
        assert all(part.num_columns == num_columns for part in parts), "matrices of another width"
        out = x.new_empty(num_rows, sum(part.num_rows for part in parts))
        described = self._described(parts)
        self._lib.arm_linear(x.data_ptr(), num_rows, num_columns, terms, described, len(parts), out.data_ptr())
        return out

    def rms_norm(self, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """See :class:`armillary.kernels.interface.Kernels`."""
        assert x.shape[1] == weight.shape[0], f"{x.shape[1]} columns, {weight.shape[0]} weights"
        assert self.can_run(2 * LANES, x.shape[1:]), f"rows of {x.shape[1]}"
        out = x.new_empty(x.shape)
        self._lib.arm_rms_norm(x.data_ptr(), weight.data_ptr(), x.shape[0], x.shape[1], epsilon, out.data_ptr())
        return out

    def silu_mul(self, x: Tensor) -> Tensor:
        """See :class:`armillary.kernels.interface.Kernels`."""
        assert self.can_run(2 * LANES, (x.shape[1] // 2,)), f"rows of {x.shape[1]}"
        out = x.new_empty(x.shape[0], x.shape[1] // 2)
        self._lib.arm_silu_mul(x.data_ptr(), x.shape[0], out.shape[1], out.data_ptr())
        return out

    def rotate_and_store(self, qkv: Tensor, bias: Tensor | None, cache: LayerCache, at: Rotation) -> None:
        """See :class:`armillary.kernels.interface.Kernels`."""
        described = _describe_cache(cache)
        num_heads = qkv.shape[1] // described.head_dim - 2 * described.num_kv_heads
        self._lib.arm_rotate_and_store(
            qkv.data_ptr(),
            None if bias is None else bias.data_ptr(),
            qkv.shape[0],
            num_heads,
            ctypes.byref(described),
            at.slots.data_ptr(),
            at.cosines.data_ptr(),
            at.sines.data_ptr(),
        )

    def attention(self, qkv: Tensor, num_heads: int, cache: LayerCache, runs: Sequence[QueryRun]) -> Tensor:
        """See :class:`armillary.kernels.interface.Kernels`."""
        described = _describe_cache(cache)
        out = qkv.new_empty(qkv.shape[0], num_heads * described.head_dim)
        table = (_QueryRun * len(runs))(
            *(_QueryRun(run.block_table.data_ptr(), run.first_row, run.num_tokens, run.start) for run in runs)
        )
        scale = described.head_dim**-0.5
        self._lib.arm_attention(
            qkv.data_ptr(), qkv.shape[1], table, len(runs), num_heads, ctypes.byref(described), scale, out.data_ptr()
        )
        return out

    def _described(self, parts: Sequence[GroupedMatrix]) -> ctypes.Array[_Matrix]:
        key = tuple(id(part) for part in parts)
        found = self._matrices.get(key)
        if found is None:
            # The parts are kept with their description, so that no id and no address can come to mean another matrix.
            described = (_Matrix * len(parts))(*(_describe_matrix(part) for part in parts))
            found = self._matrices[key] = (tuple(parts), described)
        return found[1]


def _describe_matrix(matrix: GroupedMatrix) -> _Matrix:
    return _Matrix(
        matrix.weights.data_ptr(),
        matrix.scales.data_ptr(),
        None if matrix.minimums is None else matrix.minimums.data_ptr(),
        matrix.num_rows,
        matrix.bits,
        matrix.group_size,
        matrix.zero,
        int(matrix.scales.element_size() == 2),
    )


def _describe_cache(cache: LayerCache) -> _Cache:
    _, num_kv_heads, head_dim, block_size = cache.keys.shape
    assert head_dim % (2 * LANES) == 0, f"heads of {head_dim}"
    assert head_dim <= MAX_HEAD_DIM, f"heads of {head_dim}"
    return _Cache(cache.keys.data_ptr(), cache.values.data_ptr(), num_kv_heads, head_dim, block_size)
