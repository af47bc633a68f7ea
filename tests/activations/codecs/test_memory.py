"""Memory for what codecs write: whatever its size, it is there and it is written."""

from __future__ import annotations

import pytest
import torch

from halfbyte import _native
from halfbyte.activations.codecs import memory

MIB = 1 << 20


@pytest.mark.parametrize("nbytes", [0, 4, 8 * MIB - 4, 8 * MIB, 64 * MIB + 4])
def test_memory_has_the_size_that_was_asked_for(nbytes: int) -> None:
    x = memory.empty(nbytes // 4, torch.float32)
    assert x.shape == (nbytes // 4,)
    assert float(x.fill_(1).sum(dtype=torch.float64)) == nbytes // 4


@pytest.mark.parametrize(
    ("start", "nbytes"), [(0, 0), (1, 2 * MIB), (3, 4 * MIB), (4096, 7 * MIB), (0, 8 * MIB)]
)
def test_advice_leaves_what_is_in_memory(start: int, nbytes: int) -> None:
    x = torch.arange(8 * MIB, dtype=torch.int64).to(torch.uint8)
    was = x.clone()
    _native.advise_huge_pages(x.data_ptr() + start, nbytes)
    assert torch.equal(x, was)
