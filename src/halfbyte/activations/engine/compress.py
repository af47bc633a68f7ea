"""The context manager that users enter."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from contextlib import ContextDecorator, ExitStack
from types import TracebackType
from typing import Any

import torch
from torch import nn

from halfbyte.activations.engine.encoding import Answers, Encoder
from halfbyte.activations.engine.exclusion import Exclude, exclusion
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.engine.model_state import ModelState
from halfbyte.activations.engine.module_paths import ModulePaths
from halfbyte.activations.engine.self_test import can_defer, new_owners
from halfbyte.activations.engine.session import Session
from halfbyte.activations.engine.unpack import unpack
from halfbyte.activations.policy.saved_tensor import Policy, PolicyFunction

__all__ = ["compress"]

_ERROR_EVERY = 100  # steps
_STEPS_TO_WARN = 16  # by then it is clear whether anything is saved
_CANNOT_DEFER = (
    f"torch {torch.__version__} does not tell who saves a tensor: each gets the policy's codec as soon as it "
    "is saved; gradients are right, but less memory is saved"
)
_NESTED = (
    "saved-tensor hooks are set already: torch applies the innermost only, so the outer ones (offloading, "
    "another compress) see nothing of what is saved from here on"
)


class compress(ContextDecorator):  # noqa: N801 - used like a function, as torch.no_grad is
    """Hold what autograd saves in fewer bytes, until backward reads it.

        compressor = halfbyte.activations.compress(model, policy=halfbyte.activations.jpeg_act())
        for images, labels in loader:
            with compressor as ledger:
                loss = criterion(model(images), labels)
                loss.backward()
            optimizer.step()
        print(ledger.report())

    Enter it around the forward pass; the backward pass may be inside or outside. One object serves a whole
    training: every entering is a step. The forward pass computes what it always does. Parameters, buffers and
    their casts, integers, statistics, what losses read, small tensors and tensor subclasses are never
    changed.

    Only this thread's operations are seen. Of nested saved-tensor hooks torch applies the innermost only, and
    it refuses them under `torch.func` transforms.

    Args:
        model: whose parameters and buffers are known, and whose modules give names. None: what each tensor
            tells.
        policy: which codec for which tensor: one of the presets, or a function `SavedTensor -> Codec | None`.
        exclude: modules, their names, or a function of a `SavedTensor`: where values stay exact.
        min_bytes: tensors smaller than this stay as they are.
        seed: of random rounding; torch's generators are not touched.
        ledger: to count in; a new one unless given.
    """

    def __init__(
        self,
        model: nn.Module | None = None,
        *,
        policy: PolicyFunction,
        exclude: Exclude = (),
        min_bytes: int = 4096,
        seed: int = 0,
        ledger: Ledger | None = None,
    ) -> None:
        if not callable(policy):
            raise TypeError(
                f"policy is {type(policy).__name__}, expected one such as jpeg_act(), or a function"
            )
        if min_bytes < 0:
            raise ValueError(f"min_bytes is {min_bytes}, expected 0 or more")
        self.ledger = Ledger() if ledger is None else ledger
        self.policy = policy
        self._holders = ModelState.holders(model)
        self._min_bytes = min_bytes
        self._seed = seed
        self._excluded = exclusion(model, exclude)
        self._names = ModulePaths.names(model)
        self._step = 0
        self._epoch = 0
        self._answers: Answers = {}
        self._answers_version: int | None = None
        self._warned: set[str] = set()
        self._thread = threading.local()

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch this is (from 0); policies with a schedule follow it."""
        self._epoch = epoch

    def state_dict(self) -> dict[str, object]:
        """Steps, epoch and the policy's own state: small and JSON-able."""
        state = self.policy.state_dict() if isinstance(self.policy, Policy) else {}
        return {"step": self._step, "epoch": self._epoch, "seed": self._seed, "policy": state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on as if never interrupted."""
        self._step, self._epoch, self._seed = state["step"], state["epoch"], state["seed"]
        if isinstance(self.policy, Policy):
            self.policy.load_state_dict(state["policy"])

    def __getstate__(self) -> dict[str, Any]:
        # Contexts that are entered now, and answers keyed by them, belong to this process.
        return {name: value for name, value in vars(self).items() if name not in ("_thread", "_answers")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _thread=threading.local(), _answers={}, _answers_version=None)

    def reach(self, nodes: Iterable[Any]) -> None:
        """Tell of nodes whose outputs nothing was saved from, such as a model's last: savers are found from
        there.

        Not needed when backward runs inside the context, nor on torch 2.14 and newer.
        """
        for session, _ in self._entered()[-1:]:
            session.reach(nodes)

    def __enter__(self) -> Ledger:
        self._warn_if_nested()
        session = self._begin()
        with ExitStack() as stack:
            session.paths.start()
            stack.callback(session.paths.stop)
            stack.enter_context(session.owners.watch())
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(session.pack, unpack))
            self._entered().append((session, stack.pop_all()))
        return self.ledger

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, stack = self._entered().pop()
        stack.close()
        if kind is not None:
            session.abandon()
            return
        session.finish()
        if self._step <= _STEPS_TO_WARN:
            self._warn_once(self.ledger.warn_if_useless())

    def _begin(self) -> Session:
        if isinstance(self.policy, Policy):
            self.policy.begin_step(self._step, self._epoch)
            if self.policy.version != self._answers_version:
                self._answers.clear()
                self._answers_version = self.policy.version
        deferred = can_defer()
        if not deferred:
            self._warn_once(_CANNOT_DEFER)
        owners = new_owners()
        watcher = self.policy.watch() if deferred and isinstance(self.policy, Policy) else None
        if watcher is not None:
            owners.on_claim = watcher.reader
        encoder = Encoder(
            self.policy,
            self.ledger,
            excluded=self._excluded,
            seed=self._seed,
            step=self._step,
            answers=self._answers,
            measures_error=self._step % _ERROR_EVERY == 0,
            watcher=watcher,
        )
        self._step += 1
        self.ledger.step()
        return Session(
            encoder,
            owners,
            ModulePaths(self._names),
            ModelState(self._holders),
            min_bytes=self._min_bytes,
            deferred=deferred,
        )

    def _entered(self) -> list[tuple[Session, ExitStack]]:
        if not hasattr(self._thread, "entered"):
            self._thread.entered = []
        entered: list[tuple[Session, ExitStack]] = self._thread.entered
        return entered

    def _warn_if_nested(self) -> None:
        top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
        if top is not None and top(True) is not None:
            self._warn_once(_NESTED)

    def _warn_once(self, message: str | None) -> None:
        if message is not None and message not in self._warned:
            self._warned.add(message)
            warnings.warn(message, stacklevel=3)
