"""However many modules a model has, a picture shows a few dozen layers, and no byte is lost."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from halfbyte.activations.engine.layers import Layer, gather_layers
from halfbyte.activations.engine.row import Kind, Row


def row(
    path: str, *, before: int = 100, after: int = 10, codec: str = "Sfpr()", kind: Kind = "packed"
) -> Row:
    row = Row(path, (), codec, kind=kind)
    row.calls, row.before, row.after = 1, before, after
    return row


def labels(layers: Iterable[Layer]) -> list[str]:
    return [layer.label for layer in layers]


def test_few_modules_are_layers_themselves() -> None:
    layers = gather_layers([row("stem"), row("body.0.conv"), row(""), row("body.0.conv")], 10)
    assert labels(layers) == ["stem", "body.0.conv", "(outside of modules)"]
    assert [layer.before for layer in layers] == [100, 200, 100]


def test_bytes_after_are_kept_by_codec() -> None:
    rows = [row("a"), row("a", codec="Cast()", after=50), row("a", kind="held"), row("a", kind="exact")]
    (layer,) = gather_layers(rows, 10)
    assert layer.after == {"Sfpr()": 10, "Cast()": 50, "held by others": 10, "kept exact": 10}
    assert (layer.held, layer.ratio) == (80, 5.0)


def test_too_many_modules_become_their_blocks() -> None:
    rows = [row("stem"), *(row(f"body.{block}.conv{i}") for block in range(9) for i in range(5))]
    layers = gather_layers(rows, 20)
    assert labels(layers) == ["stem", *(f"body.{block}" for block in range(9))]
    assert layers[1].before == 500


def test_one_long_list_is_gathered_by_neighbours() -> None:
    layers = gather_layers([row(f"encoder.layers.{i}.norm") for i in range(48)], 20)
    assert len(layers) == 16
    assert labels(layers)[:2] == ["encoder.layers.0 … 2", "encoder.layers.3 … 5"]


@pytest.mark.parametrize("count", [0, 1, 19, 20, 21, 400])
def test_no_byte_is_lost(count: int) -> None:
    rows = [row(f"m{i % 37}.{i % 5}.{i}", before=i, after=i // 2) for i in range(count)]
    layers = gather_layers(rows, 20)
    assert len(layers) <= 20
    assert sum(layer.before for layer in layers) == sum(r.before for r in rows)
    assert sum(layer.held for layer in layers) == sum(r.after for r in rows)
