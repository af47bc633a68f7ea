"""Hooks on the modules whose outputs travel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn

from halfbyte.activations.feature_maps.straight_through import straight_through

__all__ = ["Change", "MapHooks"]

Change = Callable[[Tensor], Tensor]
"""Makes of a map what the next layer gets."""


class MapHooks:
    """Puts functions in the way of maps; gradients pass by them.

    Args:
        model: whose forward pass begins the numbering of calls anew.
        modules: whose outputs are the maps, and their names.
        change_of: the function for a map, or None to let it pass as it is. The map of module "relu" is called
            "relu", those of its second and third call in the same pass "relu#1" and "relu#2".
    """

    def __init__(
        self,
        model: nn.Module,
        modules: Mapping[nn.Module, str],
        change_of: Callable[[str], Change | None],
    ) -> None:
        self._change_of = change_of
        self._calls: Counter[str] = Counter()
        self._handles = [model.register_forward_pre_hook(self._begin)]
        self._handles += [
            module.register_forward_hook(partial(self._pass, name)) for module, name in modules.items()
        ]

    def remove(self) -> None:
        """Take all hooks away."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> MapHooks:
        return self

    def __exit__(self, *failure: object) -> None:
        self.remove()

    def _begin(self, module: nn.Module, inputs: Any) -> None:
        self._calls.clear()

    def _pass(self, name: str, module: nn.Module, inputs: Any, output: Any) -> Tensor | None:
        if not isinstance(output, Tensor):
            raise TypeError(
                f"feature_maps: {name} ({type(module).__name__}) returns a {type(output).__name__}, expected "
                "one tensor: leave it out of layers"
            )
        number = self._calls[name]
        self._calls[name] += 1
        change = self._change_of(f"{name}#{number}" if number else name)
        return None if change is None else straight_through(output, change)
