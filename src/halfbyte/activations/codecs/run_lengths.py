"""Run-length and Huffman coding of coded tiles, as in JPEG (T.81, F.1.2.2): lossless, and done on the CPU."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import memory
from halfbyte.activations.codecs.coded_tiles import Zvc, check_part
from halfbyte.activations.codecs.kernels import num_threads
from halfbyte.activations.codecs.maps import MapShape

__all__ = ["RunLengths", "decode", "encode"]


class RunLengths(NamedTuple):
    """Coded tiles as a stream of bits.

    Attributes:
        counts: int64 (pieces,): the codes in each piece that are not 0.
        lengths: uint8 (256,): bits of the code word of each symbol; words are canonical.
        byte_counts: int64 (pieces,): bytes of each piece.
        stream: uint8: these bytes.
    """

    counts: Tensor
    lengths: Tensor
    byte_counts: Tensor
    stream: Tensor


def encode(tiles: Zvc, shape: MapShape) -> RunLengths:
    """The shortest code for these tiles, and the tiles in it. Tiles of another device go to the CPU and come
    back.
    """
    device = tiles.masks.device
    tiles = Zvc(*(part.cpu() for part in tiles))
    lengths = torch.empty(256, dtype=torch.uint8)
    byte_counts = torch.empty_like(tiles.counts)
    threads, addresses = num_threads(), [part.data_ptr() for part in (*tiles, lengths, byte_counts)]
    stream = torch.empty(_native.jpeg_act_rle_measure(shape, threads, *addresses), dtype=torch.uint8)
    addresses.append(stream.data_ptr())
    _native.jpeg_act_rle_write(shape, threads, *addresses)
    return RunLengths(*(part.to(device) for part in (tiles.counts, lengths, byte_counts, stream)))


def decode(coded: RunLengths, shape: MapShape) -> Zvc:
    """The tiles.

    Raises:
        ValueError: `encode` did not make this.
    """
    device = coded.stream.device
    counts, lengths, byte_counts, stream = coded = RunLengths(*(part.cpu() for part in coded))
    check_part(counts, "counts", torch.int64, shape.pieces)
    check_part(lengths, "lengths", torch.uint8, 256)
    check_part(byte_counts, "byte counts", torch.int64, shape.pieces)
    check_part(stream, "stream", torch.uint8, stream.numel())
    num_codes = int(counts.sum())
    if not 0 <= num_codes <= 64 * shape.tiles:
        raise ValueError(f"packed bytes are damaged: {num_codes} codes for {shape.tiles} tiles")
    masks = torch.empty(shape.tiles, dtype=torch.int64)
    codes = memory.empty(num_codes, torch.uint8)
    addresses = [part.data_ptr() for part in (masks, counts, codes, lengths, byte_counts, stream)]
    if not _native.jpeg_act_rle_read(shape, num_codes, stream.numel(), num_threads(), *addresses):
        raise ValueError("packed bytes are damaged: the stream is not of tiles with these counts")
    return Zvc(*(part.to(device) for part in (masks, counts, codes)))
