"""Every native kernel agrees with its eager twin, and gives a row the same bits alone and among others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from armillary.kernels.eager import EagerKernels
from armillary.kernels.grouped import GroupedMatrix, dequantize, pack
from armillary.kernels.interface import LayerCache, QueryRun, Rotation
from armillary.kernels.native import NativeKernels, instruction_sets, status

NUM_KV_HEADS, HEAD_DIM, NUM_HEADS = 2, 64, 14
pytestmark = pytest.mark.skipif(not instruction_sets(), reason="the native kernels were not built: no C++ compiler")


@pytest.fixture(params=instruction_sets())
def native(request: pytest.FixtureRequest) -> Iterator[NativeKernels]:
    yield NativeKernels(2, request.param)
    NativeKernels(1)


@pytest.fixture(autouse=True)
def fixed_randomness() -> None:
    torch.manual_seed(0)


def random_matrix(num_rows: int, num_columns: int, bits: int, group: int, *, half: bool, floor: bool) -> GroupedMatrix:
    dtype = torch.float16 if half else torch.float32
    q = torch.randint(0, 2**bits, (num_rows, num_columns), dtype=torch.uint8)
    scales = (torch.rand(num_rows, num_columns // group) * 0.01).to(dtype)
    minimums = (-torch.rand_like(scales, dtype=torch.float32) * 0.01).to(dtype) if floor else None
    return pack(q, scales, minimums, bits=bits, zero=2 ** (bits - 1))


MATRICES = [
    (bits, group, half, floor)
    for bits in (4, 5, 6, 8)
    for group, floor in ((16, False), (32, False), (32, True))
    for half in (True, False)
]


@pytest.mark.parametrize(("bits", "group", "half", "floor"), MATRICES)
def test_linear_agrees_with_its_twin(native: NativeKernels, bits: int, group: int, half: bool, floor: bool) -> None:
    parts = [random_matrix(rows, 192, bits, group, half=half, floor=floor) for rows in (48, 16)]
    x = torch.randn(13, 192)
    expected = EagerKernels().linear(x, parts)
    torch.testing.assert_close(native.linear(x, parts), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bits", [4, 5, 6, 8])
def test_linear_gives_a_row_the_same_bits_alone_and_among_others(native: NativeKernels, bits: int) -> None:
    parts = [random_matrix(64, 256, bits, 32, half=True, floor=False)]
    x = torch.randn(71, 256)
    together = native.linear(x, parts)
    alone = torch.cat([native.linear(row[None], parts) for row in x])
    assert torch.equal(together, alone)


def test_linear_stays_close_to_the_dequantised_product(native: NativeKernels) -> None:
    matrix = random_matrix(64, 512, 5, 32, half=True, floor=False)
    x = torch.randn(4, 512)
    exact = x @ dequantize(matrix).T
    error = (native.linear(x, [matrix]) - exact).norm() / exact.norm()
    assert error < 0.01


def test_two_terms_agree_with_their_twin(native: NativeKernels) -> None:
    parts = [random_matrix(rows, 192, 8, 32, half=True, floor=False) for rows in (48, 16)]
    x = torch.randn(5, 192)
    expected = EagerKernels().linear(x, parts, terms=2)
    torch.testing.assert_close(native.linear(x, parts, terms=2), expected, rtol=1e-5, atol=1e-5)


def test_two_terms_are_a_hundred_times_closer_to_the_dequantised_product(native: NativeKernels) -> None:
    matrix = random_matrix(64, 512, 5, 32, half=True, floor=False)
    x = torch.randn(4, 512)
    exact = x @ dequantize(matrix).T
    errors = [float((native.linear(x, [matrix], terms=terms) - exact).norm()) for terms in (1, 2)]
    assert errors[1] < errors[0] / 100


def test_two_terms_give_a_row_the_same_bits_alone_and_among_others(native: NativeKernels) -> None:
    parts = [random_matrix(64, 256, 8, 32, half=True, floor=False)]
    x = torch.randn(21, 256)
    alone = torch.cat([native.linear(row[None], parts, terms=2) for row in x])
    assert torch.equal(native.linear(x, parts, terms=2), alone)


def test_linear_of_zeros_is_zero(native: NativeKernels) -> None:
    matrix = random_matrix(16, 32, 4, 32, half=True, floor=True)
    assert torch.equal(native.linear(torch.zeros(2, 32), [matrix]), torch.zeros(2, 16))


@pytest.mark.parametrize("num_rows", [1, 9, 40])
def test_rms_norm_agrees_with_its_twin(native: NativeKernels, num_rows: int) -> None:
    x, weight = torch.randn(num_rows, 576), torch.rand(576)
    torch.testing.assert_close(native.rms_norm(x, weight, 1e-5), EagerKernels().rms_norm(x, weight, 1e-5))


def test_silu_mul_agrees_with_its_twin_on_large_and_small_values(native: NativeKernels) -> None:
    x = torch.randn(5, 2 * 4864) * 30
    torch.testing.assert_close(native.silu_mul(x), EagerKernels().silu_mul(x), rtol=2e-6, atol=1e-6)


def new_cache(num_blocks: int = 8) -> LayerCache:
    return LayerCache(
        torch.full((num_blocks, NUM_KV_HEADS, HEAD_DIM, 32), 1e30),
        torch.full((num_blocks, NUM_KV_HEADS, 32, HEAD_DIM), 1e30),
    )


def rotation_of(positions: torch.Tensor, table: torch.Tensor) -> Rotation:
    angles = positions[:, None] / 10_000 ** (torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    return Rotation(angles.cos(), angles.sin(), table.long()[positions // 32] * 32 + positions % 32)


@pytest.mark.parametrize("has_bias", [True, False])
def test_rotation_and_store_agree_with_their_twin(native: NativeKernels, has_bias: bool) -> None:
    width = (NUM_HEADS + 2 * NUM_KV_HEADS) * HEAD_DIM
    qkv, bias = torch.randn(70, width), torch.randn(width) if has_bias else None
    table = torch.tensor([5, 1, 7], dtype=torch.int32)
    results = []
    for kernels in (native, EagerKernels()):
        rotated, cache = qkv.clone(), new_cache()
        kernels.rotate_and_store(rotated, bias, cache, rotation_of(torch.arange(70), table))
        results.append((rotated[:, : NUM_HEADS * HEAD_DIM], cache.keys, cache.values))
    for ours, twin in zip(*results, strict=True):
        torch.testing.assert_close(ours, twin)


@pytest.mark.parametrize("start", [0, 1, 31, 32, 33, 60])
def test_attention_agrees_with_its_twin_and_reads_nothing_beyond(native: NativeKernels, start: int) -> None:
    # Slots that were never written hold 1e30: one read beyond the visible keys would show.
    table = torch.tensor([2, 6, 0, 4], dtype=torch.int32)
    cache = filled_cache(native, table, 100)
    queries = torch.randn(100 - start, (NUM_HEADS + 2 * NUM_KV_HEADS) * HEAD_DIM)
    runs = [QueryRun(table, 0, 100 - start, start)]
    ours = native.attention(queries, NUM_HEADS, cache, runs)
    torch.testing.assert_close(ours, EagerKernels().attention(queries, NUM_HEADS, cache, runs), rtol=1e-4, atol=1e-5)


def test_attention_gives_a_row_the_same_bits_alone_and_among_others(native: NativeKernels) -> None:
    first, second = torch.tensor([2, 6, 0, 4], dtype=torch.int32), torch.tensor([1, 3], dtype=torch.int32)
    cache = filled_cache(native, first, 100)
    for name in ("keys", "values"):
        getattr(cache, name)[second.long()] = torch.randn_like(getattr(cache, name)[second.long()])
    queries = torch.randn(43, (NUM_HEADS + 2 * NUM_KV_HEADS) * HEAD_DIM)
    together = native.attention(queries, NUM_HEADS, cache, [QueryRun(first, 0, 3, 90), QueryRun(second, 3, 40, 2)])
    alone = native.attention(queries[20:21].clone(), NUM_HEADS, cache, [QueryRun(second, 0, 1, 19)])
    assert torch.equal(together[20:21], alone)


def filled_cache(kernels: NativeKernels, table: torch.Tensor, length: int) -> LayerCache:
    cache = new_cache()
    qkv = torch.randn(length, (NUM_HEADS + 2 * NUM_KV_HEADS) * HEAD_DIM)
    kernels.rotate_and_store(qkv, None, cache, rotation_of(torch.arange(length), table))
    return cache


@pytest.mark.parametrize("head_dim", [32, 96, 128, 256])
def test_heads_of_other_sizes_agree_with_their_twin(native: NativeKernels, head_dim: int) -> None:
    assert native.can_run(head_dim, ())
    cache = LayerCache(torch.randn(3, 2, head_dim, 32), torch.randn(3, 2, 32, head_dim))
    queries, runs = (
        torch.randn(40, (16 + 4) * head_dim),
        [QueryRun(torch.tensor([2, 0, 1], dtype=torch.int32), 0, 40, 30)],
    )
    ours = native.attention(queries, 16, cache, runs)
    torch.testing.assert_close(ours, EagerKernels().attention(queries, 16, cache, runs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("head_dim", "widths"), [(16, ()), (48, ()), (80, ()), (100, ()), (512, ()), (64, (72,))])
def test_shapes_with_a_tail_are_not_run(native: NativeKernels, head_dim: int, widths: tuple[int, ...]) -> None:
    assert not native.can_run(head_dim, widths)


@pytest.mark.parametrize("width", [1, 65, 1000])
def test_a_row_with_a_tail_is_refused_before_memory_is_touched(native: NativeKernels, width: int) -> None:
    with pytest.raises(AssertionError):
        native.rms_norm(torch.ones(2, width), torch.ones(width), 1e-5)


def test_all_instruction_sets_with_fused_multiply_add_give_the_same_linear_bits() -> None:
    fused = [name for name in instruction_sets() if name != "portable"]
    matrix, x = random_matrix(32, 256, 5, 32, half=True, floor=False), torch.randn(5, 256)
    results = [NativeKernels(1, name).linear(x, [matrix]) for name in fused]
    NativeKernels(1)
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    matrix, x = random_matrix(512, 256, 8, 32, half=True, floor=False), torch.randn(33, 256)
    one, three = (NativeKernels(threads).linear(x, [matrix]) for threads in (1, 3))
    NativeKernels(1)
    assert torch.equal(one, three)


def test_status_names_the_instruction_set() -> None:
    assert instruction_sets()[0] in status()
