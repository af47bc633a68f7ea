"""The reference DCT against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import fft

from halfbyte.activations.codecs.reference.dct import factor, forward_dct, inverse_dct, round_to_integers

POINTS = range(1, 9)


def factors(points: int) -> torch.Tensor:
    return torch.tensor([factor(points, k) for k in range(points)], dtype=torch.float64)


@pytest.mark.parametrize("points", POINTS)
def test_forward_is_orthonormal_up_to_the_factors(points: int) -> None:
    x = torch.randint(-128, 128, (1000, points), generator=torch.Generator().manual_seed(points)).float()
    expected = fft.dct(x.double().numpy(), norm="ortho", axis=1)
    coefficients = forward_dct(x, 1).double() / factors(points)
    assert np.abs(coefficients.numpy() - expected).max() < 2e-4


@pytest.mark.parametrize("points", POINTS)
def test_inverse_undoes_forward(points: int) -> None:
    x = torch.randint(-128, 128, (points, 50), generator=torch.Generator().manual_seed(points)).float()
    scale = 8 if points == 8 else 1
    coefficients = fft.dct(x.double().numpy(), norm="ortho", axis=0)
    scaled = torch.from_numpy(coefficients) * (factors(points) / scale).view(-1, 1)
    assert torch.equal(round_to_integers(inverse_dct(scaled.float(), 0)), x)


@pytest.mark.parametrize("points", POINTS)
def test_a_constant_has_one_coefficient(points: int) -> None:
    coefficients = forward_dct(torch.ones(1, points), 1).double() / factors(points)
    assert coefficients[0, 0].item() == pytest.approx(points**0.5, rel=1e-7)
    assert (coefficients[0, 1:].abs() < 1e-7).all()


def test_rounding_takes_ties_to_even_and_leaves_no_negative_zero() -> None:
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 0.49, -0.49, 1000.5, -1024.0])
    rounded = round_to_integers(x)
    assert rounded.tolist() == [0, 2, 2, 0, -2, 0, 0, 1000, -1024]
    assert not torch.signbit(rounded[rounded == 0]).any()
