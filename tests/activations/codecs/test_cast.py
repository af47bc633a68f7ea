"""Floats in half the bytes."""

from __future__ import annotations

import pytest
import torch
from tensors import assert_same, normal, odd_tensors
from torch import Tensor

from halfbyte.activations.codecs.cast import Cast, Half

BOUNDS: dict[Half, tuple[float, float]] = {"bfloat16": (2**-8, 2**-134), "float16": (2**-11, 2**-25)}


@pytest.mark.parametrize("to", ["bfloat16", "float16"])
def test_cast_is_what_torch_does(to: Half) -> None:
    for x in odd_tensors(normal()):
        packed = Cast(to).encode(x)
        assert packed.nbytes == 2 * packed.layout.numel
        assert packed.why == ""
        assert_same(packed.decode(), x.to(getattr(torch, to)).float(), like=x)


@pytest.mark.parametrize("to", ["bfloat16", "float16"])
def test_error_keeps_its_bound(to: Half) -> None:
    relative, absolute = BOUNDS[to]
    x = normal()(100_000) * torch.logspace(-45, 4, 100_000, dtype=torch.float64).float()
    error = (Cast(to).encode(x).decode().double() - x.double()).abs()
    assert bool((error <= (x.double().abs() * relative).clamp_min(absolute)).all())
    assert bool((error > x.double().abs() * relative / 2).any())


@pytest.mark.parametrize(
    ("to", "x"),
    [
        ("float16", torch.tensor([1.0, 65520.0])),
        ("float16", torch.tensor([-65520.0, 1.0, float("nan")])),
        ("float16", torch.tensor([1e5, float("inf")])),
        ("bfloat16", torch.tensor([3.3999e38])),
    ],
)
def test_too_large_numbers_are_kept_exact(to: Half, x: Tensor) -> None:
    packed = Cast(to).encode(x)
    assert packed.why == f"too large for {to}"
    assert packed.nbytes == x.nbytes
    assert_same(packed.decode(), x)


@pytest.mark.parametrize("to", ["bfloat16", "float16"])
def test_infinities_and_nan_stay(to: Half) -> None:
    x = torch.tensor([float("inf"), -float("inf"), float("nan"), 65504.0 if to == "float16" else 1.0, -0.0])
    packed = Cast(to).encode(x)
    assert packed.nbytes == x.nbytes // 2
    assert torch.equal(packed.decode().nan_to_num(7), x.nan_to_num(7))
    assert bool(packed.decode()[2].isnan())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("to", ["bfloat16", "float16"])
def test_tensors_of_16_bits_are_kept_exact(dtype: torch.dtype, to: Half) -> None:
    for x in odd_tensors(normal(), dtype):
        packed = Cast(to).encode(x)
        assert packed.why == f"{dtype} has 16 bits already"
        assert_same(packed.decode(), x)


def test_what_is_written_to_results_does_not_matter() -> None:
    packed = Cast().encode(torch.full((2,), 1e38))
    kept = Cast("float16").encode(torch.full((2,), 1e38))
    for each in (packed, kept):
        before = each.decode().clone()
        each.decode().zero_()
        assert torch.equal(each.decode(), before)


def test_other_types_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Cast to 'int8', expected one of \['bfloat16', 'float16'\]"):
        Cast("int8")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Cast\(bfloat16\) encodes float32, .* not torch.float64"):
        Cast().encode(torch.ones(3, dtype=torch.float64))


def test_damaged_elements_are_refused() -> None:
    packed = Cast().encode(torch.ones(10))
    packed.parts = (packed.parts[0][:9],)
    with pytest.raises(ValueError, match="damaged: 9 elements, expected 10"):
        packed.decode()


def test_it_has_a_name_and_an_option() -> None:
    assert str(Cast("float16")) == "Cast(float16)"
    assert Cast().to_dict() == {"codec": "Cast", "to": "bfloat16"}
