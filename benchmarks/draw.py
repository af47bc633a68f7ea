"""Draw results/loaders.json: tables in Markdown, to standard output, and two pictures.

    python benchmarks/draw.py [--results benchmarks/results/loaders.json] [--out docs]

loaders_cached.svg shows images a second of each loader from the page cache; loaders_links.svg shows the best
arm of each peer against the bandwidth of a link. Needs nothing but Python.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
LINK = re.compile(r"(\d+) MB/s, (\d+) ms")

# Pixels.
WIDTH, MARGIN, ROW = 960, 36, 26
LABELS = 264
CHART_HEIGHT = 340

# Of Okabe and Ito's palette, which people with any colour vision can tell apart.
OWN = {"full": "#0072b2", "5": "#56b4e9", "2": "#9ad4f6"}  # by fidelity
OTHERS = ("#e69f00", "#009e73", "#cc79a7", "#d55e00", "#7b4fb5", "#9a8f2a", "#59636e", "#8c959f")
PEER = "#8c959f"
STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
text { fill: #24292f }
.heading { font-size: 20px; font-weight: 600 }
.quiet { fill: #6a737d }
.number { text-anchor: end; font-variant-numeric: tabular-nums }
.tick { text-anchor: middle; fill: #6a737d }
.strong { font-weight: 600 }
.grid { stroke: #eceef1 }
.spread { stroke: #24292f; stroke-width: 1.5 }
"""

Results = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--results", type=Path, default=HERE / "results" / "loaders.json")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs", help="folder of the pictures")
    options = parser.parse_args()
    document = json.loads(options.results.read_text())
    print("\n\n".join(tables(document)))
    pictures = {"loaders_cached.svg": draw_cached(document), "loaders_links.svg": draw_links(document)}
    for name, picture in pictures.items():
        if picture is not None:
            (options.out / name).write_text(picture)


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
    return markdown(head, rows)


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
    return markdown(("peer", "seconds", "CPU s", "MB on disk", "of the source", "over a link"), rows)


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


def markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    rule = ("---", *("---:" for _ in head[1:]))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def draw_cached(document: Results) -> str | None:
    """A bar a loader, the fastest first, with the range of the rounds; None where that was not measured."""
    arms = measured(document, "page cache")
    if not arms:
        return None
    ordered = sorted(arms, key=lambda name: -arms[name]["per_second"])
    most = max(arm["per_second_range"][1] for arm in arms.values())
    left, right, top = MARGIN + LABELS, WIDTH - MARGIN - 70, 128
    bottom = top + ROW * len(ordered)
    parts = [text(MARGIN, 52, "Images a second, from the page cache", "heading")]
    parts.append(text(MARGIN, 75, setting(document), "quiet"))
    for tick in ticks(most):
        x = left + (right - left) * tick / most
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{bottom}"/>')
        parts.append(text(x, top - 12, f"{tick:,.0f}", "tick"))
    for row, name in enumerate(ordered):
        arm, y = arms[name], top + ROW * row
        own = document["arms"][name] == "halfbyte"
        length = (right - left) * arm["per_second"] / most
        low, high = (left + (right - left) * rate / most for rate in arm["per_second_range"])
        parts.append(text(MARGIN, y + 17, name, "strong" if own else ""))
        parts.append(
            f'<rect x="{left}" y="{y + 5}" width="{length:.1f}" height="16" rx="2" '
            f'fill="{shade(name) if own else PEER}"/>'
        )
        parts.append(f'<line class="spread" x1="{low:.1f}" x2="{high:.1f}" y1="{y + 13}" y2="{y + 13}"/>')
        parts.append(
            text(WIDTH - MARGIN, y + 17, f"{arm['per_second']:,.0f}", "number strong" if own else "number")
        )
    spoken = "; ".join(f"{name}: {arms[name]['per_second']:,.0f}" for name in ordered)
    return document_of(parts, bottom + MARGIN, "Images a second of each loader, from the page cache", spoken)


def shade(name: str) -> str:
    return OWN[name.removesuffix(" fidelity").split()[-1]]


def draw_links(document: Results) -> str | None:
    """Lines over the bandwidths of links, at the highest latency that was measured; None without links."""
    found = [match for store in document["results"] if (match := LINK.fullmatch(store))]
    if not found:
        return None
    latency = max(int(match[2]) for match in found)
    bandwidths = sorted(int(match[1]) for match in found if int(match[2]) == latency)
    lines = {name: points for name, points in link_lines(document, bandwidths, latency).items() if points}
    most = max(rate for points in lines.values() for rate in points.values())
    left, right, top = MARGIN + 50, WIDTH - MARGIN - LABELS, 112
    bottom = top + CHART_HEIGHT

    def place(bandwidth: int, rate: float) -> tuple[float, float]:
        span = math.log(bandwidths[-1] / bandwidths[0]) or 1.0
        return (
            left + 20 + (right - left - 40) * math.log(bandwidth / bandwidths[0]) / span,
            bottom - CHART_HEIGHT * rate / most,
        )

    parts = [text(MARGIN, 52, f"Images a second over a link, {latency} ms a request", "heading")]
    parts.append(text(MARGIN, 75, setting(document), "quiet"))
    for tick in ticks(most):
        _, y = place(bandwidths[0], tick)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(left - 8, y + 4, f"{tick:,.0f}", "number quiet"))
    for bandwidth in bandwidths:
        parts.append(text(place(bandwidth, 0)[0], bottom + 20, f"{bandwidth} MB/s", "tick"))
    colours = line_colours(document, lines)
    for name, points in lines.items():
        own = document["arms"][name] == "halfbyte"
        places = [place(bandwidth, rate) for bandwidth, rate in points.items()]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        width = 3 if own else 1.5
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="{width}"/>'
        )
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width + 1}" fill="{colours[name]}"/>' for x, y in places
        ]
    parts += end_labels(
        document, lines, colours, {name: place(*last(lines[name]))[1] for name in lines}, right
    )
    spoken = "; ".join(f"{name}: {points}" for name, points in lines.items())
    return document_of(parts, bottom + 24 + MARGIN, "Images a second against the bandwidth of a link", spoken)


def link_lines(document: Results, bandwidths: list[int], latency: int) -> dict[str, dict[int, float]]:
    """Rates by bandwidth: halfbyte's Loader at each fidelity, and the fastest arm of every peer."""
    rates: dict[str, dict[int, float]] = {}
    for bandwidth in bandwidths:
        for name, arm in measured(document, f"{bandwidth} MB/s, {latency} ms").items():
            rates.setdefault(name, {})[bandwidth] = arm["per_second"]
    chosen = [name for name in rates if name.startswith("halfbyte Loader")]
    for peer in document["peers"]:
        arms = [name for name in rates if document["arms"][name] == peer]
        if peer != "halfbyte" and arms:
            chosen.append(max(arms, key=lambda name: sum(rates[name].values())))
    return {name: rates[name] for name in chosen}


def last(points: dict[int, float]) -> tuple[int, float]:
    return max(points.items())


def line_colours(document: Results, lines: dict[str, Any]) -> dict[str, str]:
    others = [name for name in lines if document["arms"][name] != "halfbyte"]
    colours = {name: OTHERS[i % len(OTHERS)] for i, name in enumerate(others)}
    return {name: colours.get(name) or shade(name) for name in lines}


def end_labels(
    document: Results, lines: dict[str, Any], colours: dict[str, str], ends: dict[str, float], x: int
) -> Iterator[str]:
    """Names at the ends of the lines, moved apart where they would cover one another."""
    lowest = 0.0
    for name in sorted(lines, key=lambda name: ends[name]):
        y = max(ends[name] + 4, lowest)
        lowest = y + 17
        own = document["arms"][name] == "halfbyte"
        yield f'<rect x="{x + 2}" y="{y - 9:.1f}" width="10" height="10" rx="2" fill="{colours[name]}"/>'
        yield text(x + 18, y, name, "strong" if own else "")


def measured(document: Results, store: str) -> Results:
    arms = document["results"].get(store, {})
    return {name: arm for name, arm in arms.items() if "missing" not in arm}


def setting(document: Results) -> str:
    return (
        f"{document['photos']['source']}; random resized crop to 224, "
        f"{document['workers']} workers or threads; median of {document['rounds']} rounds"
    )


def ticks(most: float) -> Iterator[float]:
    """At most six round numbers from 0 on."""
    size = 10 ** math.floor(math.log10(most / 5))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor * 5 >= most)
    yield from (step * i for i in range(int(most / step) + 1))


def text(x: float, y: float, content: str, kind: str) -> str:
    classes = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{classes}>{escape(content)}</text>'


def document_of(parts: list[str], height: float, title: str, spoken: str) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
            f'viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-labelledby="title summary">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="summary">{escape(spoken)}.</desc>',
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height:.0f}" rx="6" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    main()
