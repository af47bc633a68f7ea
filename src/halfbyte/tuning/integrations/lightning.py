"""A policy of fidelity in a Lightning Trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import FidelityPolicy, Moment
from halfbyte.trainers import lightning_callback
from halfbyte.tuning.steering import Steering

if TYPE_CHECKING:
    from lightning.pytorch import Callback, LightningModule, Trainer

    from halfbyte.loader.torch.iterable import IterableDataset

__all__ = ["ChooseFidelity"]

if not TYPE_CHECKING:
    Callback = lightning_callback("ChooseFidelity")


class ChooseFidelity(Callback):
    """Let a policy choose the fidelity while Lightning trains.

        callback = ChooseFidelity(policy, ds)
        Trainer(callbacks=[callback]).fit(model, DataLoader(ds, batch_size=64, num_workers=4))
        print(*callback.policy.log, sep="\\n")

    The policy is asked before the first batch of an epoch and after every batch but the last; its state lies
    in the checkpoint. It is told which epoch the data are at, so `set_epoch` need not be called. What goes on
    between two batches counts as waiting, but for validation and a wait in which a checkpoint is saved; give
    this callback last, so that hooks of others do not.

    Args:
        policy: of ``halfbyte.tuning``.
        data: what the DataLoader reads.
    """

    def __init__(self, policy: FidelityPolicy, data: Dataset | IterableDataset) -> None:
        super().__init__()
        self._steering = Steering(policy, data)

    @property
    def policy(self) -> FidelityPolicy:
        return self._steering.policy

    @property
    def moment(self) -> Moment:
        """What reading has cost up to now."""
        return self._steering.moment

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # Workers of the first epoch start before that epoch's own hook, and after the checkpoint was loaded.
        self._steering.begin()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._steering.wait()

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._steering.running and self._steering.epoch == trainer.current_epoch:
            self._steering.wait()
        else:
            self._steering.begin(trainer.current_epoch)

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self._steering.receive()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.is_last_batch:
            self._steering.finish()
        self._steering.advance()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._steering.wait()

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self._steering.pause()

    def state_dict(self) -> dict[str, Any]:
        return self._steering.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._steering.load_state_dict(state_dict)
