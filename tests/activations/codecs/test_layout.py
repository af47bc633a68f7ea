"""Elements in memory order, and back."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensors import LAYOUTS, assert_same, normal
from torch import Tensor

from halfbyte.activations.codecs.layout import Layout


@st.composite
def strided(draw: st.DrawFn) -> Tensor:
    """Distinct integers, permuted, sliced, permuted again, some dimensions expanded."""
    size = draw(st.lists(st.integers(0, 5), max_size=4))
    x = torch.arange(math.prod(size)).view(size)
    x = x.permute(draw(st.permutations(range(x.dim()))))
    for d in range(x.dim()):
        step = draw(st.integers(1, 3))
        x = x[(slice(None),) * d + (slice(draw(st.integers(0, 1)), None, step),)]
    for _ in range(draw(st.integers(0, 2))):
        x = x.unsqueeze(draw(st.integers(0, x.dim())))
    x = x.permute(draw(st.permutations(range(x.dim()))))
    return x.expand([draw(st.integers(1, 4)) if n == 1 and draw(st.booleans()) else n for n in x.shape])


def is_dense(x: Tensor) -> bool:
    """Whether the stored elements are a gapless stretch of memory, each once."""
    stored = [(stride, n) for n, stride in zip(x.shape, x.stride(), strict=True) if n > 1 and stride > 0]
    step = 1
    for stride, n in sorted(stored):
        if stride != step:
            return False
        step *= n
    return True


@given(strided())
def test_restored_equals_the_tensor(x: Tensor) -> None:
    layout = Layout(x)
    restored = layout.restore(layout.flat(x))
    assert restored.shape == x.shape
    assert torch.equal(restored, x)


@given(strided())
def test_flat_holds_each_element_once(x: Tensor) -> None:
    layout = Layout(x)
    flat = layout.flat(x)
    assert flat.shape == (layout.numel,)
    assert flat.stride() == (1,)
    assert flat.sort().values.tolist() == x.unique().tolist()


@given(strided())
def test_dense_tensors_are_aliased_and_keep_their_strides(x: Tensor) -> None:
    layout = Layout(x)
    assert layout.dense == (is_dense(x) or x.numel() == 0)
    if layout.dense:
        assert layout.flat(x).data_ptr() == x.data_ptr()
        assert layout.restore(torch.empty(layout.numel, dtype=layout.dtype)).stride() == x.stride()


@given(strided())
def test_gaps_are_closed_in_the_same_order(x: Tensor) -> None:
    restored = Layout(x).restore(torch.empty(Layout(x).numel, dtype=x.dtype))
    assert is_dense(restored) or x.numel() == 0
    for d in range(x.dim()):
        for e in range(x.dim()):
            if x.numel() and x.size(d) > 1 and x.size(e) > 1 and x.stride(d) < x.stride(e):
                assert restored.stride(d) < restored.stride(e)


@given(strided(), st.data())
def test_around_puts_a_dimension_in_the_middle(x: Tensor, data: st.DataObject) -> None:
    if x.dim() == 0:
        return
    dim = data.draw(st.integers(-x.dim(), x.dim() - 1))
    layout = Layout(x)
    middle = layout.flat(x).view(layout.around(dim))
    stored_once = x.stride(dim) == 0 and not x.is_contiguous()
    assert middle.size(1) == (1 if stored_once and x.size(dim) > 1 else x.size(dim))
    for i in range(middle.size(1)):
        assert torch.equal(middle[:, i].unique(), x.select(dim, i).unique())


@pytest.mark.parametrize(
    ("size", "format", "dim", "expected"),
    [
        ((2, 3, 4, 5), torch.contiguous_format, 1, (2, 3, 20)),
        ((2, 3, 4, 5), torch.channels_last, 1, (40, 3, 1)),
        ((2, 3, 4, 5), torch.channels_last, 0, (1, 2, 60)),
        ((2, 3, 4, 5), torch.contiguous_format, -1, (24, 5, 1)),
        ((2, 0, 4, 5), torch.contiguous_format, 1, (2, 0, 20)),
    ],
)
def test_around_counts(
    size: tuple[int, ...], format: torch.memory_format, dim: int, expected: tuple[int, ...]
) -> None:
    assert Layout(torch.empty(size, memory_format=format)).around(dim) == expected


@pytest.mark.parametrize("dim", [-3, 2])
def test_around_refuses_dimensions_that_are_not_there(dim: int) -> None:
    with pytest.raises(IndexError, match=f"dimension {dim} of a tensor of 2 dimensions"):
        Layout(torch.empty(2, 3)).around(dim)


def test_around_refuses_a_scalar() -> None:
    with pytest.raises(IndexError, match="dimension 0 of a tensor of 0 dimensions"):
        Layout(torch.tensor(1.0)).around(0)


@pytest.mark.parametrize("name", LAYOUTS)
def test_named_layouts_survive(name: str) -> None:
    x = LAYOUTS[name](normal())
    layout = Layout(x)
    assert_same(layout.restore(layout.flat(x)), x)


def test_overlapping_rows_come_back_compact() -> None:
    windows = torch.arange(6.0).as_strided((4, 3), (1, 1))
    layout = Layout(windows)
    restored = layout.restore(layout.flat(windows))
    assert torch.equal(restored, windows)
    assert restored.is_contiguous()


@pytest.mark.parametrize("dense", [True, False])
def test_lazily_negated_tensors_are_read_by_value(dense: bool) -> None:
    x = torch.randn(8, dtype=torch.complex64).conj().imag
    x = x if dense else x[::2]
    assert x.is_neg()
    flat = Layout(x).flat(x)
    assert not flat.is_neg()
    assert torch.equal(flat, x.clone())


def test_expanded_elements_are_stored_once() -> None:
    layout = Layout(torch.randn(1, 5, 1).expand(4, 5, 6))
    assert layout.numel == 5
    assert layout.restore(torch.empty(layout.numel, dtype=layout.dtype)).stride() == (0, 1, 0)
