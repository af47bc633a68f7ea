"""Elements within an absolute error, in as few bytes as their integers need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from halfbyte.activations.codecs import integer_pieces
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.dtypes import check_float
from halfbyte.activations.codecs.grid import Grid, grid_of
from halfbyte.activations.codecs.integer_pieces import Coder, Format
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.zero_value import ZeroValue

__all__ = ["Coder", "ErrorBounded"]


@dataclass(frozen=True)
class ErrorBounded(Codec):
    """Every element within an absolute error: |x' - x| ≤ bound, after rounding to the tensor's own type.

    Elements become integers, rint(x / (2 · bound)); these are predicted from those before them, where that
    makes them smaller, and coded without loss. Elements that this would not give back within the bound (over
    some millions of bounds, or too coarse in their type) are kept exact, and so are NaN and infinities. Zeros
    stay zero, -0 becomes 0, and no element gets the other sign; but small ones become 0, so that the mask of
    the tensor is not held, unless `signs`. A bound below 2⁻¹²⁰ counts as 0: all but zeros is kept exact. A
    tensor that would not become smaller is handed to `ZeroValue`: `why` of the packed tensor tells.

    A tensor is cut into pieces of 65,536 elements in memory order, which are coded by themselves.

    Args:
        bound: of the error, in the unit of the elements: finite and above 0.
        predictor: "lorenzo" predicts an integer from its neighbours before it: in a line, a plane or a volume
            of the last dimensions, whichever is best; "none" does not; "auto" takes what is best, by the
            information in a sample. Noise is best not predicted, and so is most of what ReLU leaves of it.
        coder: "huffman" codes each integer by how often it occurs in its piece, zeros apart from the rest
            where there are many; "fixed" gives all 512 integers of a block the bits that the greatest needs:
            larger, and several times faster. Blocks of zeros take next to nothing with either. Huffman coding
            is done on the CPU: tensors of other devices go there and come back.
        signs: what is not 0 does not become 0: elements become ⌈|x| / (2 · bound)⌉, with their sign, and come
            back as the middle of what gives that. So the mask is held, exactly, and errors do not depend on
            the size of an element. For what a ReLU put out: a mask beside it would take a bit an element.
        relative: `bound` is a share of the tensor's largest finite magnitude, instead of in its unit. Waits
            for the device.

    Raises:
        ValueError: an option is not one of these.

    Source: Jin et al., "COMET" (VLDB 2022); Tian et al., "cuSZ" (PACT 2020), dual quantization and Lorenzo
    prediction.
    """

    bound: float
    predictor: Literal["auto", "none", "lorenzo"] = "auto"
    coder: Coder = "huffman"
    signs: bool = False
    relative: bool = False

    fixed_rate = False

    def __post_init__(self) -> None:
        if not 0 < self.bound < math.inf:
            raise ValueError(f"ErrorBounded: bound is {self.bound}, expected a finite number above 0")
        choices = {"predictor": ("auto", "none", "lorenzo"), "coder": ("huffman", "fixed")}
        for option, allowed in choices.items():
            if (got := getattr(self, option)) not in allowed:
                expected = " or ".join(map(repr, allowed))
                raise ValueError(f"ErrorBounded: {option} is {got!r}, expected {expected}")

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        lags = () if self.predictor == "none" else _lags(layout)
        fewest = 0 if self.predictor == "auto" else 1
        flat = layout.flat(x)
        grid = grid_of(self._absolute(flat), signs=self.signs)
        parts, used = integer_pieces.encode(flat, self._format(layout, grid), lags, fewest=fewest)
        packed = Packed(self, layout, parts, detail=(grid, used))
        if packed.nbytes < layout.numel * layout.dtype.itemsize or layout.numel == 0:
            return packed
        exact = ZeroValue().encode(x)
        exact.why = f"takes no fewer bytes within {self.bound:g}"
        return exact

    def decode(self, packed: Packed) -> Tensor:
        layout, (grid, used) = packed.layout, packed.detail
        return layout.restore(
            integer_pieces.decode(packed.parts, layout.numel, self._format(layout, grid), used)
        )

    def _format(self, layout: Layout, grid: Grid) -> Format:
        return Format(layout.dtype, self.coder, grid)

    def _absolute(self, flat: Tensor) -> float:
        """The bound in the unit of the elements."""
        if not self.relative:
            return self.bound
        return self.bound * _largest(flat)

    def holds_mask(self, packed: Packed) -> bool:
        return self.signs

    def decode_mask(self, packed: Packed) -> Tensor:
        if not self.signs:
            return super().decode_mask(packed)
        x = self.decode(packed)
        return torch.where(x.isnan(), x, (x > 0).to(x.dtype))

    def __str__(self) -> str:
        options = [f"{self.bound:g}"]
        if self.predictor != "auto":
            options.append(self.predictor)
        if self.coder != "huffman":
            options.append(self.coder)
        options += [name for name in ("signs", "relative") if getattr(self, name)]
        return f"ErrorBounded({', '.join(options)})"


def _largest(flat: Tensor) -> float:
    """The largest magnitude that is finite."""
    if flat.numel() == 0:
        return 0.0
    least, greatest = (float(extreme) for extreme in flat.aminmax())
    largest = max(-least, greatest)
    if math.isfinite(least) and math.isfinite(largest):
        return largest
    return float(torch.where(flat.isfinite(), flat, 0).abs().max())


def _lags(layout: Layout) -> tuple[int, ...]:
    """How far in memory an element's neighbours are, along the last three dimensions that have any."""
    pairs = zip(reversed(layout.size), reversed(layout.restored_stride), strict=True)
    return tuple(stride for size, stride in pairs if size > 1 and stride != 0)[:3]
