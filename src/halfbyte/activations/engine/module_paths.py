"""Which module is running: names for reports, and for what users exclude."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import nn

__all__ = ["ModulePaths"]


class ModulePaths:
    """Follows the modules of one model as they run, by hooks that torch calls for every module.

    Attributes:
        passes: how often the outermost module was entered on this thread.
    """

    def __init__(self, model: nn.Module | None) -> None:
        modules = [] if model is None else list(model.named_modules())
        # Compiled code does not call hooks; it would be compiled again because of them.
        compiled = any(hasattr(m, "_orig_mod") or m._compiled_call_impl is not None for _, m in modules)
        self._names = {} if compiled else {module: name for name, module in modules}
        self._thread = threading.local()
        self._handles: list[Any] = []
        self.passes = 0

    def start(self) -> None:
        """Begin to follow. The stack is empty: modules that are running already are not known."""
        self._thread.stack = []
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
        """The name of the innermost module that is running on this thread, "" outside of any."""
        stack = getattr(self._thread, "stack", None)
        return stack[-1] if stack else ""

    def _enter(self, module: nn.Module, inputs: Any) -> None:
        if torch.compiler.is_compiling():
            return
        stack = getattr(self._thread, "stack", None)
        if stack is None or (name := self._names.get(module)) is None:
            return
        if not stack:
            self.passes += 1
        stack.append(name)

    def _leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if torch.compiler.is_compiling():
            return
        stack = getattr(self._thread, "stack", None)
        if stack and module in self._names:
            stack.pop()
