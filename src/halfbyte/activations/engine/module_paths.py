"""Which module is running: names for reports, and for what users exclude."""

from __future__ import annotations

from threading import get_ident
from typing import Any

import torch
from torch import nn

__all__ = ["ModulePaths"]


class ModulePaths:
    """Follows the modules of one model as they run on one thread, by hooks that torch calls for every module.

    Args:
        names: of the model's modules, from `ModulePaths.names`.

    Attributes:
        passes: how often the outermost module was entered.
    """

    def __init__(self, names: dict[nn.Module, str]) -> None:
        self._names = names
        self._thread = get_ident()
        self._running: list[str] = []
        self._handles: list[Any] = []
        self.passes = 0

    @staticmethod
    def names(model: nn.Module | None) -> dict[nn.Module, str]:
        """The names of a model's modules; none for compiled code, which does not call hooks, and would be
        compiled again because of them.
        """
        modules = [] if model is None else list(model.named_modules())
        compiled = any(hasattr(m, "_orig_mod") or m._compiled_call_impl is not None for _, m in modules)
        return {} if compiled else {module: name for name, module in modules}

    def start(self) -> None:
        """Begin to follow. Modules that are running already are not known."""
        self._thread = get_ident()
        if self._names:
            module = torch.nn.modules.module
            self._handles = [
                module.register_module_forward_pre_hook(self._enter),
                module.register_module_forward_hook(self._leave, always_call=True),
            ]

    def stop(self) -> None:
        """Take the hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def current(self) -> str:
        """The name of the innermost module that is running, "" outside of any."""
        return self._running[-1] if self._running else ""

    def _enter(self, module: nn.Module, inputs: Any) -> None:
        if torch.compiler.is_compiling() or get_ident() != self._thread or module not in self._names:
            return
        if not self._running:
            self.passes += 1
        self._running.append(self._names[module])

    def _leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if torch.compiler.is_compiling() or get_ident() != self._thread:
            return
        if self._running and module in self._names:
            self._running.pop()
