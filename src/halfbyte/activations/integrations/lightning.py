"""Compressed activations in a Lightning Trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfbyte.activations.engine.exclusion import Exclude
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.integrations.attachment import Attachment
from halfbyte.activations.policy.saved_tensor import PolicyFunction
from halfbyte.trainers import lightning_callback

if TYPE_CHECKING:
    from lightning.pytorch import Callback, LightningModule, Trainer

__all__ = ["CompressActivations"]

if not TYPE_CHECKING:
    Callback = lightning_callback("CompressActivations")


class CompressActivations(Callback):
    """Hold what the training step saves for backward in fewer bytes.

        callback = CompressActivations(policy=halfbyte.activations.jpeg_act())
        Trainer(callbacks=[callback]).fit(model, loader)
        print(callback.ledger.report())

    `training_step` runs inside of the context; validation, testing and prediction do not. The policy's
    schedule follows the epochs, and its state lies in the checkpoint. At the end of each epoch
    `activations/ratio` (of that epoch: bytes saved over bytes held) and `activations/peak_bytes` (packed
    bytes alive at once, the most so far) are logged. A policy that follows an optimizer, as `comet` does,
    follows the first.

    Args:
        policy, exclude, min_bytes, seed: as for `compress`.

    Attributes:
        ledger: what became of every saved tensor.
    """

    def __init__(
        self, *, policy: PolicyFunction, exclude: Exclude = (), min_bytes: int = 4096, seed: int = 0
    ) -> None:
        super().__init__()
        self._attachment = Attachment(policy, exclude=exclude, min_bytes=min_bytes, seed=seed)
        self._bytes = (0, 0)  # before and after, when the epoch began

    @property
    def ledger(self) -> Ledger:
        return self._attachment.ledger

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._attachment.attach(pl_module, "training_step")
        for optimizer in trainer.optimizers[:1]:
            self._attachment.follow(optimizer, getattr(trainer.precision_plugin, "scaler", None))

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._attachment.set_epoch(trainer.current_epoch)
        total = self.ledger.totals()
        self._bytes = (total.before, total.after)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        total = self.ledger.totals()
        before, after = total.before - self._bytes[0], total.after - self._bytes[1]
        if after:
            pl_module.log("activations/ratio", before / after, sync_dist=True)
        peak = float(self.ledger.peak_bytes)
        pl_module.log("activations/peak_bytes", peak, reduce_fx="max", sync_dist=True)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._attachment.detach()

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._attachment.detach()

    def state_dict(self) -> dict[str, Any]:
        return self._attachment.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._attachment.load_state_dict(state_dict)
