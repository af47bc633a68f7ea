"""Whatever is done with a model, afterwards it is as before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["parameters_of", "unchanged"]


@contextmanager
def unchanged(model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> Iterator[None]:
    """Give everything back bit for bit at the end, however it ends.

    Covered: parameters and their ``requires_grad``, ``.grad`` (None within; afterwards the same tensors as
    before, untouched), buffers, mode flags, all that the optimizer holds in tensors, dicts, lists and plain
    values, and the random states of torch (CPU and CUDA), NumPy and Python. Not covered: plain attributes
    that a module's forward sets, and generators of the user's own.

    Costs a copy of the parameters, the buffers and the optimizer's state while it lasts.
    """
    kept = _Kept()
    flags = [(module, module.training) for module in model.modules()]
    parameters = [(p, p.grad, p.requires_grad) for p in parameters_of(model, optimizer)]
    for parameter, _, _ in parameters:
        kept.note(parameter)
    for module, _ in flags:
        kept.note(module._buffers)
    if optimizer is not None:
        kept.note(optimizer)
    states = _random_states()
    try:
        for parameter, _, _ in parameters:
            parameter.grad = None
        yield
    finally:
        kept.give_back()
        for module, training in flags:
            module.training = training
        for parameter, gradient, requires_grad in parameters:
            parameter.grad = gradient
            parameter.requires_grad = requires_grad
        _set_random_states(states)


def parameters_of(model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> list[torch.Tensor]:
    """The parameters of a model and those that only its optimizer knows, each once."""
    groups = optimizer.param_groups if optimizer is not None else []
    both = chain(model.parameters(), *(group["params"] for group in groups))
    return list({id(parameter): parameter for parameter in both}.values())


class _Kept:
    """What tensors, dicts and lists held, reached through each other; each is given back in its place."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._tensors: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._dicts: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._lists: list[tuple[list[Any], list[Any]]] = []

    def note(self, value: Any) -> None:
        if isinstance(value, torch.optim.Optimizer):
            self.note(vars(value))
        elif isinstance(value, tuple):
            for inner in value:
                self.note(inner)
        elif isinstance(value, torch.Tensor | dict | list) and id(value) not in self._seen:
            self._seen.add(id(value))
            self._note_content(value)

    def _note_content(self, value: torch.Tensor | dict[Any, Any] | list[Any]) -> None:
        if isinstance(value, torch.Tensor):
            self._tensors.append((value, _once(value.detach()).clone()))
            return
        if isinstance(value, dict):
            self._dicts.append((value, dict(value)))
        else:
            self._lists.append((value, list(value)))
        for inner in list(value.values() if isinstance(value, dict) else value):
            self.note(inner)

    def give_back(self) -> None:
        for tensor, copy in self._tensors:
            # .data: autograd must not take this for a change that it would complain of.
            _once(tensor.data).copy_(copy)
        for mapping, content in self._dicts:
            mapping.clear()
            mapping.update(content)
        for sequence, items in self._lists:
            sequence[:] = items


def _once(tensor: torch.Tensor) -> torch.Tensor:
    """A view with every element once: expanded tensors cannot be written to as they are."""
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def _random_states() -> tuple[Any, ...]:
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = torch.cuda.get_rng_state_all() if in_use else []
    return torch.get_rng_state(), devices, np.random.get_state(), random.getstate()


def _set_random_states(states: tuple[Any, ...]) -> None:
    host, devices, numpys, pythons = states
    torch.set_rng_state(host)
    if devices:
        torch.cuda.set_rng_state_all(devices)
    np.random.set_state(numpys)
    random.setstate(pythons)
