"""What the bench measured: a document, a table, and which knob to turn."""

from __future__ import annotations

from typing import Any

from halfbyte.cli.bench_measure import Link, Trial
from halfbyte.cli.screen import print_table, print_text
from halfbyte.cli.sizes import format_bytes, format_count, format_rate, format_share
from halfbyte.tuning.throughput import Limit, Throughput

__all__ = ["about_link", "advice", "document", "print_report"]

_ENOUGH = 0.95  # of the pace that is aimed at

_COLUMNS = (
    ("fidelity", "right"),
    ("an image", "right"),
    ("link", "right"),
    ("decoding", "right"),
    ("expected", "right"),
    ("limit", "left"),
    ("Loader", "right"),
    ("waiting", "right"),
)


def about_link(measured: Link) -> str:
    """What reading was like."""
    return (
        f"Reading: {format_rate(measured.bandwidth.value)} (± {100 * measured.bandwidth.spread:.0f} %) in "
        f"{measured.bandwidth.count:,} requests of {format_bytes(measured.request_bytes)}, "
        f"{1000 * measured.latency.value:.2f} ms for the first byte."
    )


def document(model: Throughput, measured: Link, trials: dict[int, Trial]) -> dict[str, Any]:
    """All figures as JSON values; seconds, bytes, images a second."""
    return {
        "bandwidth_bytes_per_s": measured.bandwidth.value,
        "bandwidth_spread": measured.bandwidth.spread,
        "requests": measured.bandwidth.count,
        "request_bytes": measured.request_bytes,
        "latency_s": measured.latency.value,
        "model_images_per_s": model.compute if model.step else None,
        "fidelities": [_row(model, k, trials.get(k)) for k in range(1, len(model.sizes) + 1)],
    }


def _row(model: Throughput, k: int, trial: Trial | None) -> dict[str, Any]:
    predicted = model.predict(k)
    return {
        "fidelity": k,
        "bytes_per_image": model.size(k),
        "link_images_per_s": model.link(k),
        "decoding_images_per_s": model.decoding(k),
        "decoding_spread": model.decode_at(k).spread,
        "expected_images_per_s": predicted.images_per_s,
        "limit": predicted.limit,
        "loader_images_per_s": trial.images_per_s if trial else None,
        "loader_waiting": trial.waiting if trial else None,
    }


def advice(model: Throughput, *, threads: int, scan_script: str) -> list[str]:
    """What limits training at full fidelity, and what helps."""
    full = len(model.sizes)
    predicted = model.predict(full)
    pace = f"{predicted.images_per_s:,.0f} images/s"
    if predicted.limit is Limit.MODEL:
        return [
            f"The model limits training, at {pace}. Link and cores keep up with it at full fidelity "
            f"({model.link(full):,.0f} and {model.decoding(full):,.0f} images/s).",
            "Read at full: fewer bytes would gain nothing.",
        ]
    lines = []
    if predicted.limit is Limit.LINK:
        lines += [
            f"The link limits full fidelity, at {pace}.",
            _lower(model),
            "While training, fidelity=halfbyte.tuning.Bandwidth() follows the link by itself.",
        ]
    else:
        lines += [
            f"Decoding limits full fidelity, at {pace} with {format_count(threads, 'thread')}.",
            _lower(model),
            "More cores and a smaller crop decode faster; so does Transform(dct_scaling=3) for large images.",
        ]
        if scan_script != "spectral":
            lines += [
                "Records made by `halfbyte convert --scan-script spectral` decode faster at full fidelity."
            ]
    return lines


def _lower(model: Throughput) -> str:
    """The highest fidelity that leaves another limit than the one of full, or as fast as can be."""
    full = len(model.sizes)
    limit = model.predict(full).limit
    levels = range(full - 1, 0, -1)
    if model.step is not None:
        good = [k for k in levels if model.supply(k) >= _ENOUGH * model.compute]
        then = "the model sets the pace"
    else:
        good = [k for k in levels if model.predict(k).limit is not limit]
        then = "that is no longer so" if limit is Limit.LINK else "the link limits it"
    k = good[0] if good else 1
    share = format_share(model.size(k), model.size(full))
    pace = f"{model.predict(k).images_per_s:,.0f} images/s"
    if not good:
        return f"It does so at every fidelity; fidelity 1 reads {share} of the bytes and gives {pace}."
    return f"At fidelity {k}, with {share} of the bytes, {then}: {pace}."


def print_report(result: dict[str, Any]) -> None:
    """The table, what its columns are, and the advice."""
    print_text()
    takes = result["model_images_per_s"]
    shown = _COLUMNS if takes else _COLUMNS[:-1]  # without a model, all but decoding is waiting
    print_table(shown, [_cells(row)[: len(shown)] for row in result["fidelities"]])
    print_text()
    model = f", and the model, which takes {takes:,.0f} images/s" if takes else ""
    print_text(
        "Images a second that the link brings, that the cores decode, and that are expected of training: the "
        f"least of both{model}. Loader: images a second, measured end to end"
        + (" with a model that sleeps, and the share of the time that it waited." if takes else ".")
    )
    for note in result["notes"]:
        print_text(note)
    print_text()
    for line in result["advice"]:
        print_text(line)


def _cells(row: dict[str, Any]) -> list[str]:
    trial = row["loader_images_per_s"]
    return [
        str(row["fidelity"]),
        format_bytes(row["bytes_per_image"]),
        f"{row['link_images_per_s']:,.0f}",
        f"{row['decoding_images_per_s']:,.0f}",
        f"{row['expected_images_per_s']:,.0f}",
        str(row["limit"]),
        "" if trial is None else f"{trial:,.0f}",
        "" if trial is None else format_share(row["loader_waiting"], 1),
    ]
