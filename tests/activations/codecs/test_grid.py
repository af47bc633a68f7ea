"""Grids of errors: numbers that float32 holds, and bounds that are never exceeded."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from halfbyte.activations.codecs.grid import Grid, grid_of


@given(bound=st.floats(min_value=2.0**-120, allow_infinity=False), signs=st.booleans())
def test_bound_is_the_greatest_of_float32_below(*, bound: float, signs: bool) -> None:
    grid = grid_of(bound, signs=signs)
    below = torch.tensor(min(bound, 2.0**124), dtype=torch.float64).float()
    if float(below) > bound:
        below = torch.nextafter(below, torch.zeros(()))
    step = 2 * below
    assert grid == Grid(float(below), float(step), float(step.reciprocal()), float(below) if signs else 0)
    for number in (step, step.reciprocal()):
        assert torch.finfo(torch.float32).tiny <= float(number) < torch.inf


@given(st.floats(min_value=0, max_value=2.0**-120, exclude_min=True, exclude_max=True))
def test_tiny_bounds_leave_zeros_only(bound: float) -> None:
    assert grid_of(bound) == Grid(0, 0, 0, 0)
