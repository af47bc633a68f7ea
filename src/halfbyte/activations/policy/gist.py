"""The encodings of GIST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.codecs.zero_value import ZeroValue
from halfbyte.activations.policy.roles import is_relu_output
from halfbyte.activations.policy.saved_tensor import Plan, Policy, SavedTensor

__all__ = ["GistPolicy", "gist"]


@dataclass(frozen=True)
class GistPolicy(Policy):
    """See `gist`."""

    cast: Literal["float16", "bfloat16"] = "float16"

    def __post_init__(self) -> None:
        Cast(self.cast)

    def plan(self, saved: SavedTensor) -> Plan:
        return self._narrow(saved) if _is_wide(saved) else self._keep(saved)

    def _narrow(self, saved: SavedTensor) -> Plan:
        return Plan(ZeroValue(cast=self.cast) if is_relu_output(saved) else Cast(self.cast))

    def _keep(self, saved: SavedTensor) -> Plan:
        return Plan(ZeroValue()) if is_relu_output(saved) else Plan(None, "has 16 bits already")


def gist(cast: Literal["float16", "bfloat16"] = "float16") -> GistPolicy:
    """What only ReLU and pooling read in one bit an element, ReLU outputs that a convolution reads without
    their zeros and in half precision, everything else in half precision: about half of the bytes, with hardly
    any error.

    GIST keeps sparse values as compressed rows, with a byte for the place of each; here a mask tells the
    places, which is smaller wherever more than one value in nine is not zero.

    Args:
        cast: the type of what is kept: "float16" is GIST's; "bfloat16" holds values of any size, with 3 bits
            less of precision.

    Raises:
        ValueError: `cast` is none of the two.

    Source: GIST (ISCA 2018): binarize, sparse storage and dense compute, delayed precision reduction.
    """
    return GistPolicy(cast)


def _is_wide(saved: SavedTensor) -> bool:
    return saved.dtype is torch.float32
