"""Tensors that live as long as the model: parameters, buffers, and what is only another view or type of them.
Holding them in fewer bytes would free nothing, and their values count in every gradient.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from halfbyte.activations.policy.parameters import DERIVING, parameter_behind

__all__ = ["ModelState", "is_plain"]

_NOT_PLAIN = frozenset(
    dtype
    for name in ("complex32", "complex64", "complex128", "quint8", "qint8", "qint32", "quint4x2", "quint2x4")
    if (dtype := getattr(torch, name, None)) is not None
)


class ModelState:
    """The storages of parameters and buffers, as they are now. Without a model: what a tensor itself tells.

    Args:
        modules: that hold them themselves, from `ModelState.holders`.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        tensors = [t for m in modules for held in (m._parameters, m._buffers) for t in held.values()]
        # Sharded tensors have no storage of their own to ask for.
        self._storages = {
            tensor.untyped_storage().data_ptr()
            for tensor in tensors
            if tensor is not None and type(tensor) in (nn.Parameter, Tensor)
        }
        self._storages.discard(0)

    @staticmethod
    def holders(model: nn.Module | None) -> list[nn.Module]:
        """The modules of a model that have parameters or buffers of their own."""
        return [] if model is None else [m for m in model.modules() if m._parameters or m._buffers]

    def holds(self, t: Tensor, node: Any, *, plain: bool) -> bool:
        """Whether `t`, whose grad_fn is `node` or None, belongs to a model's state."""
        if node is None:
            if t.requires_grad or type(t) is nn.Parameter:
                return True
        elif type(node).__name__ in DERIVING and parameter_behind(node) is not None:
            return True
        return plain and t.untyped_storage().data_ptr() in self._storages


def is_plain(t: Tensor) -> bool:
    """Whether `t` is what its memory holds: no subclass, not sparse, nested, quantized, complex, negated when
    read, without memory (on the meta device, or a zero that stands for many), and not a dual number of
    forward-mode differentiation, whose tangent would have to be encoded with it.
    """
    return (
        type(t) is Tensor
        and t.layout is torch.strided
        and t.dtype not in _NOT_PLAIN
        and not (t.is_neg() or t.is_nested or t.is_meta or t._is_zerotensor())
        and getattr(forward_ad, "_current_level", -1) < 0
    )
