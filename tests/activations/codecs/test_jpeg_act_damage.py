"""What JpegAct did not make is refused, or gives some tensor; it does no harm."""

from __future__ import annotations

import pytest
import torch
from smooth_maps import CODECS, FORMATS, one_thread, smooth
from torch import Tensor

from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.jpeg_act import JpegAct

__all__ = ["one_thread"]


def damaged(packed: Packed, parts: tuple[Tensor, ...]) -> Packed:
    return Packed(packed.codec, packed.layout, parts, packed.detail)


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("memory_format", FORMATS)
def test_parts_of_the_wrong_kind_are_refused(codec: JpegAct, memory_format: torch.memory_format) -> None:
    packed = codec.encode(smooth(3, 20, 20, 12).to(memory_format=memory_format))
    for i, part in enumerate(packed.parts):
        for wrong in (part[:-1], torch.cat([part, part[:1]]), part.to(torch.float64), part.new_empty(0)):
            if part.numel() == wrong.numel() and part.dtype == wrong.dtype:
                continue
            parts = (*packed.parts[:i], wrong.clone(), *packed.parts[i + 1 :])
            with pytest.raises(ValueError, match="packed bytes are damaged"):
                damaged(packed, parts).decode()


def is_refused(packed: Packed) -> bool:
    try:
        decoded = packed.decode()
    except ValueError as error:
        return str(error).startswith("packed bytes are damaged")
    assert decoded.shape == packed.layout.size
    return False


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("memory_format", FORMATS)
def test_flipped_bits_raise_or_give_a_tensor(codec: JpegAct, memory_format: torch.memory_format) -> None:
    x = smooth(3, 20, 20, 12).to(memory_format=memory_format)
    packed = codec.encode(x)
    generator = torch.Generator().manual_seed(11)
    refused = 0
    for turn in range(300):
        parts = [part.clone() for part in packed.parts]
        victim = parts[turn % len(parts)].view(torch.uint8)
        at = int(torch.randint(victim.numel(), (), generator=generator))
        victim[at] ^= 1 << int(torch.randint(8, (), generator=generator))
        refused += is_refused(damaged(packed, tuple(parts)))
    assert refused >= 300 // len(packed.parts)
