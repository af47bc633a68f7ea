"""What is advised, for figures whose bottleneck is known."""

from __future__ import annotations

from halfbyte.cli.bench_report import advice
from halfbyte.tuning import Measured, Throughput

SIZES = (100.0, 200.0, 400.0, 800.0)


def advised(
    *, link: float, decoding: float, model: float | None = None, scan_script: str = "standard"
) -> list[str]:
    """Images a second at full fidelity; decoding is proportional to bytes."""
    return advice(
        Throughput(
            SIZES,
            bandwidth=Measured(link * SIZES[-1], 1),
            decode={4: Measured(1 / decoding, 1)},
            step=None if model is None else Measured(1 / model, 1),
        ),
        threads=2,
        scan_script=scan_script,
    )


def test_a_model_that_is_slowest_needs_no_lower_fidelity() -> None:
    first, second = advised(link=500, decoding=400, model=100)
    assert first.startswith("The model limits training, at 100 images/s.")
    assert "(500 and 400 images/s)" in first
    assert "Read at full" in second


def test_a_slow_link_is_helped_by_the_highest_fidelity_that_keeps_up() -> None:
    lines = advised(link=100, decoding=1000, model=190)
    assert lines[0] == "The link limits full fidelity, at 100 images/s."
    assert lines[1] == "At fidelity 3, with 50.0 % of the bytes, the model sets the pace: 190 images/s."
    assert "Bandwidth()" in lines[2]


def test_a_link_that_is_too_slow_throughout() -> None:
    lines = advised(link=100, decoding=10_000, model=1900)
    assert lines[1] == (
        "It does so at every fidelity; fidelity 1 reads 12.5 % of the bytes and gives 800 images/s."
    )


def test_slow_decoding_names_its_own_knobs() -> None:
    lines = advised(link=1000, decoding=100, model=390)
    assert lines[0] == "Decoding limits full fidelity, at 100 images/s with 2 threads."
    assert lines[1].startswith("At fidelity 2, with 25.0 % of the bytes")
    assert any("dct_scaling=3" in line for line in lines)
    assert any("--scan-script spectral" in line for line in lines)
    assert not any("--scan-script" in line for line in advised(link=1e3, decoding=1, scan_script="spectral"))


def test_without_a_model_the_next_limit_counts() -> None:
    model = Throughput(
        SIZES,
        bandwidth=Measured(100 * 800.0, 1),
        decode={1: Measured(1 / 500, 1), 4: Measured(1 / 300, 1)},
    )
    lines = advice(model, threads=2, scan_script="standard")
    assert lines[0] == "The link limits full fidelity, at 100 images/s."
    assert lines[1].startswith("At fidelity 1, with 12.5 % of the bytes, that is no longer so: 500 images/s")
