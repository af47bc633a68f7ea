"""Scaled fixed point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from halfbyte.activations.codecs import bits as masks
from halfbyte.activations.codecs import fixed_point
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.channels import around_channels, keep_channels, put_channels_back
from halfbyte.activations.codecs.dtypes import ONE, check_float
from halfbyte.activations.codecs.layout import Layout

__all__ = ["Sfpr"]


@dataclass(frozen=True)
class Sfpr(Codec):
    """Every channel in fixed point, scaled by its largest magnitude m. 8 bits take a fourth of float32.

    A value is `code · step`, where `step = m / (headroom · 2^(bits - 1))`, or half of that when no element of
    the tensor is below 0: then codes have no sign. The error is at most `step / 2`, and the rounding of the
    tensor's own type; only what lies beyond the largest code becomes that code. Zero stays zero. A channel
    whose m is below 1e-36 becomes zero.

    A channel that holds NaN or Inf is kept exact. On other devices than the CPU, where that would mean to
    wait, coder "none" gives NaN for all of it instead.

    Args:
        bits: of a code: 8, or 4.
        headroom: 1 to 2. More than 1 clips large values for the sake of the others' precision: with 1.125,
            what is beyond 0.88 m (8 bits, signed).
        coder: "zvc" leaves out the codes of zeros, for one bit an element more. Zeros are told apart from
            what is rounded to zero, so the sign of what ReLU made is exact. 8 bits only.
        channel: dimension of the channels. None: 1 of maps and volumes (4 and 5 dimensions), the last of
            other tensors; tensors of less than 2 dimensions are one channel.

    Raises:
        ValueError: an option is not one of these.

    Source: JPEG-ACT (ISCA 2020) §III, "scaled fix-point precision reduction" and "zero-value compression".
    """

    bits: int = 8
    headroom: float = 1.125
    coder: Literal["none", "zvc"] = "none"
    channel: int | None = None

    def __post_init__(self) -> None:
        if self.bits not in (4, 8):
            raise ValueError(f"Sfpr: bits is {self.bits}, expected 4 or 8")
        if not 1 <= self.headroom <= 2:
            raise ValueError(f"Sfpr: headroom is {self.headroom}, expected 1 to 2")
        if self.coder not in ("none", "zvc"):
            raise ValueError(f"Sfpr: coder is {self.coder!r}, expected 'none' or 'zvc'")
        if self.coder == "zvc" and self.bits != 8:
            raise ValueError(f"Sfpr: coder 'zvc' takes 8 bits, not {self.bits}: use coder 'none'")

    @property
    def fixed_rate(self) -> bool:  # type: ignore[override]
        """Without a coder, as long as all channels are finite."""
        return self.coder == "none"

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        flat = layout.flat(x)
        shape = around_channels(layout, self.channel)
        levels = self.headroom * 2.0 ** (self.bits - 1)
        if self.coder == "zvc":
            parts, is_finite = fixed_point.encode_zvc(flat, shape, levels=levels)
        else:
            parts, is_finite = fixed_point.encode(flat, shape, bits=self.bits, levels=levels)
        if not is_finite:
            parts += keep_channels(flat, shape, parts[0].isnan())
        return Packed(self, layout, parts, detail=shape)

    def decode(self, packed: Packed) -> Tensor:
        layout, shape = packed.layout, packed.detail
        if self.coder == "zvc":
            codes, exact = packed.parts[:5], packed.parts[5:]
            flat = fixed_point.decode_zvc(codes, shape, layout.dtype)
        else:
            codes, exact = packed.parts[:3], packed.parts[3:]
            flat = fixed_point.decode(codes, shape, layout.dtype, bits=self.bits)
        if exact:
            put_channels_back(flat, shape, *exact)
        return layout.restore(flat)

    def holds_mask(self, packed: Packed) -> bool:
        return self.coder == "zvc" and bool(packed.parts[1])

    def decode_mask(self, packed: Packed) -> Tensor:
        if not self.holds_mask(packed):
            return super().decode_mask(packed)
        layout = packed.layout
        return layout.restore(masks.unpack(packed.parts[2], layout.numel, layout.dtype, ONE[layout.dtype]))

    def __str__(self) -> str:
        return f"Sfpr({self.bits} bits)" if self.coder == "none" else f"Sfpr({self.bits} bits, {self.coder})"
