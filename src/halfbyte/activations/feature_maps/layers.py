"""Which modules' outputs travel, and what each is called."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from torch import nn

from halfbyte.activations.engine.module_paths import ModulePaths

__all__ = ["ACTIVATIONS_AND_POOLS", "Layers", "find_layers"]

ACTIVATIONS_AND_POOLS: tuple[type[nn.Module], ...] = (
    *(nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Mish, nn.Hardswish),
    *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
)
"""Modules whose outputs go from layer to layer in most networks: what precedes an activation function
(convolution, normalization, a residual sum) is computed together with it.
"""

Layers = Iterable[str | type[nn.Module]]


def find_layers(model: nn.Module, layers: Layers) -> dict[nn.Module, str]:
    """The modules of these types or names, and their names, in the order of `named_modules`.

    Warns when there are none.

    Raises:
        TypeError: something is neither a name nor a type of modules.
        ValueError: the model has no module of a name; or it is compiled.
    """
    names = ModulePaths.names(model)
    if not names:
        raise ValueError(
            "feature_maps: the model is compiled, and compiled code calls no hooks: give the model that was "
            "compiled (its `_orig_mod`)"
        )
    chosen = list(layers)
    for item in chosen:
        if not isinstance(item, str) and not (isinstance(item, type) and issubclass(item, nn.Module)):
            raise TypeError(f"layers holds {item!r}, expected names of modules or types of them")
    types = tuple(item for item in chosen if isinstance(item, type))
    wanted = {item for item in chosen if isinstance(item, str)}
    if missing := sorted(wanted - set(names.values())):
        known = ", ".join(map(repr, list(names.values())[1:6])) or "none"
        raise ValueError(f"layers: {missing[0]!r} is not in the model, whose modules are {known}, ...")
    found = {module: name for module, name in names.items() if isinstance(module, types) or name in wanted}
    if not found:
        warnings.warn(
            f"feature_maps found none of these layers in {type(model).__name__}, so that nothing will be "
            "compressed: activation functions that are called as functions (torch.relu) are no modules; name "
            "the modules whose outputs travel, as in layers=['blocks.0', 'blocks.1']",
            stacklevel=4,
        )
    return found
