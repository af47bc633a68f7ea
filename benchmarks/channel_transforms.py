"""Would a transform along channels save bytes in the maps of a trained network? Bits an element, by entropy,
at the same error: without a transform, with the DCT of groups of 8 channels, the same with channels in an
order of likeness, and with the Karhunen-Loève transform over all channels, which decorrelates them fully.

    python benchmarks/channel_transforms.py --photos /path/to/imagefolder --networks /path/to/networks

The networks are those that feature_maps.py trains, from their files where it was given `--networks`. A
transform costs nothing here: neither its basis nor the order is counted, and each of its coefficients has a
code of its own, while without one a map has one code.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import torch
from feature_maps import add_network_options, held_out, task_of, trained
from harness import RESULTS, machine
from small_images import BATCH, centred
from torch import Tensor, nn

from halfbyte.activations.codecs.channel_dct import transformed
from halfbyte.activations.feature_maps.layers import ACTIVATIONS_AND_POOLS, find_layers
from halfbyte.activations.feature_maps.trial import Trial, at_rest

ERROR = 0.01  # squared, relative to the map
HALVINGS = 20
GROUP = 8


def bits_of_maps(model: nn.Module, images: Tensor) -> dict[str, float]:
    """Bits an element of all maps, by transform."""
    totals: dict[str, float] = {}
    elements = 0

    def see(_: str, x: Tensor) -> None:
        nonlocal elements
        elements += x.numel()
        rows = x.transpose(0, 1).flatten(1)
        for name, found in bits_by_transform(rows).items():
            totals[name] = totals.get(name, 0) + found * x.numel()

    with at_rest(model):
        Trial(model, find_layers(model, ACTIVATIONS_AND_POOLS), [images]).look(see)
    return {name: round(total / elements, 3) for name, total in totals.items()}


def bits_by_transform(rows: Tensor) -> dict[str, float]:
    """Of a map, its channels as rows."""
    centred_rows = rows - rows.mean(1, keepdim=True)
    _, basis = torch.linalg.eigh((centred_rows @ centred_rows.t()).double())
    error = ERROR * float(rows.square().mean())
    return {
        "none": entropy(coded(rows, error).flatten()),
        "DCT of 8 channels": entropy_of_rows(coded(transformed(rows, GROUP), error), GROUP),
        "DCT of 8 like channels": entropy_of_rows(
            coded(transformed(rows[likeness(rows)], GROUP), error), GROUP
        ),
        "Karhunen-Loève": entropy_of_rows(coded(basis.t().float() @ centred_rows, error), len(rows)),
    }


def coded(coefficients: Tensor, error: float) -> Tensor:
    """Multiples of the step that makes this mean squared error."""
    low, high = 1e-3 * error**0.5, 1e3 * error**0.5
    for _ in range(HALVINGS):
        step = (low * high) ** 0.5
        found = float(((coefficients / step).round() * step - coefficients).square().mean())
        low, high = (step, high) if found < error else (low, step)
    return (coefficients / low).round().int()


def entropy(codes: Tensor) -> float:
    _, counts = codes.unique(return_counts=True)
    shares = counts.double() / codes.numel()
    return float(-(shares * shares.log2()).sum())


def entropy_of_rows(codes: Tensor, period: int) -> float:
    """Rows k, k + period, ... have a code together."""
    numbers = [codes[k::period].flatten() for k in range(min(period, len(codes)))]
    return sum(entropy(own) * own.numel() for own in numbers) / codes.numel()


def likeness(rows: Tensor) -> list[int]:
    """Channels in an order in which each is followed by the most like of those left."""
    alike = torch.nn.functional.normalize(rows, dim=1)
    alike = alike @ alike.t()
    order = [0]
    left = set(range(1, len(rows)))
    while left:
        others = sorted(left)
        order.append(others[int(alike[order[-1]][others].argmax())])
        left.remove(order[-1])
    return order


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    add_network_options(parser)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    task = task_of(options)
    images = centred(held_out(task)[:BATCH])
    runs = [bits_of_maps(trained(task, options, seed), images) for seed in range(options.seeds)]
    document: dict[str, Any] = {
        "benchmark": "channel_transforms",
        "images": options.source,
        "squared_relative_error": ERROR,
        "seeds": options.seeds,
        "machine": machine(),
        "bits_an_element": {name: [run[name] for run in runs] for name in runs[0]},
    }
    print(json.dumps(document["bits_an_element"]))
    (RESULTS / "channel_transforms.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
