"""The ledger as a table: every number is in its place."""

from __future__ import annotations

import pytest
import torch

from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.engine.units import format_ratio, format_share, format_size
from halfbyte.activations.policy.saved_tensor import Saver

MIB = 2**20
NORM = (Saver("NativeBatchNormBackward0", "input"),)
RELU = (Saver("ReluBackward0", "result"), Saver("ConvolutionBackward0", "input"))


@pytest.fixture
def ledger() -> Ledger:
    """Two steps of a small network."""
    ledger = Ledger()
    for _ in range(2):
        ledger.step()
        for path, size in (("stem.bn", (8, 64, 64, 64)), ("body.bn", (8, 64, 64, 64))):
            row = ledger.row(path, NORM, "JpegAct(optL)", dtype=torch.float32, size=size)
            ledger.pack(row, 8 * MIB, MIB, 0.002)
            ledger.error(row, 0.05 if path == "stem.bn" else 0.07, 1.0)
            ledger.unpack(row, 0.001)
        row = ledger.row("stem.relu", RELU, "Sfpr(8 bits, zvc)", dtype=torch.float32, size=(8, 64, 32, 32))
        ledger.pack(row, 2 * MIB, MIB // 2, 0.001)
        ledger.keep(ledger.row("", (), "", kind="held"), MIB)
        ledger.keep(ledger.row("", (), "", kind="exact", why="read by a loss"), 1024)
        ledger.keep(ledger.row("", (), "", kind="model"), 4 * MIB, calls=9)
    ledger.hold(5 * MIB)
    return ledger


def lines_with(report: str, *words: str) -> list[list[str]]:
    """Cells of the lines that hold all these words."""
    lines = [line for line in report.splitlines() if all(word in line for word in words)]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def test_by_savers(ledger: Ledger) -> None:
    first, second = lines_with(ledger.report(), "Act("), lines_with(ledger.report(), "Sfpr(")
    numbers = ["2", "8x64x64x64", "16.0 MiB", "2.00 MiB", "8.0x", "6.0 %", "7.0 %", "4.0 ms", "2.0 ms"]
    assert first == [["NativeBatchNorm.input", "JpegAct(optL)", *numbers]]
    numbers = ["1", "8x64x32x32", "2.00 MiB", "512.0 KiB", "4.0x", "-", "-", "1.0 ms", "0.0 ms"]
    assert second == [["Relu.result, Convolution.input", "Sfpr(8 bits, zvc)", *numbers]]


def test_by_module_is_in_order(ledger: Ledger) -> None:
    rows = lines_with(ledger.report(by="module"), "ms", "MiB", "x64x")
    assert [row[:3] for row in rows] == [
        ["stem.bn", "JpegAct(optL)", "1"],
        ["body.bn", "JpegAct(optL)", "1"],
        ["stem.relu", "Sfpr(8 bits, zvc)", "1"],
    ]


def test_by_codec_is_biggest_first(ledger: Ledger) -> None:
    ledger.pack(ledger.row("z", NORM, "Cast(float16)", size=(1,)), 200 * MIB, 100 * MIB, 0.0)
    rows = lines_with(ledger.report(by="codec"), "ms", "MiB", "x", "-")
    assert rows[0][0] == "Cast(float16)"
    assert lines_with(ledger.report(by="codec"), "JpegAct")[0][1:3] == ["2", "8x64x64x64"]


def test_by_tensor_lists_all(ledger: Ledger) -> None:
    report = ledger.report(by="tensor")
    assert [row[0] for row in lines_with(report, " ms")][:3] == ["stem.bn", "body.bn", "stem.relu"]
    assert lines_with(report, "stem.relu")[0][1:3] == ["Relu.result, Convolution.input", "Sfpr(8 bits, zvc)"]
    assert lines_with(report, "kept exact: read by a loss")[0][:2] == ["(outside of modules)", "(not known)"]
    assert lines_with(report, "(outside of modules)", "held by others")


def test_different_shapes_are_called_various(ledger: Ledger) -> None:
    row = ledger.row("stem.bn", NORM, "JpegAct(optL)", dtype=torch.float32, size=(4, 64, 64, 64))
    ledger.pack(row, 4 * MIB, MIB, 0.0)
    assert lines_with(ledger.report(), "Act(")[0][2:4] == ["2.5", "various"]


def test_totals_and_baselines(ledger: Ledger) -> None:
    report = ledger.report()
    assert report.startswith("Saved for backward, for one of 2 steps\n")
    # 19 MiB and 1 KiB before, 3.5 MiB and 1 KiB after.
    assert lines_with(report, "all activations")[0][1] == (
        "19.0 MiB → 3.50 MiB, 5.4x (over float32 5.4x, over bfloat16 2.7x)"
    )
    assert lines_with(report, "packed at once")[0][1] == "at most 5.00 MiB"
    assert lines_with(report, "time")[0][1] == "packing 5.0 ms, unpacking 2.0 ms"


def test_baselines_know_the_types() -> None:
    ledger = Ledger()
    ledger.pack(ledger.row("a", NORM, "Sfpr()", dtype=torch.bfloat16), 800, 400, 0.0)
    assert "400 B, 2.0x (over float32 4.0x, over bfloat16 2.0x)" in ledger.report()


def test_what_was_kept_is_listed_with_its_reason(ledger: Ledger) -> None:
    ledger.keep(ledger.row("q", (), "", kind="exact"), 2 * MIB)
    ledger.pack(ledger.row("q", NORM, "Sfpr(8 bits)", why="not a map"), 2 * MIB, MIB, 0.0)
    report = ledger.report()
    assert [row[1] for row in lines_with(report, "kept exact")] == [
        "1.00 MiB in 0.5 tensors: by policy",
        "1.00 KiB in 1 tensor: read by a loss",
    ]
    assert lines_with(report, "held by others")[0][1].startswith("1.00 MiB in 1 tensor: ")
    assert lines_with(report, "model")[0][1].startswith("4.00 MiB in 9 tensors: parameters")
    assert lines_with(report, "packed otherwise")[0][1] == "1.00 MiB in 0.5 tensors: not a map"


def test_a_report_is_plain_text(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    ledger.pack(ledger.row("[red]a[/red]:smile:", NORM, "Sfpr()"), 9, 3, 0.0)
    report = ledger.report(by="module")
    assert "\x1b" not in report
    assert "[red]a[/red]:smile:" in report
    assert all(line == line.rstrip() for line in report.splitlines())


def test_an_empty_ledger_has_a_report() -> None:
    assert "0 B → 0 B, 1.0x" in Ledger().report()


def test_an_unknown_grouping_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"report\(by='layer'\): expected one of 'savers', 'module', 'codec', 'tensor'"
    ):
        Ledger().report(by="layer")  # type: ignore[arg-type]


def test_sizes_as_people_read_them() -> None:
    sizes = [0, 1023, 1024, 9.41 * 1024, 1023.96 * 1024, 125.8 * MIB, 5 * 2**40, 5000 * 2**40]
    expected = ["0 B", "1023 B", "1.00 KiB", "9.41 KiB", "1.00 MiB", "125.8 MiB", "5.00 TiB", "5000.0 TiB"]
    assert [format_size(size) for size in sizes] == expected


def test_ratios_and_shares_as_people_read_them() -> None:
    assert [format_ratio(r) for r in (1, 6.64, 99.96, float("inf"))] == ["1.0x", "6.6x", "100x", "∞"]
    shares = [None, 0.0, 1e-5, 0.00917, 0.09, 0.16, float("inf")]
    expected = ["-", "0", "< 0.01 %", "0.92 %", "9.0 %", "16 %", "inf"]
    assert [format_share(share) for share in shares] == expected
