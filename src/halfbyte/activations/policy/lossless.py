"""Nothing but exact encodings."""

from __future__ import annotations

from dataclasses import dataclass

from halfbyte.activations.codecs.zero_value import ZeroValue
from halfbyte.activations.policy.roles import is_relu_output
from halfbyte.activations.policy.saved_tensor import Plan, Policy, SavedTensor

__all__ = ["LosslessPolicy", "lossless"]


@dataclass(frozen=True)
class LosslessPolicy(Policy):
    """See `lossless`."""

    zero_value: bool = True

    def plan(self, saved: SavedTensor) -> Plan:
        if self.zero_value and is_relu_output(saved):
            return Plan(ZeroValue())
        return Plan(None, "only exact encodings")


def lossless(zero_value: bool = True) -> LosslessPolicy:
    """Gradients stay bit for bit what they are: signs in one bit, masks, indices and shapes for what needs no
    more, zeros left out of ReLU outputs, and everything else as it is.

    Args:
        zero_value: leave zeros out of ReLU outputs whose values are needed, for one bit an element. It takes
            longer than a mask, and saves about the share of zeros.

    Source: zero-value compression of cDMA (HPCA 2018).
    """
    return LosslessPolicy(zero_value)
