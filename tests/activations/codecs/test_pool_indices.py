"""Indices of max pools in four bits each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from tensors import assert_same, odd_tensors, on_threads
from torch import Tensor

from halfbyte.activations.codecs import bits
from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.indices import Indices
from halfbyte.activations.codecs.pool_indices import PoolIndices
from halfbyte.activations.codecs.reference import pool_indices as reference
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.policy.lossless import lossless

Pool = Callable[[Tensor], Tensor]


def images(*size: int, memory_format: torch.memory_format = torch.contiguous_format) -> Tensor:
    x = torch.randn(size, generator=torch.Generator().manual_seed(sum(size)))
    return x.to(memory_format=memory_format)


def max_2d(x: Tensor, **options: int) -> Tensor:
    return F.max_pool2d(x, return_indices=True, **options)[1]


def encoded(x: Tensor) -> Packed:
    packed = PoolIndices().encode(x)
    assert isinstance(packed.codec, PoolIndices)
    assert_same(packed.decode(), x)
    return packed


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 1, "padding": 1},
        {"kernel_size": 3, "stride": 2, "dilation": 2},
        {"kernel_size": 4, "stride": 3},
    ],
)
def test_places_of_windows_take_four_bits(
    memory_format: torch.memory_format, options: dict[str, int]
) -> None:
    x = max_2d(images(5, 12, 23, 19, memory_format=memory_format), **options)
    packed = encoded(x)
    windows = x.shape[2] * x.shape[3]
    assert packed.nbytes == (x.numel() + 1) // 2 + 8 * windows + 8 * 16


def test_one_and_three_dimensions_are_maps_too() -> None:
    line = F.max_pool1d(images(9, 4, 40), 3, return_indices=True)[1]
    encoded(line)
    volume = F.max_pool3d(images(3, 6, 9, 8, 10), 2, return_indices=True)[1]
    encoded(volume)
    last = images(3, 6, 9, 8, 10, memory_format=torch.channels_last_3d)
    encoded(F.max_pool3d(last, 2, return_indices=True)[1])


@pytest.mark.parametrize(
    "x",
    [
        max_2d(images(4, 8, 40, 40), kernel_size=5),  # 25 places
        max_2d(images(2, 4, 16, 16), kernel_size=2),  # few planes
        max_2d(images(32, 16, 16), kernel_size=2),  # planes are rows here
        torch.arange(100),
        torch.arange(4096).view(16, 4, 64).to(torch.int32),
        torch.zeros(0, 4, 3, dtype=torch.int64),
        F.adaptive_max_pool2d(images(4, 8, 37, 41), 5, return_indices=True)[1],
        max_2d(images(6, 8, 20, 20), kernel_size=2).transpose(1, 3),
        torch.tensor([0, 4096]).view(2, 1, 1).expand(2, 16, 3).contiguous(),
        torch.tensor([-(1 << 63), (1 << 63) - 1]).view(2, 1, 1).expand(2, 16, 3).contiguous(),
    ],
)
def test_others_are_held_as_indices(x: Tensor) -> None:
    packed = PoolIndices().encode(x)
    assert isinstance(packed.codec, Indices)
    assert packed.nbytes == Indices().encode(x).nbytes
    assert_same(packed.decode(), x)


def test_every_layout_comes_back() -> None:
    generator = torch.Generator().manual_seed(0)

    def places(*size: int) -> Tensor:
        return torch.randint(0, 9, size, generator=generator)

    for x in odd_tensors(places, torch.int64):
        assert_same(PoolIndices().encode(x).decode(), x)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_the_reference_gives_the_same_bytes(
    memory_format: torch.memory_format, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = max_2d(images(5, 6, 31, 17, memory_format=memory_format), kernel_size=3, stride=2)
    native = encoded(x)
    monkeypatch.setattr(bits, "on_cpu", lambda t: False)
    plain = encoded(x)
    assert plain.detail == native.detail
    assert all(map(torch.equal, plain.parts, native.parts))
    far = max_2d(images(4, 8, 40, 40), kernel_size=5)
    assert reference.encode(far.reshape(-1), windows=64, repeat=1) is None


def test_number_of_threads_changes_nothing() -> None:
    x = max_2d(images(16, 64, 48, 48), kernel_size=3, stride=2, padding=1)
    with on_threads(1):
        alone = encoded(x)
    with on_threads(2):
        assert all(map(torch.equal, encoded(x).parts, alone.parts))


@pytest.mark.parametrize("part", [0, 1, 2])
def test_parts_of_another_length_are_damaged(part: int) -> None:
    packed = encoded(max_2d(images(4, 8, 8, 8), kernel_size=2))
    parts = list(packed.parts)
    parts[part] = parts[part][:-1]
    packed.parts = tuple(parts)
    with pytest.raises(ValueError, match="packed bytes are damaged"):
        packed.decode()


def test_any_codes_decode_to_something() -> None:
    packed = encoded(max_2d(images(4, 8, 8, 8), kernel_size=2))
    packed.parts[2].fill_(0xFF)
    assert packed.decode().shape == (4, 8, 4, 4)


@pytest.mark.parametrize("inside", [True, False])
def test_pools_of_a_model_use_it(*, inside: bool) -> None:
    x = images(4, 8, 32, 32).requires_grad_()

    def pooled(x: Tensor) -> Tensor:
        return F.max_pool2d((x * 1).relu(), 3, 2, 1).sin().sum()

    pooled(x).backward()
    expected, x.grad = x.grad, None
    with compress(torch.nn.Identity(), policy=lossless(), min_bytes=0) as ledger:
        loss = pooled(x)
        if inside:
            loss.backward()
    if not inside:
        loss.backward()
    assert x.grad is not None
    assert expected is not None
    assert torch.equal(x.grad, expected)
    assert "PoolIndices" in {row.codec for row in ledger.rows("packed")}


def test_it_has_a_name_and_no_options() -> None:
    assert str(PoolIndices()) == "PoolIndices"
    assert PoolIndices().to_dict() == {"codec": "PoolIndices"}
    assert PoolIndices().lossless
