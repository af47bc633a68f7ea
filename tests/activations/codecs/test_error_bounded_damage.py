"""What ErrorBounded did not make is refused, or gives some tensor; it does no harm."""

from __future__ import annotations

import pytest
import torch
from smooth_maps import one_thread, smooth
from tensors import ISAS, sparse, using_isa
from torch import Tensor

from halfbyte.activations.codecs import integer_pieces
from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.error_bounded import ErrorBounded

__all__ = ["one_thread"]

CODECS = (
    ErrorBounded(0.01, "none"),
    ErrorBounded(1e-4, "lorenzo"),
    ErrorBounded(0.01, "none", "fixed"),
    ErrorBounded(0.01, "lorenzo", "fixed"),
)


def tensor() -> Tensor:
    x = torch.cat([smooth(1, 2, 128, 128).flatten(), sparse()(40_000)])
    x[::5000] = torch.nan
    return x


def damaged(packed: Packed, parts: tuple[Tensor, ...]) -> Packed:
    return Packed(packed.codec, packed.layout, parts, packed.detail)


def is_refused(packed: Packed) -> bool:
    try:
        decoded = packed.decode()
    except ValueError as error:
        return str(error).startswith("packed bytes are damaged")
    assert decoded.shape == packed.layout.size
    return False


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_parts_of_the_wrong_kind_are_refused(codec: ErrorBounded) -> None:
    packed = codec.encode(tensor())
    for i, part in enumerate(packed.parts):
        longer = torch.cat([part, part[:1]])
        for wrong in (part[:-1].clone(), longer, part.to(torch.float64), part.new_empty(0)):
            parts = (*packed.parts[:i], wrong, *packed.parts[i + 1 :])
            with pytest.raises(ValueError, match="packed bytes are damaged"):
                damaged(packed, parts).decode()
    with pytest.raises(ValueError, match="packed bytes are damaged: 3 parts, expected 2"):
        damaged(packed, (*packed.parts, packed.parts[0])).decode()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_sizes_that_are_not_those_of_pieces_are_refused(codec: ErrorBounded, isa: str) -> None:
    packed = codec.encode(tensor())
    sizes, stream = packed.parts
    with using_isa(isa):
        for moved in (1, -1, 100, int(sizes[1]), -int(sizes[0]), -int(sizes[0]) - 1):
            wrong = sizes + torch.tensor([moved, -moved], dtype=torch.int32)
            with pytest.raises(ValueError, match="packed bytes are damaged: they are not of 72768 elements"):
                damaged(packed, (wrong, stream)).decode()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_changed_bytes_raise_or_give_a_tensor(codec: ErrorBounded, isa: str) -> None:
    packed = codec.encode(tensor())
    sizes, stream = packed.parts
    generator = torch.Generator().manual_seed(11)
    # The first bytes and the last of a piece say what the rest is; others are mostly codes.
    places = [*range(120), *(int(sizes[0]) + i for i in range(-60, 60)), *range(-60, 0)]
    places += torch.randint(len(stream), (60,), generator=generator).tolist()
    refused = 0
    with using_isa(isa):
        for place in places:
            changed = stream.clone()
            changed[place] ^= 1 << int(torch.randint(8, (), generator=generator))
            refused += is_refused(damaged(packed, (sizes, changed)))
    assert refused >= 40


def test_other_devices_refuse_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_pieces, "runs_natively", lambda x: False)
    packed = ErrorBounded(0.01, coder="fixed").encode(tensor())
    heads, words, places, outliers = packed.parts
    for wrong in (
        (heads[:-1], words, places, outliers),
        (heads, words[:-1], places, outliers),
        (heads, words, places[:-1], outliers),
        (heads, words, places + 72_768, outliers),
        (heads, words, places - 1, outliers),
        (heads, words, places, outliers.double()),
        (heads, words),
    ):
        with pytest.raises(ValueError, match="packed bytes are damaged"):
            damaged(packed, wrong).decode()
