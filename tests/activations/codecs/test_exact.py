"""Tensors kept as they are, and tensors of which only the shape is."""

from __future__ import annotations

import pytest
import torch
from tensors import FLOATS, LAYOUTS, assert_same, normal

from halfbyte.activations.codecs.exact import Exact
from halfbyte.activations.codecs.shape import ShapeOnly

ANY_TYPE = (*FLOATS, torch.float64, torch.int64, torch.bool, torch.complex64)


@pytest.mark.parametrize("dtype", ANY_TYPE)
@pytest.mark.parametrize("name", LAYOUTS)
def test_shape_only_keeps_no_bytes(name: str, dtype: torch.dtype) -> None:
    x = LAYOUTS[name](normal()).to(dtype)
    packed = ShapeOnly().encode(x)
    decoded = packed.decode()
    assert packed.nbytes == 0
    assert (decoded.shape, decoded.dtype, decoded.device) == (x.shape, x.dtype, x.device)
    if packed.layout.order == tuple(sorted(packed.layout.order)):
        assert not decoded.any()
        assert decoded.untyped_storage().nbytes() == x.element_size()
    else:
        assert decoded.stride() == packed.layout.restored_stride


@pytest.mark.parametrize("dtype", ANY_TYPE)
@pytest.mark.parametrize("name", LAYOUTS)
def test_exact_keeps_every_bit(name: str, dtype: torch.dtype) -> None:
    x = LAYOUTS[name](lambda *size: normal()(*size).to(dtype))
    packed = Exact().encode(x)
    assert packed.decode().shape == x.shape
    assert packed.decode().dtype == dtype
    assert torch.equal(packed.decode(), x)
    assert packed.nbytes <= 2 * packed.layout.numel * x.element_size()


def test_exact_is_an_alias() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    packed = Exact().encode(x)
    assert packed.decode().data_ptr() == x.data_ptr()
    assert not packed.decode().requires_grad
    assert packed.nbytes == 48


@pytest.mark.parametrize(("columns", "copied"), [(20, False), (19, True)])
def test_small_parts_of_large_storages_are_copied(columns: int, copied: bool) -> None:
    whole = torch.randn(10, 40)
    x = whole[:, :columns]
    packed = Exact().encode(x)
    assert (packed.decode().data_ptr() != whole.data_ptr()) == copied
    assert packed.nbytes == (10 * columns * 4 if copied else 10 * 40 * 4)
    assert torch.equal(packed.decode(), x)


def test_dense_parts_of_large_storages_are_copied() -> None:
    whole = torch.randn(10, 40)
    packed = Exact().encode(whole[3:5])
    assert_same(packed.decode(), whole[3:5])
    assert packed.nbytes == 2 * 40 * 4


@pytest.mark.parametrize("name", LAYOUTS)
def test_exact_holds_a_mask(name: str) -> None:
    x = LAYOUTS[name](normal())
    packed = Exact().encode(x)
    assert packed.codec.holds_mask(packed)
    assert_same(packed.mask(), (x > 0).float(), like=x)


def test_exact_holds_no_mask_of_complex_numbers() -> None:
    packed = Exact().encode(torch.ones(3, dtype=torch.complex64))
    assert not packed.codec.holds_mask(packed)


@pytest.mark.parametrize("codec", [Exact(), ShapeOnly()])
def test_they_have_names_and_options(codec: Exact | ShapeOnly) -> None:
    name = type(codec).__name__
    assert str(codec) == name
    assert codec.to_dict() == {"codec": name}


def test_lossless_says_what_it_means() -> None:
    assert Exact.lossless
    assert not ShapeOnly.lossless
