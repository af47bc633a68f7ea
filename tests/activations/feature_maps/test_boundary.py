"""Outputs that cross a border packed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest
import torch
from nets import ResNet
from tensors import FLOATS, assert_same, on_threads
from torch import Tensor, nn

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.codecs.channel_dct import ChannelDct
from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.near_zero import NearZero
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.codecs.zero_value import ZeroValue
from halfbyte.activations.feature_maps.boundary import compress_boundary

CODECS: tuple[Codec, ...] = (Sfpr(), NearZero(), ChannelDct(), JpegAct(gate=False), ZeroValue())


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


def maps(dtype: torch.dtype = torch.float32) -> Tensor:
    x = torch.randn(2, 8, 16, 16, generator=torch.Generator().manual_seed(0)).relu()
    return x.to(dtype).to(memory_format=torch.channels_last)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_the_second_half_reads_what_was_packed(codec: Codec) -> None:
    torch.manual_seed(0)
    model = ResNet().eval()
    x = torch.randn(2, 3, 32, 32)
    with compress_boundary(model.stem, codec) as boundary, torch.no_grad():
        found = model(x)
    with torch.no_grad():
        middle = model.stem(x)
        packed = codec.encode(middle)
        expected = model.head(model.blocks(packed.decode()).mean((2, 3)))
        assert torch.allclose(found, expected, atol=1e-5)
        assert (boundary.before, boundary.sent) == (middle.nbytes, packed.nbytes)
        boundary.remove()
        model(x)
    assert boundary.before == middle.nbytes
    assert not model.stem._forward_hooks


def test_gradients_are_those_of_the_halves_alone() -> None:
    torch.manual_seed(1)
    first, second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 4, 3)
    x = torch.randn(2, 3, 16, 16)
    with compress_boundary(first, Sfpr(bits=4)):
        second(first(x)).square().sum().backward()
    found = [p.grad.clone() for p in (*first.parameters(), *second.parameters())]
    middle = Sfpr(bits=4).encode(first(x).detach()).decode().requires_grad_()
    first.zero_grad()
    second.zero_grad()
    second(middle).square().sum().backward()
    first(x).backward(middle.grad)
    expected = [p.grad for p in (*first.parameters(), *second.parameters())]
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_outputs_are_unpacked_on_the_device_that_is_asked() -> None:
    module = nn.Conv2d(3, 8, 3)
    with compress_boundary(module, Sfpr(), device="meta"):
        y = module(torch.randn(1, 3, 8, 8))
    assert y.device.type == "meta"
    assert y.requires_grad


def test_outputs_that_are_no_tensors_are_told() -> None:
    module = nn.LSTM(4, 4)
    with (
        compress_boundary(module, Sfpr()),
        pytest.raises(TypeError, match="LSTM returns a tuple, expected one tensor"),
    ):
        module(torch.zeros(1, 1, 4))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_what_is_packed_pickles(codec: Codec, dtype: torch.dtype) -> None:
    packed = codec.encode(maps(dtype))
    again = pickle.loads(pickle.dumps(packed))
    assert (again.codec, again.nbytes, again.why) == (packed.codec, packed.nbytes, packed.why)
    assert_same(again.decode(), packed.decode())


def test_bytes_move_and_what_was_there_stays() -> None:
    packed = Sfpr().encode(maps())
    moved = packed.to(torch.device("meta"))
    assert {part.device.type for part in moved.parts} == {"meta"} == {moved.layout.device.type}
    assert packed.layout.device.type == "cpu"
    assert packed.decode().shape == maps().shape
