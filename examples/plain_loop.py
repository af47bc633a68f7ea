"""A plain training loop that holds activations in fewer bytes: three lines more than without.

python examples/plain_loop.py --steps 60
python examples/plain_loop.py --photos my_photos/     # a folder for each class
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from halfbyte.activations import compress, jpeg_act
from photos import load_photos


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            *(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.branch(x))


def make_network(num_classes: int, width: int = 32) -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
        *(Residual(width), nn.MaxPool2d(2), Residual(width)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, num_classes)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--photos", type=Path, help="a folder for each class")
    options = parser.parse_args()

    data, num_classes = load_photos(options.photos)
    loader = DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
    network = make_network(num_classes)
    optimizer = torch.optim.AdamW(network.parameters(), 0.003)
    compressor = compress(network, policy=jpeg_act())

    epochs, step = -(-options.steps // len(loader)), 0
    for epoch in range(epochs):
        compressor.set_epoch(epoch)
        for images, labels in loader:
            with compressor:
                loss = cross_entropy(network(images), labels)
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step % 10 == 0 or step == options.steps:
                print(f"step {step}: loss {loss.item():.3f}")
            if step == options.steps:
                break
    print()
    print(compressor.ledger.report())


if __name__ == "__main__":
    main()
