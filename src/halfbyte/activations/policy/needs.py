"""What backward needs of a saved tensor: a table, proven by a test that spoils the rest and compares
gradients.
"""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXACT_FIELDS", "EXACT_NODES", "NEEDS", "NEVER_NEGATIVE", "Need", "need_of", "register_need"]


class Need(IntEnum):
    """What a backward formula reads of a tensor that it saved. Of several savers the greatest need counts,
    except that SIGN beside VALUE asks for a value and an exact mask.
    """

    SHAPE = 0
    """Nothing but size and type."""
    SIGN = 1
    """Whether each element is > 0, <= 0 or NaN."""
    TWO_VALUES = 2
    """The value. It may be one of only two, 0 and a constant (the noise of dropout); whether it is, is looked
    at.
    """
    VALUE = 3
    """The value; a lossy one changes the gradient a little."""
    EXACT = 4
    """The value, exactly: weights, statistics, and what a loss reads."""


_TABLE: dict[tuple[str, str], Need] = {
    ("MaxPool2DWithIndicesBackward0", "self"): Need.SHAPE,
    ("MaxPool3DWithIndicesBackward0", "self"): Need.SHAPE,
    ("AvgPool2DBackward0", "self"): Need.SHAPE,
    ("AvgPool3DBackward0", "self"): Need.SHAPE,
    ("AdaptiveAvgPool2DBackward0", "self"): Need.SHAPE,
    ("AdaptiveAvgPool3DBackward0", "self"): Need.SHAPE,
    ("AdaptiveMaxPool2DBackward0", "self"): Need.SHAPE,
    ("AdaptiveMaxPool3DBackward0", "self"): Need.SHAPE,
    ("ReflectionPad1DBackward0", "self"): Need.SHAPE,
    ("ReflectionPad2DBackward0", "self"): Need.SHAPE,
    ("ReflectionPad3DBackward0", "self"): Need.SHAPE,
    ("ReplicationPad1DBackward0", "self"): Need.SHAPE,
    ("ReplicationPad2DBackward0", "self"): Need.SHAPE,
    ("ReplicationPad3DBackward0", "self"): Need.SHAPE,
    ("GatherBackward0", "self"): Need.SHAPE,
    ("NllLossBackward0", "self"): Need.SHAPE,
    ("NllLoss2DBackward0", "self"): Need.SHAPE,
    ("ReluBackward0", "result"): Need.SIGN,
    ("LeakyReluBackward0", "self"): Need.SIGN,
    ("LeakyReluBackward1", "result"): Need.SIGN,
    ("MulBackward0", "self"): Need.TWO_VALUES,
    ("MulBackward0", "other"): Need.TWO_VALUES,
    # Casts of frozen weights, and weights computed from others (weight norm, adapters), tell by nothing else.
    ("AddmmBackward0", "mat2"): Need.EXACT,
    ("MmBackward0", "mat2"): Need.EXACT,
    ("LinearBackward0", "weight"): Need.EXACT,
    ("ConvolutionBackward0", "weight"): Need.EXACT,
    ("CudnnConvolutionBackward0", "weight"): Need.EXACT,
    ("CudnnRnnBackward0", "weight"): Need.EXACT,
    # All that a compiled region saves is one node's; copies of weights are among it and look like any other.
    ("CompiledFunctionBackward", "tensors"): Need.EXACT,
    ("NativeBatchNormBackward0", "result1"): Need.EXACT,
    ("NativeBatchNormBackward0", "result2"): Need.EXACT,
    ("NativeLayerNormBackward0", "result1"): Need.EXACT,
    ("NativeLayerNormBackward0", "result2"): Need.EXACT,
    ("NativeGroupNormBackward0", "result1"): Need.EXACT,
    ("NativeGroupNormBackward0", "result2"): Need.EXACT,
}

NEEDS: Mapping[tuple[str, str], Need] = MappingProxyType(_TABLE)
"""Node and field to need. What is not listed needs its value."""

NEVER_NEGATIVE = frozenset({("ReluBackward0", "result")})
"""Where SIGN is asked of a tensor without negative elements: what is not > 0 in it is 0."""


# Parts of names, as of SmoothL1LossBackward0 and CudnnCtcLossBackward0. An L1 loss written by hand is an
# absolute value, whose gradient jumps at 0, where lossy values end up.
EXACT_NODES = ("Loss", "BinaryCrossEntropy", "KlDiv", "AbsBackward", "LogSoftmax")
"""Nodes with one of these in their name read values exactly: the gradient starts from them, and they are few.
"""

EXACT_FIELDS = ("logsumexp",)
"""Likewise fields: the statistics of attention."""


def need_of(node: str, field: str) -> Need:
    """What this node's backward reads of this field."""
    need = _TABLE.get((node, field))
    if need is not None:
        return need
    exact = field in EXACT_FIELDS or any(name in node for name in EXACT_NODES)
    return Need.EXACT if exact else Need.VALUE


def register_need(node: str, field: str, need: Need) -> None:
    """Say what an operator's backward reads of a tensor that it saves.

    Args:
        node: the name of its autograd node: `y.grad_fn.name()`.
        field: the field's name, as in `y.grad_fn._raw_saved_<field>`; "tensors" for an `autograd.Function`,
            of which all saved tensors get this need.
        need: too little gives wrong gradients: try it with what backward does not read replaced by NaN.

    Raises:
        ValueError: if built-in entries would get a smaller need.
    """
    known = _TABLE.get((node, field))
    if known is not None and need < known:
        raise ValueError(
            f"{node}.{field} needs {known.name}, got {need.name}; a saver's need can be raised, not lowered"
        )
    _TABLE[node, field] = need
