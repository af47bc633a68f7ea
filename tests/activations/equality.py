"""Is training under compression the same training: outputs, gradients and buffers, bit for bit?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.engine import compress as entering
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.engine.owners import GraphWalk, NodeCreation, Owners
from halfbyte.activations.policy.saved_tensor import PolicyFunction


@dataclass(frozen=True)
class Stored(Codec):
    """Keeps every element and says that it takes no bytes, so that every tensor that may be encoded is."""

    lossless = True

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        layout = Layout(x)
        return Packed(self, layout, (), detail=layout.flat(x).clone())

    def decode(self, packed: Packed) -> Tensor:
        return packed.layout.restore(packed.detail.clone())


@dataclass(frozen=True)
class Feigned(Stored):
    """The same, but it says that it is lossy: the engine keeps masks beside it."""

    lossless = False


POLICIES: dict[str, PolicyFunction] = {
    "none": lambda saved: None,
    "stored": lambda saved: Stored(),
    "feigned": lambda saved: Feigned(),
}
"""All of them must leave every gradient as it is, bit for bit."""

OWNERS: dict[str, type[Owners]] = {"walk": GraphWalk}
"""The ways of this torch to find out who saved a tensor."""
if hasattr(torch.autograd.graph, "node_creation_hook"):
    OWNERS["creation"] = NodeCreation


@contextmanager
def owners_found_by(name: str) -> Iterator[None]:
    """Savers are found in this one of `OWNERS`."""
    with patch.object(entering, "new_owners", OWNERS[name]):
        yield


@dataclass(frozen=True)
class Run:
    """Everything that a step computes, by name."""

    tensors: dict[str, Tensor]
    ledger: Ledger


def equal(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are of one type and hold the same values, NaN where the other has NaN."""
    if one.layout is not torch.strided:
        one, other = one.to_dense(), other.to_dense()
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.equal(one, other) or torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def differences(stock: Run, ours: Run) -> list[str]:
    """The names of what is not the same."""
    assert stock.tensors.keys() == ours.tensors.keys()
    return [name for name, tensor in stock.tensors.items() if not equal(tensor, ours.tensors[name])]


def step(
    function: Callable[..., Any],
    inputs: tuple[Tensor, ...],
    *,
    compressor: compress | None = None,
    inside: bool = True,
    model: nn.Module | None = None,
) -> Run:
    """Forward and backward.

    Args:
        function: of the inputs, to a tensor or a tuple of tensors.
        inputs: those of a type that can are differentiated.
        compressor: None runs stock torch.
        inside: whether backward runs inside the context.
        model: whose gradients and buffers count too.
    """
    torch.manual_seed(11)
    leaves = [t.detach().clone().requires_grad_(t.is_floating_point() or t.is_complex()) for t in inputs]
    ledger = Ledger()
    if compressor is None:
        outputs = _backward(function, leaves)
    elif inside:
        with compressor as ledger:
            outputs = _backward(function, leaves)
    else:
        with compressor as ledger:
            roots = _forward(function, leaves)
        outputs = _backward(lambda *_: roots, leaves)
    tensors = {f"output {i}": t for i, t in enumerate(outputs)}
    tensors |= {f"gradient {i}": t.grad for i, t in enumerate(leaves) if t.grad is not None}
    if model is not None:
        tensors |= {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        tensors |= dict(model.named_buffers())
    return Run({name: t.detach().clone() for name, t in tensors.items()}, ledger)


def _forward(function: Callable[..., Any], leaves: list[Tensor]) -> tuple[Tensor, ...]:
    outputs = function(*leaves)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _backward(function: Callable[..., Any], leaves: list[Tensor]) -> list[Tensor]:
    roots = _forward(function, leaves)
    generator = torch.Generator().manual_seed(5)
    weights = [torch.rand(t.shape, generator=generator).to(t.dtype) for t in roots]
    outputs = [t.detach().clone() for t in roots]
    torch.autograd.backward(roots, weights)
    return outputs


def assert_same(
    function: Callable[..., Any],
    *inputs: Tensor,
    policy: str = "feigned",
    min_bytes: int = 0,
    inside: bool = False,
) -> Ledger:
    """Check that a function's outputs and gradients are stock torch's.

    Returns:
        The ledger of the compressed run.
    """
    stock = step(function, inputs)
    ours = step(
        function, inputs, compressor=compress(policy=POLICIES[policy], min_bytes=min_bytes), inside=inside
    )
    assert differences(stock, ours) == []
    return ours.ledger


def assert_same_training(
    model: nn.Module,
    *inputs: Tensor,
    policy: str = "feigned",
    min_bytes: int = 0,
    inside: bool = False,
    function: Callable[..., Any] | None = None,
) -> Ledger:
    """The same for a model, whose parameters' gradients and buffers count too. It is left as it was."""
    runs = []
    for compressed in (False, True):
        copied = deepcopy(model)
        compressor = compress(copied, policy=POLICIES[policy], min_bytes=min_bytes) if compressed else None
        call = copied if function is None else _partial(function, copied)
        runs.append(step(call, inputs, compressor=compressor, inside=inside, model=copied))
    assert differences(*runs) == []
    return runs[1].ledger


def _partial(function: Callable[..., Any], model: nn.Module) -> Callable[..., Any]:
    return lambda *inputs: function(model, *inputs)
