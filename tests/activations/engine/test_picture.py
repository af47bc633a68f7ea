"""The ledger as a picture: a document of its own whose bars are as long as the bytes."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.policy.saved_tensor import Saver

NORM = (Saver("NativeBatchNormBackward0", "input"),)
SVG = "{http://www.w3.org/2000/svg}"


def drawn(ledger: Ledger) -> ElementTree.Element:
    return ElementTree.fromstring(ledger.picture())


def texts(picture: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]


def bars(picture: ElementTree.Element) -> dict[str, list[tuple[float, str]]]:
    """Widths and colours of every layer's bars: before, then after by codec."""
    return {
        layer[1].text or "": [(float(r.attrib["width"]), r.attrib["fill"]) for r in layer.iter(f"{SVG}rect")]
        for layer in picture.iter(f"{SVG}g")
    }


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    for _ in range(2):
        ledger.step()
        ledger.pack(ledger.row("block.bn", NORM, "JpegAct(optL)"), 8000, 1000, 0.0)
        ledger.pack(ledger.row("block.relu", NORM, "Sfpr(8 bits)"), 4000, 1000, 0.0)
        ledger.keep(ledger.row("block.relu", NORM, "", kind="held"), 2000)
        ledger.keep(ledger.row("", NORM, "", kind="exact"), 1000)
        ledger.keep(ledger.row("", NORM, "", kind="model"), 50000)
    return ledger


def test_bars_are_as_long_as_the_bytes(ledger: Ledger) -> None:
    layers = bars(drawn(ledger))
    assert list(layers) == ["block.bn", "block.relu", "(outside of modules)"]
    scale = layers["block.bn"][0][0] / 8000
    widths = {label: [width / scale for width, _ in layer] for label, layer in layers.items()}
    assert widths["block.bn"] == pytest.approx([8000, 1000], rel=0.01)
    assert widths["block.relu"] == pytest.approx([6000, 1000, 2000], rel=0.01)
    assert widths["(outside of modules)"] == pytest.approx([1000, 1000], rel=0.01)


def test_a_codec_has_one_colour(ledger: Ledger) -> None:
    ledger.pack(ledger.row("head", NORM, "Sfpr(8 bits)"), 100, 50, 0.0)
    layers = bars(drawn(ledger))
    assert layers["head"][1][1] == layers["block.relu"][1][1] != layers["block.bn"][1][1]
    assert layers["block.relu"][2][1] == "url(#held)"


def test_more_codecs_than_colours_share_a_grey() -> None:
    ledger = Ledger()
    for i in range(12):
        ledger.pack(ledger.row(f"layer{i}", NORM, f"Codec{i}"), 100, 50 - i, 0.0)
    colours = [layer[1][1] for layer in bars(drawn(ledger)).values()]
    assert len(set(colours[:8])) == 8
    assert len(set(colours[8:])) == 1
    assert colours[8] not in colours[:8]


def test_heading_and_legend_tell_the_totals_of_a_step(ledger: Ledger) -> None:
    words = texts(drawn(ledger))
    assert "Saved for backward: 14.6 KiB → 4.88 KiB, 3.0x" in words
    assert "for one of 2 steps; over float32 3.0x, over bfloat16 1.5x; at most 0 B packed at once" in words
    legend = {"JpegAct(optL) 1000 B", "Sfpr(8 bits) 1000 B", "held by others 1.95 KiB", "kept exact 1000 B"}
    assert legend <= set(words)


def test_bytes_that_grew_stay_within_the_picture() -> None:
    ledger = Ledger()
    ledger.pack(ledger.row("a", NORM, "ZeroValue()"), 1000, 1500, 0.0)
    picture = drawn(ledger)
    for rect in picture.iter(f"{SVG}rect"):
        right = float(rect.attrib.get("x", 0)) + float(rect.attrib["width"])
        assert right <= float(picture.attrib["width"])
    (before, _), (after, _) = bars(picture)["a"]
    assert after / before == pytest.approx(1.5, rel=0.01)


def test_the_picture_can_be_read_aloud(ledger: Ledger) -> None:
    picture = drawn(ledger)
    assert picture.attrib["role"] == "img"
    ids = {element.attrib["id"]: element for element in picture.iter() if "id" in element.attrib}
    title, summary = (ids[name] for name in picture.attrib["aria-labelledby"].split())
    assert title.tag == f"{SVG}title"
    assert "block.bn: 7.81 KiB → 1000 B, 8.0x" in (summary.text or "")


def test_the_picture_needs_nothing_else(ledger: Ledger) -> None:
    svg = ledger.picture()
    assert svg.count("http") == 1  # the name space
    assert not {"script", "image", "href"} & {word.strip("<>") for word in svg.replace("=", " ").split()}


def test_names_are_no_markup() -> None:
    ledger = Ledger()
    ledger.pack(ledger.row("<b>&", NORM, "Sfpr(<8>)"), 100, 50, 0.0)
    assert {"<b>&", "Sfpr(<8>) 50 B"} <= set(texts(drawn(ledger)))


def test_long_names_lose_their_beginning() -> None:
    ledger = Ledger()
    ledger.pack(ledger.row("encoder.stages.3.blocks.17.attention.norm", NORM, "Sfpr()"), 100, 50, 0.0)
    assert list(bars(drawn(ledger))) == ["…s.3.blocks.17.attention.norm"]


def test_nothing_saved_is_said() -> None:
    assert texts(drawn(Ledger())) == ["Nothing was saved for backward"]


def test_the_picture_is_written(ledger: Ledger, tmp_path: Path) -> None:
    svg = ledger.picture(tmp_path / "saved.svg")
    assert (tmp_path / "saved.svg").read_text(encoding="utf-8") == svg
