"""Lightning: one callback, and the module stays as it is.

python examples/lightning_callback.py --steps 60
python examples/lightning_callback.py --photos my_photos/     # a folder for each class
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lightning.pytorch as pl
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from halfbyte.activations import jpeg_act
from halfbyte.activations.integrations.lightning import CompressActivations
from photos import load_photos


class Classifier(pl.LightningModule):
    def __init__(self, num_classes: int, width: int = 32) -> None:
        super().__init__()
        self.network = nn.Sequential(
            *(nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU()),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, num_classes)),
        )

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        images, labels = batch
        loss = cross_entropy(self.network(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), 0.003)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--photos", type=Path, help="a folder for each class")
    options = parser.parse_args()

    data, num_classes = load_photos(options.photos)
    loader = DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
    compression = CompressActivations(policy=jpeg_act())
    trainer = pl.Trainer(
        max_steps=options.steps,
        callbacks=[compression],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(num_classes), loader)
    print(compression.ledger.report())


if __name__ == "__main__":
    main()
