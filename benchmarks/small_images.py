"""What benchmarks of activations learn: small pictures, of photographs or made here.

A photo set is an image folder with train/ and test/ (a folder a class, at any depth below). The made ones are
textures that differ by frequency and orientation, under noise that hides them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

SIDE = 32
MARGIN = 4
BATCH = 64

Split = tuple[Tensor, Tensor]  # uint8 images (N, 3, side + 2 MARGIN, side + 2 MARGIN), int64 labels


class Task(NamedTuple):
    """What is learnt, and whether an image and its mirror image are of one class."""

    train: Split
    test: Split
    classes: int
    mirrored: bool

    @property
    def side(self) -> int:
        """Of what a network sees, in pixels."""
        return self.train[0].shape[-1] - 2 * MARGIN


def load_photos(folder: Path, side: int = SIDE) -> Task:
    """An image folder, its photos made small; a class is the folder that a photo lies in."""
    padded = side + 2 * MARGIN
    found = {
        part: sorted((folder / part).rglob("*.jpg"), key=lambda path: path.as_posix())
        for part in ("train", "test")
    }
    classes = sorted({path.parent.name for path in found["train"]})
    splits = []
    for paths in found.values():
        pictures = [
            Image.open(path).convert("RGB").resize((padded, padded), Image.Resampling.BOX) for path in paths
        ]
        images = (
            torch.from_numpy(np.stack([np.asarray(p) for p in pictures])).permute(0, 3, 1, 2).contiguous()
        )
        splits.append((images, torch.tensor([classes.index(path.parent.name) for path in paths])))
    return Task(splits[0], splits[1], len(classes), mirrored=True)


def textures(count: int) -> Task:
    return Task(make_textures(count, 1), make_textures(count // 2, 2), 16, mirrored=False)


def make_textures(count: int, seed: int) -> Split:
    """Gratings of 4 frequencies and 4 orientations, any phase and colour, under noise that hides some."""
    generator = torch.Generator().manual_seed(seed)
    padded = SIDE + 2 * MARGIN
    labels = torch.randint(0, 16, (count,), generator=generator)
    angle = (labels // 4 + 0.3 * torch.rand(count, generator=generator)) * (math.pi / 4)
    frequency = (0.10 + 0.06 * (labels % 4)) * (1 + 0.1 * torch.rand(count, generator=generator))
    phase = 2 * math.pi * torch.rand(count, generator=generator)
    y, x = torch.meshgrid(torch.arange(padded), torch.arange(padded), indexing="ij")
    along = x * angle.cos().view(-1, 1, 1) + y * angle.sin().view(-1, 1, 1)
    grating = (2 * math.pi * frequency.view(-1, 1, 1) * along + phase.view(-1, 1, 1)).sin()
    colour = 0.5 + torch.rand(count, 3, 1, 1, generator=generator)
    strength = 0.1 + 0.3 * torch.rand(count, 1, 1, 1, generator=generator)
    noise = torch.randn(count, 3, padded, padded, generator=generator)
    images = 128 + 24 * (strength * colour * grating.unsqueeze(1) + noise)
    return images.clamp(0, 255).to(torch.uint8), labels


def augmented(images: Tensor, generator: torch.Generator, *, mirrored: bool) -> Tensor:
    """A random crop (and flip) for all of a batch; float32 (N, 3, side, side), about standard normal."""
    dy, dx, flip = (
        int(torch.randint(0, n, (1,), generator=generator)) for n in (2 * MARGIN + 1, 2 * MARGIN + 1, 2)
    )
    crop = cropped(images, dy, dx)
    return normalized(crop.flip(3) if flip and mirrored else crop)


def centred(images: Tensor) -> Tensor:
    """As `augmented`, without chance."""
    return normalized(cropped(images, MARGIN, MARGIN))


def cropped(images: Tensor, top: int, left: int) -> Tensor:
    side = images.shape[-1] - 2 * MARGIN
    return images[:, :, top : top + side, left : left + side]


def normalized(images: Tensor) -> Tensor:
    return (images.float() - 128) / 64
