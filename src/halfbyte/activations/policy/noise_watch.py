"""What is seen of gradient noise in one step, by hooks on the layers that make it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.policy.needs import Need, need_of
from halfbyte.activations.policy.products import PRODUCTS, Product, product_of
from halfbyte.activations.policy.saved_tensor import SavedTensor, Saver

__all__ = ["Measuring", "Seen", "TensorKey", "Verifying", "key_of"]

TensorKey = tuple[str, tuple[Saver, ...], int]
"""Path, savers and ordinal of a saved tensor: the same in each step."""


def key_of(saved: SavedTensor) -> TensorKey:
    """The key of a saved tensor."""
    return saved.path, saved.savers, saved.ordinal


@dataclass
class Seen:
    """A tensor in the steps since the optimizer's last.

    Attributes:
        weights: number of each weight that it was multiplied by.
        times: how often it came: more than once where gradients are accumulated.
        nonzeros: share of the elements that are not 0, where it came last.
        rms: root of the mean square of these.
        before, after: bytes.
    """

    weights: set[int] = field(default_factory=set)
    times: int = 0
    nonzeros: float = 0.0
    rms: float = 0.0
    before: int = 0
    after: int = 0


def _only_multiplied(saved: SavedTensor) -> bool:
    """Whether nobody reads its values but to multiply them by a weight."""
    others = (saver for saver in saved.savers if saver not in PRODUCTS)
    return all(need_of(*saver) <= Need.SIGN for saver in others)


class _Reader:
    """Hangs on a node, and holds neither it nor what it saved."""

    __slots__ = ("number", "product", "then")

    def __init__(self, product: Product, number: int) -> None:
        self.product = product
        self.number = number
        self.then: Callable[[_Reader, Tensor], None] | None = None

    def __call__(self, gradients: Sequence[Tensor | None]) -> None:
        if self.then is not None and gradients[0] is not None:
            self.then(self, gradients[0])


class _Watch:
    def __init__(self, numbers: dict[int, int]) -> None:
        self._numbers = numbers

    def reader(self, node: Any, saver: Saver) -> _Reader | None:
        product = product_of(node, saver)
        number = None if product is None else self._numbers.get(id(product.weight))
        if product is None or number is None:
            return None
        reader = _Reader(product, number)
        node.register_prehook(reader)
        return reader


class Measuring(_Watch):
    """Sees the tensors that layers multiply by weights, and how much noise an error of them makes.

    Args:
        numbers: of the weights that count, by their ids.
        seen: what was seen of each tensor; is added to.
        add: called in backward with a weight's number, and with what e²/3 must be multiplied by for the
            variance of its gradient, for each layer apart.
    """

    def __init__(
        self, numbers: dict[int, int], seen: dict[TensorKey, Seen], add: Callable[[int, float], None]
    ) -> None:
        super().__init__(numbers)
        self._seen = seen
        self._add = add

    def encoded(
        self, saved: SavedTensor, x: Tensor, value: Packed | None, readers: Sequence[_Reader]
    ) -> None:
        if not readers or not _only_multiplied(saved):
            return
        seen = self._seen.setdefault(key_of(saved), Seen())
        nonzeros = int(torch.count_nonzero(x))
        seen.times += 1
        seen.nonzeros = nonzeros / max(x.numel(), 1)
        seen.rms = (float(x.float().square().sum()) / max(nonzeros, 1)) ** 0.5
        seen.before, seen.after = saved.nbytes, saved.nbytes if value is None else value.nbytes
        size, share = saved.size, seen.nonzeros

        def then(reader: _Reader, gradient: Tensor) -> None:
            self._add(reader.number, share * reader.product.noise(size, gradient))

        for reader in readers:
            seen.weights.add(reader.number)
            reader.then = then


class Verifying(_Watch):
    """Measures what the error of one tensor does to the gradients, by the gradients that the error alone
    would give. It is held until backward.

    Args:
        numbers: of the weights that count, by their ids.
        key: of the tensor.
        found: called in backward with a weight's number and the mean square of the noise of its gradient.
    """

    def __init__(self, numbers: dict[int, int], key: TensorKey, found: Callable[[int, float], None]) -> None:
        super().__init__(numbers)
        self._key = key
        self._found = found

    def encoded(
        self, saved: SavedTensor, x: Tensor, value: Packed | None, readers: Sequence[_Reader]
    ) -> None:
        if key_of(saved) != self._key or value is None:
            return
        error = value.decode().float() - x.float()

        def then(reader: _Reader, gradient: Tensor) -> None:
            noise = reader.product.weight_gradient(gradient.detach().float(), error)
            self._found(reader.number, float(noise.square().mean()))

        for reader in readers:
            reader.then = then
