from __future__ import annotations

import math

import pytest

from halfbyte.tuning import Measured


def test_parts_have_a_mean_and_a_spread() -> None:
    figure = Measured.over([8.0, 12.0], 64)
    assert (figure.value, figure.count, figure.spread) == (10.0, 64, pytest.approx(0.2))
    assert Measured.over([5.0], 1).spread == 0


def test_a_newer_part_has_its_weight() -> None:
    figure = Measured(10.0, 5).then(14.0, 3, weight=0.25)
    assert (figure.value, figure.count) == (pytest.approx(11.0), 8)
    # The values 10 and 14 at weights 3/4 and 1/4.
    assert figure.spread == pytest.approx(math.sqrt(0.75 * 1 + 0.25 * 9) / 11)


def test_smoothing_forgets() -> None:
    figure = Measured(1000.0, 1)
    for _ in range(40):
        figure = figure.then(2.0, 1, weight=0.5)
    assert figure.value == pytest.approx(2.0)
    assert figure.spread < 1e-3


@pytest.mark.parametrize("values", [(0, 1), (-1, 1), (math.nan, 1), (math.inf, 1), (1, 0), (1, 1, -0.1)])
def test_what_measures_nothing_is_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="give a finite value"):
        Measured(*values)
