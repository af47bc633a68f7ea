"""Fixed-point codes: native ones are those of torch operations, and damaged ones are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensors import FLOATS, ISAS, assert_same, bits_of, normal, odd_tensors, on_threads, sparse, using_isa
from torch import Tensor

from halfbyte.activations.codecs import fixed_point
from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.sfpr import Sfpr

CODECS = (Sfpr(), Sfpr(bits=4), Sfpr(coder="zvc"))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small tensors by the thousand: threads would wait for each other most of the time."""
    with on_threads(1):
        yield


@contextmanager
def in_torch_operations() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixed_point, "runs_natively", lambda x: False)
        yield


def assert_same_parts(packed: Packed, expected: Packed) -> None:
    assert [part.dtype for part in packed.parts] == [part.dtype for part in expected.parts]
    for part, other in zip(packed.parts, expected.parts, strict=True):
        assert torch.equal(bits_of(part), bits_of(other))


def with_odd_channels(fill: Callable[..., Tensor], dtype: torch.dtype = torch.float32) -> Tensor:
    """Maps whose channels are ordinary, zero, -0, subnormal, tiny, huge, and three of them not finite."""
    x = fill(4, 9, 5, 6)
    for channel, factor in enumerate((1, 0, -0.0, 1e-40, 3e-36, 1e37)):
        x[:, channel] *= factor
    x[1, 6, 2, 3] = torch.nan
    x[2, 7, 0, 0] = torch.inf
    x[0, 8, 1, 1], x[3, 8, 4, 4] = torch.inf, torch.nan
    return x.to(dtype)


def assert_native_equals_torch(codec: Sfpr, x: Tensor) -> None:
    """The same parts and the same values, with every instruction set."""
    with in_torch_operations():
        expected = codec.encode(x)
        decoded = expected.decode()
    for isa in ISAS:
        with using_isa(isa):
            packed = codec.encode(x)
            assert_same_parts(packed, expected)
            assert_same(packed.decode(), decoded)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("fill", [normal(1), sparse(2)], ids=["normal", "sparse"])
def test_native_equals_torch_in_every_layout(
    codec: Sfpr, dtype: torch.dtype, fill: Callable[..., Tensor]
) -> None:
    for x in (*odd_tensors(fill, dtype), with_odd_channels(fill, dtype)):
        assert_native_equals_torch(codec, x)


@settings(max_examples=40)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 70), st.integers(1, 100)),
    codec=st.sampled_from(CODECS),
    dtype=st.sampled_from(FLOATS),
    seed=st.integers(0, 99),
)
def test_native_equals_torch_for_all_channels(
    shape: tuple[int, int, int], codec: Sfpr, dtype: torch.dtype, seed: int
) -> None:
    x = sparse(seed)(*shape).sub_(0.5 * (seed % 2)).to(dtype)
    assert_native_equals_torch(Sfpr(codec.bits, coder=codec.coder, channel=1), x)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_threads_do_not_change_the_bytes(codec: Sfpr) -> None:
    x = normal(11)(9, 33, 31, 29)
    with on_threads(1):
        alone = codec.encode(x)
        decoded = alone.decode()
    with on_threads(3):
        packed = codec.encode(x)
        assert_same_parts(packed, alone)
        assert torch.equal(packed.decode(), decoded)


def test_callers_on_many_threads_keep_their_codes_apart() -> None:
    codec = Sfpr(coder="zvc")
    tensors = [sparse(seed)(7 + seed, 5, 40, 40) for seed in range(12)]
    with ThreadPoolExecutor(4) as pool:
        decoded = list(pool.map(lambda x: codec.encode(x).decode(), tensors))
    for values, x in zip(decoded, tensors, strict=True):
        assert torch.equal(values, codec.encode(x).decode())


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_damaged_parts_are_refused(codec: Sfpr) -> None:
    x = normal(16)(3, 4, 80, 80).relu_()
    x[0, 1, 0, 0] = torch.nan
    packed = codec.encode(x)
    for i, part in enumerate(packed.parts):
        for damaged in (part[:-1], part.repeat(2, *[1] * (part.dim() - 1)), part.to(torch.int64)):
            parts = (*packed.parts[:i], damaged, *packed.parts[i + 1 :])
            with pytest.raises(ValueError, match="packed bytes are damaged"):
                Packed(codec, packed.layout, parts, packed.detail).decode()


MASK, COUNTS, CHANNELS = 2, 3, 5


@pytest.mark.parametrize("how", [*ISAS, "torch"])
@pytest.mark.parametrize(
    ("part", "place", "change"),
    [
        (MASK, 0, 1),
        (MASK, 5000, 128),
        (MASK, -1, 128),  # a bit behind the last element
        (COUNTS, 0, 1),
        (COUNTS, 2, 1 << 30),
        (COUNTS, 1, -(1 << 31)),
        (CHANNELS, 0, 4),
        (CHANNELS, 0, -7),
    ],
)
def test_damaged_zero_value_coding_is_refused(how: str, part: int, place: int, change: int) -> None:
    x = normal(17)(3, 4, 73, 81)
    x[x.abs() < 0.5] = 0
    x[0, 1, 0, 0] = torch.nan
    packed = Sfpr(coder="zvc").encode(x)
    packed.parts[part][place] ^= change
    with (
        in_torch_operations() if how == "torch" else using_isa(how),
        pytest.raises(ValueError, match="packed bytes are damaged"),
    ):
        packed.decode()


@pytest.mark.parametrize("isa", ISAS)
def test_counts_that_are_moved_are_refused(isa: str) -> None:
    packed = Sfpr(coder="zvc").encode(sparse(18)(70, 1000))
    packed.parts[COUNTS][0] += 1
    packed.parts[COUNTS][1] -= 1
    with using_isa(isa), pytest.raises(ValueError, match="mask, counts and codes do not fit each other"):
        packed.decode()


@pytest.mark.parametrize("codec", [Sfpr(), Sfpr(bits=4)], ids=str)
def test_fixed_rates_wait_for_no_device(codec: Sfpr) -> None:
    packed = codec.encode(torch.empty(2, 3, 5, 5, device="meta"))  # has no values to wait for
    assert packed.decode().shape == (2, 3, 5, 5)
    assert codec.fixed_rate
    assert not Sfpr(coder="zvc").fixed_rate
