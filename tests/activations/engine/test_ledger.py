"""The ledger adds up what it is told, from any thread."""

from __future__ import annotations

import gc
import json
import math
import threading

import pytest
import torch

from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.engine.row import Row, Sums, ratio_of
from halfbyte.activations.policy.saved_tensor import Saver

NORM = (Saver("NativeBatchNormBackward0", "input"),)


def test_sums_are_kept_by_row() -> None:
    ledger = Ledger()
    first, second = ledger.row("a", NORM, "Sfpr()"), ledger.row("b", NORM, "Sfpr()")
    ledger.pack(first, 100, 25, 0.5)
    ledger.pack(first, 100, 15, 0.25)
    ledger.unpack(first, 0.125)
    ledger.pack(second, 10, 10, 1.0)
    assert (first.calls, first.before, first.after, first.pack_seconds) == (2, 200, 40, 0.75)
    assert (first.unpacks, first.unpack_seconds) == (1, 0.125)
    assert (second.calls, second.before, second.unpacks) == (1, 10, 0)


def test_like_tensors_share_a_row() -> None:
    ledger = Ledger()
    row = ledger.row("a", NORM, "Sfpr()", dtype=torch.float32, size=(2, 3))
    assert ledger.row("a", NORM, "Sfpr()", dtype=torch.float32, size=(2, 3)) is row
    others = [
        ledger.row("b", NORM, "Sfpr()", dtype=torch.float32),
        ledger.row("a", (), "Sfpr()", dtype=torch.float32),
        ledger.row("a", NORM, "Cast()", dtype=torch.float32),
        ledger.row("a", NORM, "Sfpr()", dtype=torch.bfloat16),
        ledger.row("a", NORM, "Sfpr()", dtype=torch.float32, kind="exact"),
        ledger.row("a", NORM, "Sfpr()", dtype=torch.float32, why="not a map"),
    ]
    assert len({id(row), *map(id, others)}) == 7


def test_measurements_in_a_reason_make_no_rows() -> None:
    ledger = Ledger()
    rows = [
        ledger.row("a", NORM, "Sfpr()", why=f"DCT does not pay ({bits} bits an element)") for bits in range(9)
    ]
    assert set(rows) == {rows[0]}
    assert rows[0].why == "DCT does not pay"
    assert ledger.row("a", NORM, "Sfpr()", why="not smaller as Cast(float16)").why.endswith("Cast(float16)")


def test_a_size_is_told_while_all_have_it() -> None:
    ledger = Ledger()
    row = ledger.row("a", NORM, "Sfpr()", size=torch.Size((8, 3)))
    assert row.size == (8, 3)
    ledger.row("a", NORM, "Sfpr()", size=(5, 3))
    assert row.size is None
    ledger.row("a", NORM, "Sfpr()", size=(8, 3))
    assert row.size is None


def test_totals_leave_the_model_out() -> None:
    ledger = Ledger()
    ledger.pack(ledger.row("a", NORM, "Sfpr()"), 400, 100, 0.0)
    ledger.keep(ledger.row("a", NORM, "", kind="held"), 30)
    ledger.keep(ledger.row("a", NORM, "", kind="exact", why="small"), 20, calls=3)
    ledger.keep(ledger.row("", (), "", kind="model"), 5000, calls=7)
    total = ledger.totals()
    assert (total.calls, total.before, total.after) == (5, 450, 150)
    assert ledger.ratio == 3.0
    assert (ledger.totals("model").calls, ledger.totals("model").before) == (7, 5000)
    assert ledger.totals("packed", "held").before == 430


def test_errors_are_kept_as_mean_and_worst() -> None:
    ledger = Ledger()
    row = ledger.row("a", NORM, "Sfpr()")
    assert row.relative_mean is None
    ledger.error(row, 0.1, 5.0)
    ledger.error(row, 0.3, 2.0)
    ledger.error(row, math.nan, math.nan)
    assert row.relative_mean == pytest.approx(0.2)
    assert (row.samples, row.relative_max, row.largest) == (2, 0.3, 5.0)


def test_peak_is_the_most_held_at_once() -> None:
    ledger = Ledger()
    ledger.hold(10)
    ledger.hold(20)
    ledger.drop(10)
    ledger.hold(5)
    assert (ledger.held_bytes, ledger.peak_bytes) == (25, 30)


def test_reset_keeps_what_is_alive_and_rows_handed_out() -> None:
    ledger = Ledger()
    row = ledger.row("a", NORM, "Sfpr()")
    ledger.step()
    ledger.pack(row, 100, 10, 1.0)
    ledger.error(row, 0.5, 1.0)
    ledger.hold(50)
    ledger.drop(40)
    ledger.reset()
    assert (ledger.steps, ledger.held_bytes, ledger.peak_bytes) == (0, 10, 10)
    assert ledger.rows() == []
    ledger.pack(row, 7, 7, 0.0)
    assert [r.to_dict()["before"] for r in ledger.rows()] == [7]
    assert (row.samples, row.pack_seconds) == (0, 0.0)


def test_no_count_is_lost_between_threads() -> None:
    ledger = Ledger()
    row = ledger.row("a", NORM, "Sfpr()")

    def work() -> None:
        for _ in range(2000):
            ledger.pack(row, 3, 2, 1.0)
            ledger.hold(2)
            ledger.unpack(ledger.row("a", NORM, "Sfpr()"), 1.0)
            ledger.drop(2)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (row.calls, row.before, row.after, row.pack_seconds) == (8000, 24000, 16000, 8000.0)
    assert (row.unpacks, ledger.held_bytes) == (8000, 0)


def test_a_finalizer_may_drop_in_the_midst_of_another_call() -> None:
    """Under the lock garbage may be collected, and collected slots drop their bytes on the same thread."""
    ledger = Ledger()
    ledger.hold(10)

    class Slot:
        def __init__(self) -> None:
            self.myself = self

        def __del__(self) -> None:
            ledger.drop(10)

    class Key(str):
        def __hash__(self) -> int:
            gc.collect()
            return 1

    Slot()
    caller = threading.Thread(target=lambda: ledger.row(Key("a"), NORM, "Sfpr()"), daemon=True)
    caller.start()
    caller.join(timeout=10)
    assert not caller.is_alive(), "the ledger waits for itself"
    assert ledger.held_bytes == 0


def test_json_holds_everything() -> None:
    ledger = Ledger()
    ledger.step()
    row = ledger.row("a", NORM, "Sfpr()", dtype=torch.float32, size=(2, 5))
    ledger.pack(row, 40, 10, 0.5)
    ledger.error(row, 0.25, 2.0)
    ledger.pack(ledger.row("b", NORM, "ShapeOnly()", why="shape"), 8, 0, 0.0)
    ledger.hold(10)
    told = json.loads(ledger.to_json())
    assert told == ledger.to_dict()
    assert (told["steps"], told["held_bytes"], told["peak_bytes"]) == (1, 10, 10)
    assert told["totals"]["activations"]["ratio"] == 4.8
    assert told["totals"]["packed"] == told["totals"]["activations"]
    assert told["totals"]["model"]["calls"] == 0
    first, second = told["rows"]
    assert first["savers"] == [["NativeBatchNormBackward0", "input"]]
    assert (first["dtype"], first["size"], first["relative_error"]) == ("float32", [2, 5], 0.25)
    assert (second["ratio"], second["relative_error"], second["why"]) == (None, None, "shape")


def test_the_ledger_in_one_line() -> None:
    ledger = Ledger()
    for _ in range(2):
        ledger.step()
        ledger.pack(ledger.row("a", NORM, "Sfpr()"), 4 * 2**20, 2**20, 0.0)
    ledger.hold(3 * 2**20)
    expected = "saved for backward: 4.00 MiB → 1.00 MiB a step (4.0x); at most 3.00 MiB packed at once"
    assert str(ledger) == expected
    assert expected in repr(ledger)


def test_a_notebook_gets_the_picture() -> None:
    ledger = Ledger()
    ledger.pack(ledger.row("a", NORM, "Sfpr()"), 40, 10, 0.5)
    assert ledger._repr_html_().startswith('<img src="data:image/svg+xml;base64,PHN2Zy')


@pytest.mark.parametrize(
    ("dtype", "float32", "bfloat16"),
    [
        (None, 800, 400),
        (torch.float32, 800, 400),
        (torch.bfloat16, 1600, 800),
        (torch.float64, 400, 200),
        (torch.int64, 800, 800),
        (torch.bool, 800, 800),
    ],
)
def test_bytes_before_as_another_type(dtype: torch.dtype | None, float32: int, bfloat16: int) -> None:
    row = Row("a", NORM, "Sfpr()", dtype=dtype)
    row.before = 800
    assert (row.before_at(4), row.before_at(2)) == (float32, bfloat16)


def test_ratio_at_the_edges() -> None:
    assert (ratio_of(0, 0), ratio_of(5, 0), ratio_of(6, 3)) == (1.0, math.inf, 2.0)
    assert Sums.of([]).ratio == 1.0
