from __future__ import annotations

import pyarrow as pa
import pytest

from halfbyte.conversion.columns import check_field_name, class_column, type_cells, value_column
from halfbyte.errors import SourceError


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2", "+3", ""], [1, -2, 3, None]),
        (["9223372036854775807"], [9223372036854775807]),
        (["9223372036854775808"], [9223372036854775808.0]),
        (
            ["1", "2.5", ".5", "1e3", "nan", ""],
            [1.0, 2.5, 0.5, 1000.0, pytest.approx(float("nan"), nan_ok=True), None],
        ),
        (["true", "False", ""], [True, False, None]),
        (["007", "42"], ["007", "42"]),
        (["1", "two", ""], ["1", "two", ""]),
        (["1_000", " 2"], ["1_000", " 2"]),
        (["", ""], ["", ""]),
        ([], []),
    ],
)
def test_cells_get_the_type_that_all_fit(cells: list[str], values: list[object]) -> None:
    typed = type_cells(cells)
    assert typed == values
    assert [type(value) for value in typed if isinstance(value, bool | int | str)] == [
        type(value) for value in values if isinstance(value, bool | int | str)
    ]


@pytest.mark.parametrize("name", ["", "image", "_key", "_anything"])
def test_names_of_the_format_are_refused(name: str) -> None:
    with pytest.raises(SourceError, match=r"here: field .*: rename the field"):
        check_field_name(name, where="here")


def test_column_without_a_value_is_text() -> None:
    assert value_column("n", [None, None], where="here").type == pa.string()


def test_class_names_are_sorted_as_folders_are() -> None:
    column, classes = class_column(pa.array(["b", "B", "a", None, "", "10", "9"]))
    assert classes == ("10", "9", "B", "a", "b")
    assert column.to_pylist() == [4, 2, 3, -1, -1, 0, 1]


def test_lists_of_labels_stay_lists() -> None:
    column = pa.array([["a", "b"], []])
    assert class_column(column) == (column, None)
