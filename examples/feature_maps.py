"""Train a small network, then let it infer with the maps between its layers in a fraction of their bytes.

python examples/feature_maps.py --steps 200
python examples/feature_maps.py --photos my_photos/     # a folder for each class
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from halfbyte.activations import feature_maps
from photos import load_photos


def make_network(num_classes: int, width: int = 16) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, width), (width, 2 * width), (2 * width, 4 * width)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        layers += [nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, num_classes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--tolerance", type=float, default=0.003, help="of the output: Σ (y' - y)² / Σ y²")
    parser.add_argument("--photos", type=Path, help="a folder for each class")
    options = parser.parse_args()

    data, num_classes = load_photos(options.photos)
    loader = DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
    network = make_network(num_classes)
    optimizer = torch.optim.AdamW(network.parameters(), 0.003)
    step = 0
    while step < options.steps:
        for images, labels in loader:
            cross_entropy(network(images), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step == options.steps:
                break

    every = DataLoader(data, batch_size=64)

    def accuracy(model: nn.Module) -> float:
        with torch.inference_mode():
            right = sum(int((model(images).argmax(1) == labels).sum()) for images, labels in every)
        return right / len(data)

    network.eval()
    with feature_maps(network, calibrate=loader, tolerance=options.tolerance) as maps:
        found = maps.compare(accuracy)
    print(maps.report())
    print(f"\naccuracy {found.plain:.1%}, with compressed maps {found.compressed:.1%}")


if __name__ == "__main__":
    main()
