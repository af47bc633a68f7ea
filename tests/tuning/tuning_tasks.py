"""Small tasks of which it is known what fidelity they need, and a model that learns them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import nn

import halfbyte
from halfbyte.codecs.encoded import EncodedSample
from photos import progressive_slices, write_dataset

VIEW = halfbyte.Transform(halfbyte.CenterCrop(24))
SIDE = 32
# Scans of the highest frequencies of the luma begin here: what comes before cannot show the texture.
TEXTURE_FROM = 5


def textured(number: int) -> NDArray[np.float64]:
    """Label 1: each pixel differs from the next. The mean of every block is the same for both labels."""
    random = np.random.default_rng(number)
    y, x = np.mgrid[:SIDE, :SIDE]
    luma = random.uniform(90, 160) + (number % 2) * 30 * (-1.0) ** (x + y)
    return np.repeat(luma[..., None], 3, axis=2)


def coloured(number: int) -> NDArray[np.float64]:
    """Label 1: red; label 0: blue; under noise."""
    random = np.random.default_rng(number)
    towards = 1 if number % 2 else -1
    colour = random.uniform(60, 120, 3) + towards * np.array([60, 0, -60])
    return colour + random.normal(0, 12, (SIDE, SIDE, 1))


def build(path: Path, draw: Callable[[int], NDArray[np.float64]], records: int = 8) -> Path:
    """A data set of 32 samples a record."""
    numbers = range(records * 32)
    samples = [_sample(number, draw(number)) for number in numbers]
    return write_dataset(path, [samples[i : i + 32] for i in numbers[::32]])


def _sample(number: int, pixels: NDArray[np.float64]) -> EncodedSample:
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    return EncodedSample(
        key=f"{number:04d}.jpg",
        codec=1,
        slices=progressive_slices(image, subsampling=0),
        width=SIDE,
        height=SIDE,
        orientation=1,
        source_bytes=1000,
        fields={"label": number % 2},
    )


class Net(nn.Module):
    """With what a probe could leave its traces in: BatchNorm and dropout."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
            self.drop, self.head = nn.Dropout(0.1), nn.Linear(8, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.drop(F.relu(self.norm(self.conv(images))).mean((2, 3))))


def loss(model: nn.Module, batch: dict[str, Any]) -> torch.Tensor:
    return F.cross_entropy(model(batch["image"].float() / 255 - 0.5), batch["label"])


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)


def train(
    loader: halfbyte.Loader,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    stop: int = -1,
) -> dict[str, Any] | None:
    """Train up to an epoch; or give back everything after so many steps in all."""
    steps = 0
    while loader.epoch < epochs:
        for batch in loader:
            optimizer.zero_grad()
            loss(model, batch).backward()
            optimizer.step()
            steps += 1
            if steps == stop:
                state = checkpoint(loader, model, optimizer)
                loader.close()
                return state
    return None


def checkpoint(loader: halfbyte.Loader, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    return copy.deepcopy(
        {
            "loader": loader.state_dict(),
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "random": torch.get_rng_state(),
        }
    )


def everything(model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> dict[str, Any]:
    """All that a probe must leave as it is, copied: bytes of tensors, and plain values."""
    kept: dict[str, Any] = {name: _bits(tensor) for name, tensor in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        kept[f"{name}.grad"] = None if parameter.grad is None else _bits(parameter.grad)
        kept[f"{name}.requires_grad"] = parameter.requires_grad
    for name, module in model.named_modules():
        kept[f"{name}.training"] = module.training
    kept["random"] = _bits(torch.get_rng_state())
    kept["numpy"] = np.random.get_state()[1].tobytes()
    if optimizer is not None:
        kept["optimizer"] = _plain(optimizer.state_dict())
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _bits(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _bits(tensor: torch.Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().numpy().tobytes()
