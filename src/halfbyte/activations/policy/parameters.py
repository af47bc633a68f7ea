"""Parameters, told from what autograd records of them."""

from __future__ import annotations

from typing import Any

from torch import nn

__all__ = ["DERIVING", "parameter_behind"]

DERIVING = frozenset(
    f"{name}Backward0"
    for name in (
        "Alias",
        "AsStrided",
        "Detach",
        "Expand",
        "Permute",
        "ReshapeAlias",
        "Select",
        "Slice",
        "Split",
        "Squeeze",
        "T",
        "ToCopy",
        "Transpose",
        "Unbind",
        "UnsafeView",
        "Unsqueeze",
        "View",
    )
)
"""Nodes whose output is a view or a cast of their input."""

_LONGEST_CHAIN = 8


def parameter_behind(node: Any) -> nn.Parameter | None:
    """The parameter that a tensor with this grad_fn is a view or a cast of, as autocast's copies of weights
    are; None if it is none.
    """
    for _ in range(_LONGEST_CHAIN):
        if node is None:
            return None
        variable = getattr(node, "variable", None)
        if variable is not None:  # AccumulateGrad
            return variable if isinstance(variable, nn.Parameter) else None
        if type(node).__name__ not in DERIVING or len(node.next_functions) != 1:
            return None
        node = node.next_functions[0][0]
    return None
