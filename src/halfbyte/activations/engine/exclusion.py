"""What users keep exact: modules, names, or whatever a function says."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial

from torch import nn

from halfbyte.activations.policy.saved_tensor import SavedTensor

__all__ = ["Exclude", "exclusion"]

Exclude = Iterable[nn.Module | str] | Callable[[SavedTensor], bool]


def exclusion(model: nn.Module | None, exclude: Exclude) -> Callable[[SavedTensor], bool] | None:
    """A function that says whether a saved tensor is excluded; None when nothing is.

    Raises:
        ValueError: a module or name that is not in the model.
    """
    if callable(exclude):
        return exclude
    modules = {} if model is None else dict(model.named_modules())
    names = {name for item in exclude for name in _names(item, modules)}
    if not names:
        return None
    return partial(_is_within, names)


def _is_within(names: Container[str], saved: SavedTensor) -> bool:
    return saved.path in names


def _names(item: nn.Module | str, modules: dict[str, nn.Module]) -> list[str]:
    """The names of a module and everything in it."""
    if not isinstance(item, (nn.Module, str)):
        raise TypeError(f"exclude holds {type(item).__name__}, expected modules or their names")
    top = next((n for n, module in modules.items() if item in (n, module)), None)
    if top is None:
        what = repr(item) if isinstance(item, str) else type(item).__name__
        known = ", ".join(repr(name) for name in list(modules)[1:6]) or "none: no model was given"
        raise ValueError(f"exclude: {what} is not in the model, whose modules are {known}, ...")
    return [name for name in modules if name == top or not top or name.startswith(f"{top}.")]
