"""``halfbyte bench``: what limits training on a data set here, and which knob to turn."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfbyte.cli.options import DatasetPath, Debug, Json, rate_option
from halfbyte.cli.screen import print_json, print_text
from halfbyte.cli.sizes import format_count, format_duration, format_rate
from halfbyte.errors import HalfbyteError

if TYPE_CHECKING:
    from halfbyte.loader.dataset import Dataset
    from halfbyte.tuning.measured import Measured

__all__ = ["bench"]

# Shares of the time: reading, decoding, and Loaders at three fidelities.
_READING, _DECODING, _LOADING = 0.2, 0.3, 0.5


def bench(
    path: DatasetPath,
    *,
    seconds: Annotated[float, typer.Option(min=1, help="To measure for, about.")] = 20,
    crop: Annotated[int, typer.Option(min=1, help="Side of the images for the model, in pixels.")] = 224,
    batch_size: Annotated[int, typer.Option(min=1, help="Images a step.")] = 64,
    step_ms: Annotated[
        float | None, typer.Option(metavar="MS", help="What a step of your model takes, in milliseconds.")
    ] = None,
    images_per_second: Annotated[
        float | None, typer.Option(metavar="N", help="What your model takes instead, in images a second.")
    ] = None,
    bandwidth: Annotated[
        int | None,
        typer.Option(
            metavar="RATE", parser=rate_option, help="Read through a slower link, such as 10MB/s, for trial."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="That decode; as many as there are cores if left out.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure reading, decoding and the Loader on a data set here; say what limits training and what helps.

    Predicts the pace of training at each fidelity: the least of what the link brings, what the cores decode
    and, if you say so by --step-ms or --images-per-second, what your model takes. Nothing is written. Files
    that were read lately come from memory: --bandwidth tries what a slower link would do.
    """
    started = time.monotonic()
    step = _step(step_ms, batch_size, images_per_second)
    if importlib.util.find_spec("torch") is None:
        raise HalfbyteError(
            "the bench needs torch, which this Python does not have; pip install 'halfbyte[torch]'"
        )
    say: Callable[[str], None] = (lambda _: None) if json else print_text
    dataset = _open(path, crop, bandwidth)
    result = _measure(
        dataset,
        _open(path, crop, None),
        seconds=seconds,
        batch_size=batch_size,
        threads=threads or len(os.sched_getaffinity(0)),
        step=step,
        say=say,
    )
    result |= {"path": str(path), "num_samples": len(dataset), "crop": crop, "batch_size": batch_size}
    result |= {"seconds": time.monotonic() - started}
    if json:
        print_json(result)
        return
    from halfbyte.cli.bench_report import print_report

    print_report(result)
    print_text(f"\nThe bench took {format_duration(result['seconds'])}.")


def _step(step_ms: float | None, batch_size: int, images_per_second: float | None) -> Measured | None:
    """Seconds a sample of the model, if it is known."""
    if step_ms is None and images_per_second is None:
        return None
    if step_ms is not None and images_per_second is not None:
        raise typer.BadParameter("--step-ms and --images-per-second say the same: leave one out")
    from halfbyte.tuning.measured import Measured

    given = step_ms if step_ms is not None else images_per_second
    assert given is not None
    try:
        return Measured(step_ms / 1000 / batch_size if step_ms is not None else 1 / given, 1)
    except (ValueError, ZeroDivisionError):
        name = "--step-ms" if step_ms is not None else "--images-per-second"
        raise typer.BadParameter(f"{name} is {given:g}: give a number above 0") from None


def _open(path: Path, crop: int, bandwidth: int | None) -> Dataset:
    import halfbyte

    store: Any = halfbyte.LocalStore(path)
    view = halfbyte.Transform(halfbyte.RandomResizedCrop(crop), flip=0.5)
    dataset = halfbyte.open(
        store if bandwidth is None else halfbyte.ThrottledStore(store, bandwidth),
        transform=view,
        on_error="skip",
    )
    if len(dataset) == 0:
        raise HalfbyteError(f"{path}: holds no sample; there is nothing to measure")
    return dataset


def _measure(
    dataset: Dataset,
    near: Dataset,
    *,
    seconds: float,
    batch_size: int,
    threads: int,
    step: Measured | None,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Measure one thing after the other; ``near`` is the data set without the link, to decode from."""
    from halfbyte.cli import bench_measure, bench_report
    from halfbyte.tuning.throughput import Throughput, sample_bytes

    link = bench_measure.link(dataset.records, _READING * seconds)
    say(bench_report.about_link(link))
    decode = bench_measure.decoding(near, _DECODING * seconds, threads)
    full = dataset.num_levels
    model = Throughput(sample_bytes(dataset), link.bandwidth, decode, step)
    say(
        f"Decoding: {model.decoding(full):,.0f} images/s at full fidelity "
        f"(± {100 * decode[full].spread:.0f} %) and {model.decoding(1):,.0f} images/s at fidelity 1, "
        f"with {format_count(threads, 'thread')}."
    )
    trials, notes = {}, []
    levels = sorted({1, (full + 1) // 2, full})
    share = _LOADING * seconds / len(levels)
    for k in levels:
        if bench_measure.seconds_to_start(dataset, k, link.bandwidth.value) > share:
            notes.append(
                f"The Loader was not tried at fidelity {k}: two records take longer than {share:.1f} s at "
                f"{format_rate(link.bandwidth.value)}; give more --seconds."
            )
            continue
        trials[k] = bench_measure.trial(
            dataset,
            k,
            seconds=share,
            batch_size=batch_size,
            threads=threads,
            step=step.value if step else None,
        )
    script = str(dataset.records.manifest.scan_script.get("name", "custom"))
    return {
        "threads": threads,
        **bench_report.document(model, link, trials),
        "notes": notes,
        "advice": bench_report.advice(model, threads=threads, scan_script=script),
    }
