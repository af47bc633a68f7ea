"""Compression of a model that comes when training starts, after the options and perhaps after the state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial, wraps
from types import MethodType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.exclusion import Exclude
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.policy.saved_tensor import Policy, PolicyFunction

__all__ = ["Attachment"]


class _Wrapped(NamedTuple):
    """A module's method by another; `before` is what the module itself had there, beside its class."""

    module: nn.Module
    name: str
    before: Any
    wrapper: Any


class Attachment:
    """Runs one method of a module inside of a `compress` context, for as long as it is attached.

    The method is wrapped, and no hook is used: `with` leaves the context whatever happens, interrupts by the
    user included, and a deep copy of the module (as for an average of weights) runs on its own weights.

    Args:
        policy, exclude, min_bytes, seed: as for `compress`.

    Attributes:
        ledger: of everything that was ever attached.
    """

    def __init__(self, policy: PolicyFunction, *, exclude: Exclude, min_bytes: int, seed: int) -> None:
        self.ledger = Ledger()
        self._make = partial(compress, policy=policy, min_bytes=min_bytes, seed=seed, ledger=self.ledger)
        self._exclude = exclude
        # Knows no model yet: complains of wrong options at once, and holds the state that a checkpoint gives.
        self._compressor = self._make()
        self._attached: _Wrapped | None = None

    def attach(self, module: nn.Module, name: str) -> None:
        """From now on `module.<name>(…)` is compressed wherever gradients are recorded; nothing else is."""
        self.detach()
        state = self.state_dict()
        self._compressor = self._make(module, exclude=self._exclude)
        self._compressor.load_state_dict(state)
        before, wrapper = vars(module).get(name), self._compressed(module, getattr(module, name))
        setattr(module, name, wrapper)
        self._attached = _Wrapped(module, name, before, wrapper)

    def detach(self) -> None:
        """Give the module its method back; nothing to do where nothing is attached."""
        wrapped, self._attached = self._attached, None
        # Where others have wrapped the method since, ours stays in the midst of theirs and does nothing.
        if wrapped is None or vars(wrapped.module).get(wrapped.name) is not wrapped.wrapper:
            return
        if wrapped.before is None:
            delattr(wrapped.module, wrapped.name)
        else:
            setattr(wrapped.module, wrapped.name, wrapped.before)

    def follow(self, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler | None = None) -> None:
        """Tell the policy which optimizer trains, and what scales the loss."""
        if isinstance(self._compressor.policy, Policy):
            self._compressor.policy.follow(optimizer, scaler)

    def set_epoch(self, epoch: int) -> None:
        """As for `compress`."""
        self._compressor.set_epoch(epoch)

    def state_dict(self) -> dict[str, object]:
        """As of `compress`."""
        return self._compressor.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """As for `compress`; a module that is attached later takes it up."""
        self._compressor.load_state_dict(state)

    def _compressed(self, module: nn.Module, method: Any) -> Any:
        compressor = self._compressor
        bound = getattr(method, "__self__", None) is module
        function = method.__func__ if bound else method

        @wraps(function)
        def compressed(*args: Any, **kwargs: Any) -> Any:
            attached = self._attached is not None and self._compressor is compressor
            # What compiled code saves is kept exact, so that there is nothing to do when all is compiled.
            if not attached or torch.compiler.is_compiling() or not torch.is_grad_enabled():
                return function(*args, **kwargs)
            with compressor:
                output = function(*args, **kwargs)
                compressor.reach(_last_nodes(output))
                return output

        return MethodType(compressed, module) if bound else compressed


def _last_nodes(output: Any) -> Iterator[Any]:
    """The autograd nodes of a method's output: a tensor, or a mapping or sequence of them."""
    if isinstance(output, Tensor):
        if output.grad_fn is not None:
            yield output.grad_fn
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from _last_nodes(value)
    elif isinstance(output, (tuple, list)):
        for value in output:
            yield from _last_nodes(value)
