"""JpegAct hands over what the DCT does not serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
import torch
from smooth_maps import CODECS, one_thread, smooth
from tensors import normal, sparse
from torch import Tensor

from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.sfpr import Sfpr

__all__ = ["one_thread"]


def test_smooth_maps_are_kept() -> None:
    packed = JpegAct().encode(smooth(4, 8, 32, 32))
    assert packed.codec == JpegAct()
    assert packed.why == ""
    assert not packed.codec.holds_mask(packed)


def test_white_maps_are_handed_over() -> None:
    x = normal(3)(8, 16, 32, 32)
    packed = JpegAct("optL").encode(x)
    assert packed.codec == Sfpr()
    assert packed.why.startswith("DCT does not pay (")
    assert packed.why.endswith("bits an element, fixed point 8.0)")
    assert torch.equal(packed.decode(), Sfpr().encode(x).decode())
    assert JpegAct("optL", gate=False).encode(x).codec == JpegAct("optL", gate=False)


def test_sparse_maps_are_handed_over_without_their_zeros() -> None:
    x = normal(4)(8, 16, 32, 32) * (normal(5)(8, 16, 32, 32) > 1.3)
    packed = JpegAct("optL").encode(x)
    assert packed.codec == Sfpr(coder="zvc")
    assert "DCT does not pay" in packed.why
    assert packed.nbytes < JpegAct("optL", gate=False).encode(x).nbytes


@pytest.mark.parametrize("side", [7, 14, 32])
def test_memory_does_not_decide(side: int) -> None:
    for share in (0.2, 0.3, 0.35, 0.4, 0.5, 0.7):
        x = share * normal(6)(16, 24, side, side) + smooth(16, 24, side, side) / 4
        last = x.to(memory_format=torch.channels_last)
        assert JpegAct("optL").encode(x).codec == JpegAct("optL").encode(last).codec


@pytest.mark.parametrize("coder", ["zvc", "rle"])
@pytest.mark.parametrize("fill", [normal(7), sparse(8), smooth], ids=["normal", "sparse", "smooth"])
def test_the_gate_takes_what_is_smaller(coder: Literal["zvc", "rle"], fill: Callable[..., Tensor]) -> None:
    for side in (7, 24):
        x = fill(8, 32, side, side)
        chosen = JpegAct("optL", coder=coder).encode(x)
        all_codecs = (JpegAct("optL", coder=coder, gate=False), Sfpr(), Sfpr(coder="zvc"))
        least = min(codec.encode(x).nbytes for codec in all_codecs)
        assert chosen.nbytes <= 1.13 * least


@pytest.mark.parametrize(
    "size",
    [(), (5,), (4, 6), (2, 3, 4), (2, 3, 4, 8, 8), (2, 3, 3, 50), (2, 3, 50, 3), (0, 3, 8, 8), (2, 3, 0, 8)],
)
def test_what_is_not_a_map_is_handed_over(size: tuple[int, ...]) -> None:
    for codec in CODECS:
        for fill, expected in ((normal(9), Sfpr()), (sparse(9), Sfpr(coder="zvc"))):
            x = fill(*size)
            packed = codec.encode(x)
            assert packed.why == "not a map"
            assert packed.decode().shape == x.shape
            if x.numel() > 20:
                assert packed.codec == expected
