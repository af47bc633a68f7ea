"""Maps for the DCT, and the codecs that are tried on them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tensors import normal, on_threads
from torch import Tensor

from halfbyte.activations.codecs.jpeg_act import JpegAct

CODECS = (
    JpegAct(gate=False),
    JpegAct("optL", rounding="nearest", coder="rle", gate=False),
    JpegAct(tiling="rows", gate=False),
    JpegAct("jpeg80", quantize="divide", tiling="rows", coder="rle", gate=False),
)
"""Each option in each of its states, and no gate."""

FORMATS = (torch.contiguous_format, torch.channels_last)


def smooth(*size: int, seed: int = 0) -> Tensor:
    """Maps in which neighbours are alike, each channel of another range."""
    noise = normal(seed)(*size)
    blurred = sum((noise.roll((dy, dx), (2, 3)) for dy in range(4) for dx in range(4)), noise * 0)
    return blurred * torch.logspace(-2, 2, size[1]).view(1, -1, 1, 1)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small tensors by the thousand: threads would wait for each other most of the time."""
    with on_threads(1):
        yield
