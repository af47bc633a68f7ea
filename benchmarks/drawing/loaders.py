"""Of results/loaders.json: a table a store, and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from drawing.figures import BLUES, GREY, INK, bare, headed
from drawing.markdown import table

OWN = dict(zip(("2", "5", "full"), BLUES, strict=True))  # by fidelity

Results = dict[str, Any]


def tables(document: Results) -> Iterator[str]:
    yield caption(document)
    for store, arms in document["results"].items():
        if arms:
            yield f"### {store}\n\n{store_table(arms)}"
    yield f"### Conversion\n\n{conversion_table(document)}"
    if missing := list(missing_lines(document)):
        yield "### Missing\n\n" + "\n".join(missing)


def caption(document: Results) -> str:
    machine, photos = document["machine"], document["photos"]
    return (
        f"{photos['images']:,} images, {photos['bytes'] / 1e6:.1f} MB ({photos['source']}); "
        f"{document['output']}; batch {document['batch']}, {document['workers']} workers or threads; "
        f"medians of {document['rounds']} rounds, ranges in brackets; "
        f"{machine['cpu']}, {machine['cores']} cores, commit {machine['commit']}."
    )


def store_table(arms: Results) -> str:
    head = (
        "loader",
        "images/s",
        "KB/image",
        "CPU s/1,000",
        "first batch s",
        "p50 ms",
        "p99 ms",
        "MB",
        "requests",
    )
    rows = []
    for name, arm in sorted(arms.items(), key=lambda pair: -pair[1].get("per_second", 0)):
        if "missing" in arm:
            continue
        low, high = arm["per_second_range"]
        size, requests = arm.get("bytes_per_image"), arm.get("requests")
        rows.append(
            (
                name,
                f"{arm['per_second']:,.0f} ({low:,.0f} to {high:,.0f})",
                "" if size is None else f"{size / 1e3:.1f}",
                f"{arm['cpu_seconds_per_1000']:.2f}",
                f"{arm['first_batch_seconds']:.2f}",
                f"{arm['wait_p50_ms']:.0f}",
                f"{arm['wait_p99_ms']:.0f}",
                f"{arm['peak_memory_mb']:,.0f}",
                "" if requests is None else f"{requests:,.0f}",
            )
        )
    return table(head, rows)


def conversion_table(document: Results) -> str:
    source = document["photos"]["bytes"]
    rows = []
    for name, peer in document["peers"].items():
        if "conversion" in peer:
            took = peer["conversion"]
            sizes = " + ".join(
                f"{size / 1e6:.1f} ({end})" for end, size in took["bytes"].items() if size > 1e5
            )
            share = sum(took["bytes"].values()) / source
            rows.append(
                (
                    name,
                    f"{took['seconds']:.1f}",
                    f"{took['cpu_seconds']:.1f}",
                    sizes,
                    f"{share:.3f}",
                    peer["link"],
                )
            )
    return table(("peer", "seconds", "CPU s", "MB on disk", "of the source", "over a link"), rows)


def missing_lines(document: Results) -> Iterator[str]:
    for name, peer in document["peers"].items():
        if "missing" in peer:
            yield f"- {name}: {one_line(peer['missing'])}"
    for store, arms in document["results"].items():
        for name, arm in arms.items():
            if "missing" in arm:
                yield f"- {name}, {store}: {one_line(arm['missing'])}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def draw(document: Results, store: str, heading: str) -> Figure | None:
    """A bar a loader, the fastest first, with the range of the rounds; None where that was not measured."""
    arms = measured(document, store)
    if not arms:
        return None
    ordered = sorted(arms, key=lambda name: arms[name]["per_second"])
    figure = Figure(figsize=(9, 1.3 + 0.29 * len(ordered)), layout="constrained")
    axes = figure.subplots()
    headed(figure, heading, setting(document))
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.75 / figure.get_size_inches()[1]))
    rates = [arms[name]["per_second"] for name in ordered]
    ranges = [arms[name]["per_second_range"] for name in ordered]
    spread = [
        [rate - low for rate, (low, _) in zip(rates, ranges, strict=True)],
        [high - rate for rate, (_, high) in zip(rates, ranges, strict=True)],
    ]
    colours = [colour_of(document, name) for name in ordered]
    axes.barh(ordered, rates, color=colours, xerr=spread, ecolor=INK, error_kw={"elinewidth": 1.2})
    most = max(high for _, high in ranges)
    for row, rate in enumerate(rates):
        axes.text(most * 1.09, row, f"{rate:,.0f}", ha="right", va="center")
    axes.set_xlim(0, most * 1.1)
    axes.grid(axis="y", visible=False)
    bare(axes)
    return figure


def colour_of(document: Results, name: str) -> str:
    """Ours by fidelity; all others grey."""
    if not document["arms"][name].startswith("halfbyte"):
        return GREY
    return OWN[name.removesuffix(" fidelity").split()[-1]]


def measured(document: Results, store: str) -> Results:
    arms = document["results"].get(store, {})
    return {name: arm for name, arm in arms.items() if "missing" not in arm}


def setting(document: Results) -> str:
    return (
        f"{document['photos']['source']}; random resized crop to 224, "
        f"{document['workers']} workers or threads; median of {document['rounds']} rounds"
    )
