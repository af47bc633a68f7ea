"""The run-length coder against T.81, spelled out in plain Python."""

from __future__ import annotations

import heapq

import pytest
import torch
from smooth_maps import one_thread
from torch import Tensor

from halfbyte.activations.codecs import run_lengths
from halfbyte.activations.codecs.coded_tiles import Zvc
from halfbyte.activations.codecs.maps import MapShape

__all__ = ["one_thread"]

ONE_PIECE = MapShape(2, 40, 48, 1, 1)
PIECES = MapShape(300, 16, 16, 1, 3)


def random_tiles(shape: MapShape, density: float, seed: int) -> tuple[Zvc, list[list[int]]]:
    """Coded tiles, and all 64 codes of each."""
    generator = torch.Generator().manual_seed(seed)
    size = (shape.tiles, 64)
    codes = (torch.randn(size, generator=generator) ** 5 * 3).round().clamp(-128, 127)
    codes[codes == 0] = 1
    codes[torch.rand(size, generator=generator) >= density] = 0
    nonzero = codes != 0
    masks = (nonzero.long() << torch.arange(64)).sum(1)
    of_piece = -(-shape.tiles // shape.pieces)
    counts = torch.stack(
        [part.sum() for part in nonzero.sum(1).split(shape.piece[0] * shape.rows * shape.columns)]
    )
    assert of_piece <= 512
    return Zvc(masks, counts, codes[nonzero].to(torch.int8).view(torch.uint8)), codes.int().tolist()


def spell(codes: list[int]) -> list[tuple[int, str]]:
    """A tile's symbols, each with the bits that follow it (T.81, F.1.2.2)."""
    spelled, zeros = [], 0
    for code in codes:
        if code == 0:
            zeros += 1
            continue
        while zeros > 15:
            spelled.append((0xF0, ""))
            zeros -= 16
        size = abs(code).bit_length()
        low_bits = code if code > 0 else code + (1 << size) - 1
        spelled.append((zeros << 4 | size, f"{low_bits:0{size}b}"))
        zeros = 0
    if zeros:
        spelled.append((0x00, ""))
    return spelled


def canonical(lengths: list[int]) -> dict[int, str]:
    """The words: shorter ones first, and among equals by symbol; each the successor of the one before."""
    words, word, last = {}, 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(lengths) if length):
        word <<= length - last
        words[symbol] = f"{word:0{length}b}"
        word, last = word + 1, length
    return words


def least_bits(frequencies: list[int]) -> int:
    """Of a Huffman code, without limits, that keeps one word free."""
    heap = [0, *frequencies]
    heapq.heapify(heap)
    total = 0
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        total += both
        heapq.heappush(heap, both)
    return total


@pytest.mark.parametrize("density", [0, 0.02, 0.2, 0.6, 1])
def test_the_stream_is_that_of_the_standard(density: float) -> None:
    tiles, codes = random_tiles(ONE_PIECE, density, seed=1)
    coded = run_lengths.encode(tiles, ONE_PIECE)
    words = canonical(coded.lengths.tolist())
    bits = "".join(words[symbol] + extra for tile in codes for symbol, extra in spell(tile))
    padded = bits + "1" * (-len(bits) % 8)
    assert bytes(coded.stream.tolist()) == int(padded, 2).to_bytes(len(padded) // 8, "big")
    assert coded.byte_counts.tolist() == [len(padded) // 8]


@pytest.mark.parametrize("density", [0.05, 0.4])
def test_the_code_is_the_best(density: float) -> None:
    tiles, codes = random_tiles(ONE_PIECE, density, seed=2)
    lengths = run_lengths.encode(tiles, ONE_PIECE).lengths.tolist()
    frequencies = [0] * 256
    for symbol, _ in (pair for tile in codes for pair in spell(tile)):
        frequencies[symbol] += 1
    assert [length > 0 for length in lengths] == [frequency > 0 for frequency in frequencies]
    spent = sum(length * frequency for length, frequency in zip(lengths, frequencies, strict=True))
    assert spent == least_bits([frequency for frequency in frequencies if frequency])


@pytest.mark.parametrize("shape", [MapShape(1, 4, 5, 1, 1), ONE_PIECE, PIECES, MapShape(2, 20, 9, 70, 70)])
@pytest.mark.parametrize("density", [0, 0.01, 0.3, 1])
def test_tiles_come_back(shape: MapShape, density: float) -> None:
    if shape.inner > 1:
        shape = MapShape(shape.planes * shape.inner, shape.height, shape.width, 1, shape.channels)
    tiles, _ = random_tiles(shape, density, seed=3)
    assert all(map(torch.equal, run_lengths.decode(run_lengths.encode(tiles, shape), shape), tiles))


def test_each_code_from_lowest_to_highest() -> None:
    shape = MapShape(1, 32, 8, 1, 1)
    values = torch.tensor([v for v in range(-128, 128) if v] + [1], dtype=torch.int8)
    tiles = Zvc(torch.full((4,), -1), torch.tensor([256]), values.view(torch.uint8))
    assert torch.equal(run_lengths.decode(run_lengths.encode(tiles, shape), shape).codes, tiles.codes)


def changed(part: Tensor, at: int, value: int) -> Tensor:
    part = part.clone()
    part.view(-1)[at] = value
    return part


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        *(("counts", 0, -1), ("counts", 1, 10**12), ("counts", 0, 0)),
        *(("byte_counts", 0, -1), ("byte_counts", 0, 10**12), ("byte_counts", 1, 0)),
        *(("lengths", 0, 17), ("lengths", 0, 0), ("lengths", 3, 1)),
    ],
)
def test_wrong_numbers_are_refused(name: str, at: int, value: int) -> None:
    coded = run_lengths.encode(random_tiles(PIECES, 0.3, seed=4)[0], PIECES)
    wrong = coded._replace(**{name: changed(getattr(coded, name), at, value)})
    with pytest.raises(ValueError, match="packed bytes are damaged"):
        run_lengths.decode(wrong, PIECES)


def test_a_stream_that_ends_early_or_late_is_refused() -> None:
    tiles, _ = random_tiles(ONE_PIECE, 0.3, seed=5)
    coded = run_lengths.encode(tiles, ONE_PIECE)
    for stream in (coded.stream[:-1], torch.cat([coded.stream, coded.stream[:1]])):
        wrong = coded._replace(stream=stream.clone(), byte_counts=torch.tensor([stream.numel()]))
        with pytest.raises(ValueError, match="the stream is not of tiles with these counts"):
            run_lengths.decode(wrong, ONE_PIECE)
