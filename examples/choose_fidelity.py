"""A plain training loop in which a policy chooses the fidelity, and a page that shows what it did.

python examples/choose_fidelity.py --epochs 6 --report run.html
python examples/choose_fidelity.py --photos my_photos/     # a folder for each class
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy

import halfbyte
from photos import MEAN, STD, write_photos


def make_network(num_classes: int, width: int = 32) -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, num_classes)),
    )


def train(dataset: halfbyte.Dataset, epochs: int) -> halfbyte.Loader:
    # Few bytes while there is much to learn from them, then what looks like the original, then all.
    policy = halfbyte.tuning.Schedule({0: 2, epochs // 3: 5, 2 * epochs // 3: None})
    loader = halfbyte.Loader(dataset, batch_size=32, fidelity=policy)
    network = make_network(len(dataset.classes or ()))
    optimizer = torch.optim.AdamW(network.parameters(), 0.003)
    for epoch in range(epochs):
        for batch in loader:
            loss = cross_entropy(network(batch["image"]), batch["label"])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(f"epoch {epoch}: loss {loss.item():.3f} at fidelity {loader.fidelity}")
    return loader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--photos", type=Path, help="a folder for each class")
    parser.add_argument("--report", type=Path, default=Path("run.html"))
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        photos = options.photos or write_photos(Path(folder) / "photos")
        halfbyte.convert(photos, Path(folder) / "photos.halfbyte")
        view = halfbyte.Transform(
            halfbyte.RandomResizedCrop(64), flip=0.5, normalize=halfbyte.Normalize(MEAN, STD)
        )
        loader = train(halfbyte.open(Path(folder) / "photos.halfbyte", transform=view), options.epochs)
    assert loader.policy is not None
    print(*loader.policy.log, sep="\n")
    options.report.write_text(halfbyte.tuning.report(loader).html())
    print(f"what happened over time: {options.report}")


if __name__ == "__main__":
    main()
