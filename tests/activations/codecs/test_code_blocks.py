"""Codes in blocks, against a plain loop that counts bits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tensors import on_threads
from torch import Tensor

from halfbyte.activations.codecs import bits
from halfbyte.activations.codecs.code_blocks import CodeBlocks, decode, encode, num_bytes

PIECE = 1 << 16


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


@pytest.fixture
def without_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "on_cpu", lambda x: False)


def codes_of(count: int, *, signed: bool, density: float, largest: int, seed: int = 0) -> Tensor:
    """Codes that are rarely large, and 0 in so many places."""
    generator = torch.Generator().manual_seed(seed)
    size = torch.rand(count, generator=generator).pow(6).mul(largest).ceil().clamp(1, largest)
    sign = torch.where(torch.rand(count, generator=generator) < 0.5, -1, 1) if signed else 1
    return (size * sign * (torch.rand(count, generator=generator) < density)).to(torch.int16)


def counted_bytes(codes: list[int], *, signed: bool) -> int:
    """The size, as the docstring has it, element by element."""
    blocks = [codes[i : i + 64] for i in range(0, len(codes), 64)]
    masks, by_width = 0, dict.fromkeys(range(10), 0)
    for block in blocks:
        nonzero = [c for c in block if c != 0]
        if nonzero:
            places = [2 * (abs(c) - 1) + (c < 0) if signed else c - 1 for c in nonzero]
            masks += 8
            by_width[max(places).bit_length()] += len(nonzero)
    streams = sum(-(-n * width // 8) for width, n in by_width.items())
    return (len(blocks) + 1) // 2 + masks + streams


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("density", [0, 0.01, 0.4, 1])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000, 4096])
def test_codes_come_back_in_the_bytes_of_the_formula(count: int, density: float, signed: bool) -> None:
    for largest in (1, 2, 100, 128 if signed else 256):
        codes = codes_of(count, signed=signed, density=density, largest=largest, seed=count)
        parts = encode(codes, signed=signed)
        assert torch.equal(decode(parts, count, signed=signed), codes)
        held = sum(part.numel() for part in parts)
        assert held == num_bytes(codes, signed=signed) == counted_bytes(codes.tolist(), signed=signed)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("count", [0, 1, 65, 4096, PIECE, PIECE + 1, 3 * PIECE + 77])
def test_native_code_and_torch_operations_agree(
    count: int, signed: bool, threads: int, request: pytest.FixtureRequest
) -> None:
    choices = [(density, largest) for density in (0.0, 0.003, 0.5, 1.0) for largest in (1, 5, 128)]
    tensors = [codes_of(count, signed=signed, density=d, largest=n, seed=count) for d, n in choices]
    with on_threads(threads):
        native = [encode(codes, signed=signed) for codes in tensors]
        sizes = [num_bytes(codes, signed=signed) for codes in tensors]
        for codes, parts in zip(tensors, native, strict=True):
            assert torch.equal(decode(parts, count, signed=signed), codes)
    request.getfixturevalue("without_native")
    for codes, parts, size in zip(tensors, native, sizes, strict=True):
        assert all(map(torch.equal, encode(codes, signed=signed), parts))
        assert torch.equal(decode(parts, count, signed=signed), codes)
        assert num_bytes(codes, signed=signed) == size == sum(part.numel() for part in parts)


@pytest.mark.parametrize("signed", [False, True])
def test_every_code_there_is_comes_back(signed: bool) -> None:
    codes = torch.arange(-128, 129) if signed else torch.arange(257)
    for order in (codes, codes.flip(0), codes.repeat_interleave(64)):
        whole = order.to(torch.int16)
        assert torch.equal(decode(encode(whole, signed=signed), len(whole), signed=signed), whole)


def test_zeros_take_half_a_byte_for_64() -> None:
    assert num_bytes(torch.zeros(64 * 100, dtype=torch.int16), signed=False) == 50


def test_ones_alone_take_their_mask_only() -> None:
    codes = torch.zeros(64 * 4, dtype=torch.int16)
    codes[::3] = 1
    assert encode(codes, signed=False).codes.numel() == 0


DAMAGES = {
    "a width less": (lambda p: p._replace(widths=p.widths[:-1]), "widths take 7 bytes, expected 8"),
    "widths too large": (lambda p: p._replace(widths=p.widths | 0x0F), "a width is more than 9"),
    "a mask less": (lambda p: p._replace(masks=p.masks[:-8]), "masks are not of as many blocks"),
    "a byte of a mask less": (lambda p: p._replace(masks=p.masks[:-1]), "masks are not of as many blocks"),
    "an empty mask": (lambda p: p._replace(masks=p.masks * 0), "widths and masks"),
    "bits after the last code": (lambda p: p._replace(masks=p.masks | 0xFF), "widths and masks"),
    "a code less": (lambda p: p._replace(codes=p.codes[:-1]), "codes take"),
    "a code more": (lambda p: p._replace(codes=torch.cat([p.codes, p.codes[:1]])), "codes take"),
    "codes of another type": (lambda p: p._replace(codes=p.codes.to(torch.int32)), "codes are torch.int32"),
    "masks in two dimensions": (lambda p: p._replace(masks=p.masks.view(-1, 8)), "masks are .* of 2"),
}


@pytest.mark.parametrize("way", ["native", "torch"])
@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_told(name: str, way: str, request: pytest.FixtureRequest) -> None:
    change, message = DAMAGES[name]
    codes = codes_of(1000, signed=True, density=0.5, largest=128)
    parts: CodeBlocks = change(encode(codes, signed=True))  # type: ignore[no-untyped-call]
    if way == "torch":
        request.getfixturevalue("without_native")
    with pytest.raises(ValueError, match=rf"packed bytes are damaged: .*{message}"):
        decode(parts, 1000, signed=True)
