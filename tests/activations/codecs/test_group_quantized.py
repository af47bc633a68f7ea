"""GroupQuantized: bytes, errors, and what random rounding promises."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensors import FLOATS, ISAS, assert_same, bits_of, normal, odd_tensors, on_threads, using_isa
from torch import Tensor

from halfbyte.activations.codecs import kernels
from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.group_quantized import GroupQuantized
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import group_quantized as reference

BITS = (1, 2, 3, 4, 8)
SCALES = (0.0, 1.0, 3e-42, 1e-37, 1e-20, 6e-5, 6e4, 1e30, 2e38)
"""Of neighbouring groups: subnormal numbers, steps around the least that counts, all that a type holds."""


def many_scales(count: int, dtype: torch.dtype) -> Tensor:
    scales = torch.tensor(SCALES).repeat_interleave(64).repeat(count // (64 * len(SCALES)) + 1)[:count]
    return (torch.rand(count, generator=torch.Generator().manual_seed(1)) * scales - 0.3 * scales).to(dtype)


def with_infinities(count: int, dtype: torch.dtype) -> Tensor:
    x = normal(2)(count).to(dtype)
    for i, value in enumerate((torch.nan, torch.inf, -torch.inf, torch.inf)):
        x[(i + 1) * count // 5] = value
    x[-1] = torch.nan
    return x


def in_torch(codec: GroupQuantized, x: Tensor, key: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """What the reference makes of `x`: parts, and decoded elements in memory order."""
    flat = Layout(x).flat(x)
    options = {"bits": codec.bits, "group": codec.group}
    parts = reference.encode(flat, **options, stochastic=codec.stochastic, key=key)
    return parts, reference.decode(*parts, count=flat.numel(), **options)


def assert_equals_reference(codec: GroupQuantized, x: Tensor, key: int = 77) -> None:
    parts, flat = in_torch(codec, x, key)
    for isa in ISAS:
        with using_isa(isa):
            packed = codec.encode(x, key=key)
            for part, expected in zip(packed.parts[:3], parts, strict=True):
                assert_same(part, expected)
            decoded = Packed(codec, packed.layout, packed.parts[:3])
            layout, own = decoded.layout, codec._decode_natively(*decoded.parts, decoded.layout)[0]
            assert own.isnan().equal(flat.isnan())
            assert_same(own.nan_to_num(), flat.nan_to_num())
            if len(packed.parts) == 3:
                assert_same(packed.decode(), layout.restore(flat), like=x)


@pytest.mark.parametrize("stochastic", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bits", BITS)
def test_native_equals_the_reference(bits: int, dtype: torch.dtype, stochastic: bool) -> None:
    codec = GroupQuantized(bits, stochastic=stochastic)
    for x in odd_tensors(normal(), dtype):
        assert_equals_reference(codec, x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("group", [32, 64, 96, 256, 992, 1024])
def test_groups_of_any_size(group: int, dtype: torch.dtype) -> None:
    for bits, count in product(BITS, (1, 7, 8, 31, 33, 100, group, group + 1, 3 * group - 1, 3 * group + 32)):
        assert_equals_reference(GroupQuantized(bits, group), normal(3)(count).to(dtype))


@pytest.mark.parametrize("stochastic", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bits", BITS)
def test_numbers_of_any_size(bits: int, dtype: torch.dtype, stochastic: bool) -> None:
    codec = GroupQuantized(bits, group=32, stochastic=stochastic)
    assert_equals_reference(codec, many_scales(3000, dtype))
    assert_equals_reference(codec, with_infinities(3001, dtype))
    zeros = torch.where(normal()(1000) > 0, 0.0, -0.0)
    assert_equals_reference(codec, zeros.to(dtype))
    assert_equals_reference(codec, torch.where(normal(1)(1000) > 1, -1.0, zeros).to(dtype))


@given(st.sampled_from(BITS), st.lists(st.integers(0, 255), max_size=70))
def test_codes_are_a_stream_of_bits(bits: int, codes: list[int]) -> None:
    codes = [code % (1 << bits) for code in codes]
    packed = reference.pack(torch.tensor(codes, dtype=torch.uint8), bits)
    stream = sum(code << i * bits for i, code in enumerate(codes))
    assert bytes(packed.tolist()) == stream.to_bytes((len(codes) * bits + 7) // 8, "little")
    assert reference.unpack(packed, len(codes), bits).tolist() == codes


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bits", BITS)
def test_size_follows_from_the_number_of_elements(bits: int, dtype: torch.dtype) -> None:
    for count in (0, 1, 255, 256, 257, 5000):
        packed = GroupQuantized(bits).encode(normal()(count).to(dtype))
        scales = -(-count // 256) * (dtype.itemsize + 2)
        assert packed.nbytes == -(-count * bits // 8) + scales
        assert packed.nbytes == GroupQuantized(bits).packed_bytes(count, dtype.itemsize)
        assert packed.why == ""


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("stochastic", [True, False])
def test_error_is_within_the_bound(bits: int, dtype: torch.dtype, stochastic: bool) -> None:
    x = torch.cat([normal(4)(64 * 256), normal(5)(300) * 1e4, normal(6)(212) * 1e-3]).to(dtype)
    packed = GroupQuantized(bits, stochastic=stochastic).encode(x, key=5)
    rows = x.double().view(-1, 256)
    levels = (1 << bits) - 1
    ideal = (rows.amax(1) - rows.amin(1)) / levels
    step = packed.parts[2].double()
    assert bool(((ideal * (1 - 1e-7) <= step) & (step <= 1.0079 * ideal)).all())
    error = (packed.decode().double().view(-1, 256) - rows).abs()
    rounding = rows.abs().amax(1) * torch.finfo(dtype).eps + step * levels * 2.0**-21
    bound = step * (1 if stochastic else 0.5) + rounding
    assert bool((error <= bound.unsqueeze(1)).all())
    assert float((error / step.unsqueeze(1)).max()) > (0.9 if stochastic else 0.45)


@pytest.mark.parametrize("bits", BITS)
def test_squared_range_is_that_of_each_elements_group(bits: int) -> None:
    codec = GroupQuantized(bits, group=32)
    x = torch.tensor([0.0, 1.0, 3.0, torch.inf, 2.0, 0.0]).repeat_interleave(16)
    # Groups of range 1, an infinite one, 2; then a short one of range 4.
    x = torch.cat([x, torch.tensor([-1.0, 3.0, 0.0])])
    packed = codec.encode(x)
    assert float(codec.squared_range(packed)) == pytest.approx(32 * 1 + 32 * 4 + 3 * 16, rel=0.02)
    assert float(codec.squared_range(codec.encode(torch.empty(0)))) == 0


@pytest.mark.parametrize("bits", BITS)
def test_random_rounding_is_right_on_average(bits: int) -> None:
    x = torch.cat([normal(7)(1024), torch.rand(1024, generator=torch.Generator().manual_seed(8)) ** 4])
    codec = GroupQuantized(bits)
    trials = 500
    decoded = torch.stack([codec.encode(x, key=key).decode() for key in range(trials)]).double()
    step = codec.encode(x).parts[2].double().repeat_interleave(256)
    above = (x.double() - codec.encode(x).parts[1].double().repeat_interleave(256)) / step
    share = above - above.floor()  # of trials that should round up
    variance = share * (1 - share) * step**2
    varied = share * (1 - share) * trials > 25  # else z is not normal
    z = ((decoded.mean(0) - x.double()) / (variance / trials).sqrt())[varied]
    assert float(z.abs().max()) < 5
    assert abs(float(z.mean())) < 5 / len(z) ** 0.5
    assert abs(float(z.square().mean()) - 1) < 0.2
    assert bool((decoded.var(0) <= step**2 / 4 * (1 + 1e-2)).all())
    assert float((decoded.var(0) / variance)[varied].mean()) == pytest.approx(1, abs=0.02)


def test_errors_of_neighbours_and_of_keys_are_uncorrelated() -> None:
    x = normal(9)(1 << 14)
    codec = GroupQuantized(2)
    one, other = (codec.encode(x, key=key).decode() - x for key in (1, 2))
    for a, b in ((one[1:], one[:-1]), (one[256:], one[:-256]), (one, other)):
        assert abs(float(torch.corrcoef(torch.stack([a, b]))[0, 1])) < 4.5 / len(a) ** 0.5


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("isa", ISAS)
def test_groups_of_one_value_are_exact(isa: str, dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, 1.0, -3.7, 6e-8, 1e-40, 60000.0]).to(dtype).repeat_interleave(32)
    with using_isa(isa):
        for bits in BITS:
            assert_same(GroupQuantized(bits, group=32).encode(x, key=3).decode(), x)
        assert torch.equal(GroupQuantized().encode(torch.full((300,), -0.0)).decode(), torch.zeros(300))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("isa", ISAS)
def test_groups_with_infinities_are_exact(isa: str, dtype: torch.dtype) -> None:
    codec = GroupQuantized(4, group=64)
    x = with_infinities(1000, dtype)
    touched = torch.zeros(16 * 64, dtype=torch.bool)
    for i in (200, 400, 600, 800, 999):
        touched[i // 64 * 64 : (i // 64 + 1) * 64] = True
    touched = touched[:1000]
    with using_isa(isa):
        packed = codec.encode(x, key=1)
        assert packed.why == "5 groups with NaN, infinity or nearly infinite numbers are kept exact"
        assert packed.parts[3].numel() == int(touched.sum())
        decoded = packed.decode()
        assert torch.equal(bits_of(decoded[touched]), bits_of(x[touched]))
        expected = codec.encode(torch.where(touched, 0, x), key=1).decode()
        assert torch.equal(decoded[~touched], expected[~touched])


def test_numbers_that_could_overflow_are_exact() -> None:
    # With the step rounded up, the greatest would become 65600, which is infinite as float16.
    x = torch.linspace(0, 65504, 256).to(torch.float16)
    packed = GroupQuantized(2).encode(x)
    assert packed.why != ""
    assert torch.equal(packed.decode(), x)


def test_too_small_steps_count_as_none() -> None:
    x = torch.linspace(1e-39, 3e-38, 256)
    assert torch.equal(GroupQuantized(2).encode(x).decode(), torch.full((256,), 1e-39))


def test_key_decides_the_bytes() -> None:
    x = normal()(5000)
    same, again, other = (GroupQuantized().encode(x, key=key).parts[0] for key in (1, 1, (1 << 64) - 1))
    assert torch.equal(same, again)
    assert not torch.equal(same, other)
    nearest = GroupQuantized(stochastic=False)
    assert torch.equal(nearest.encode(x, key=1).parts[0], nearest.encode(x, key=2).parts[0])


def test_threads_change_nothing() -> None:
    x = normal()(7, 1 << 16)
    codec = GroupQuantized(3, group=96)
    results = []
    for threads in (1, 2, 3):
        with on_threads(threads):
            packed = codec.encode(x, key=9)
            results.append((packed.parts[0], packed.decode()))
    for codes, decoded in results[1:]:
        assert torch.equal(codes, results[0][0])
        assert torch.equal(decoded, results[0][1])


def test_torch_draws_the_same_afterwards() -> None:
    x = normal()(1000)
    before = torch.get_rng_state()
    packed = GroupQuantized().encode(x, key=4)
    packed.decode()
    in_torch(GroupQuantized(), x, 4)
    assert torch.equal(torch.get_rng_state(), before)


def test_argument_stays_as_it_is() -> None:
    x = with_infinities(1000, torch.float32)
    before = x.clone()
    packed = GroupQuantized().encode(x)
    x.zero_()
    decoded = packed.decode()
    assert torch.equal(bits_of(packed.decode()), bits_of(decoded))
    assert decoded.isnan().equal(before.isnan())


def test_other_devices_do_it_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = GroupQuantized(3)
    x = normal()(3, 50, 7).transpose(0, 1)
    packed = codec.encode(x, key=2)
    expected = packed.decode()
    broken = with_infinities(1000, torch.float32)
    monkeypatch.setattr(kernels, "runs_natively", lambda x: False)
    other = codec.encode(x, key=2)
    for part, own in zip(other.parts, packed.parts, strict=True):
        assert_same(part, own)
    assert_same(other.decode(), expected)
    assert codec.encode(broken).decode().view(-1)[200].isnan()
    with pytest.raises(ValueError, match="packed bytes are damaged: bytes of codes are 1, expected 394"):
        Packed(codec, other.layout, (other.parts[0][:1], *other.parts[1:])).decode()
    with pytest.raises(ValueError, match="damaged: 1 least elements and 5 steps, expected 5"):
        Packed(codec, other.layout, (other.parts[0], other.parts[1][:1], other.parts[2])).decode()


def damaged_parts() -> dict[str, tuple[tuple[Tensor, ...], str]]:
    codes, least, steps, exact = GroupQuantized().encode(with_infinities(1000, torch.float32)).parts
    none = torch.zeros_like(steps)
    return {
        "fewer codes": ((codes[:-1], least, steps, exact), "bytes of codes are 249, expected 250"),
        "more codes": ((torch.cat([codes, codes]), least, steps), "bytes of codes are 500, expected 250"),
        "fewer least elements": ((codes, least[1:], steps), "least elements are 3, expected 4"),
        "fewer steps": ((codes, least, steps[1:]), "steps are 3, expected 4"),
        "no exact elements": ((codes, least, steps), "0 elements are kept exact, expected 1000"),
        "fewer exact elements": (
            (codes, least, steps, exact[1:]),
            "999 elements are kept exact, expected 1000",
        ),
        "unasked exact elements": ((codes, least, none, exact), "1000 elements are kept exact, expected 0"),
        "no steps": ((codes, least), "parts of types"),
        "wrong types": ((codes, steps, least), "parts of types"),
    }


@pytest.mark.parametrize("name", damaged_parts())
def test_damaged_parts_are_refused(name: str) -> None:
    parts, message = damaged_parts()[name]
    layout = Layout(torch.empty(1000))
    with pytest.raises(ValueError, match=f"packed bytes are damaged: {message}"):
        Packed(GroupQuantized(), layout, parts).decode()


def test_any_bytes_decode() -> None:
    # Codes, least elements and steps may hold anything: all of it is some number.
    generator = torch.Generator().manual_seed(0)
    for bits, count in product(BITS, (1, 100, 1000)):
        packed = GroupQuantized(bits, group=32).encode(torch.zeros(count))
        codes, least, _ = packed.parts
        codes.random_(generator=generator)
        least.view(torch.int32).random_(generator=generator)
        assert packed.decode().shape == (count,)


@pytest.mark.parametrize(
    "options", [{"bits": 5}, {"bits": 0}, {"group": 16}, {"group": 100}, {"group": 2048}]
)
def test_wrong_options_are_refused(options: dict[str, int]) -> None:
    name, value = next(iter(options.items()))
    with pytest.raises(ValueError, match=f"GroupQuantized with {name}={value}, expected"):
        GroupQuantized(**options)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.complex64])
def test_other_types_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=rf"GroupQuantized\(2 bits\) encodes .* not {dtype}"):
        GroupQuantized().encode(torch.zeros(4, dtype=dtype))
