from __future__ import annotations

import numpy as np
import pytest

from halfbyte.keyed.indices import check_inside, whole_numbers


def test_integers_of_any_kind_become_int64() -> None:
    for values in (3, [3], (3,), np.uint8(3), np.array([[3]], dtype=np.int16)):
        numbers = whole_numbers(values, "positions")
        assert numbers.dtype == np.int64
        assert numbers.tolist() == [3]


def test_nothing_becomes_empty() -> None:
    assert whole_numbers([], "positions").tolist() == []
    assert check_inside([], 0, "position").tolist() == []


@pytest.mark.parametrize("values", [[1.5], [True], ["a"]])
def test_other_kinds_are_refused(values: list[object]) -> None:
    with pytest.raises(TypeError, match=r"positions are .*, expected integers; convert them"):
        whole_numbers(values, "positions")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, 10])
def test_value_outside_is_named(value: int) -> None:
    with pytest.raises(IndexError, match=rf"position {value} is outside \[0, 10\); ask for one that exists"):
        check_inside([3, value], 10, "position")
