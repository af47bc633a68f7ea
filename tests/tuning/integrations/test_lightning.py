from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning.pytorch as lightning
import pytest
import torch
from policies import EveryStep
from torch import Tensor, nn
from torch.utils.data import DataLoader

import halfbyte
from halfbyte.tuning import Schedule, steering
from halfbyte.tuning.integrations.lightning import ChooseFidelity

pytestmark = [
    pytest.mark.filterwarnings("ignore:The '.*' does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.* is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Your `IterableDataset` has `__len__` defined"),
    pytest.mark.filterwarnings("ignore:You're resuming from a checkpoint that ended before the epoch ended"),
]

VIEW = halfbyte.Transform(halfbyte.CenterCrop(8), normalize=halfbyte.Normalize((0.5,) * 3, (0.5,) * 3))


class Classifier(lightning.LightningModule):
    """Five batches of sixteen images, whose labels it keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(192, 4))
        self.labels: list[list[int]] = []

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        self.labels.append(batch["label"].tolist())
        return nn.functional.cross_entropy(self.net(batch["image"]), batch["label"] % 4)

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        pass

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.05)


def iterable(path: Path) -> halfbyte.IterableDataset:
    return halfbyte.IterableDataset(halfbyte.open(path, transform=VIEW), batch_size=16)


def fit(
    data: Any,
    *callbacks: Any,
    workers: int = 0,
    resume: Path | None = None,
    **options: Any,
) -> Any:
    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    defaults = {"max_epochs": 2, "accelerator": "cpu", "num_sanity_val_steps": 0, "limit_val_batches": 0}
    trainer = lightning.Trainer(
        **defaults | quiet | options,
        callbacks=list(callbacks),
    )
    if isinstance(data, halfbyte.IterableDataset):
        dataloader: DataLoader[Any] = DataLoader(data, batch_size=None, num_workers=workers)
    else:
        dataloader = DataLoader(data, batch_size=16, num_workers=workers)
    model = Classifier()
    trainer.fit(model, dataloader, DataLoader(getattr(data, "dataset", data), 16), ckpt_path=resume)
    trainer.model_of_test = model
    return trainer


def test_the_policy_is_asked_when_a_loader_asks_it(dataset_path: Path) -> None:
    policy = EveryStep()
    loader = halfbyte.Loader(halfbyte.open(dataset_path, transform=VIEW), batch_size=16)
    expected = [batch["label"].tolist() for _ in range(2) for batch in loader]
    data = iterable(dataset_path)
    trainer = fit(data, ChooseFidelity(policy, data))
    assert policy.asked == [(epoch, step) for epoch in range(2) for step in range(5)]
    assert trainer.model_of_test.labels == expected


def test_map_style_data_are_steered_too(dataset_path: Path) -> None:
    policy = EveryStep()
    data = halfbyte.open(dataset_path, transform=VIEW)
    fit(data, ChooseFidelity(policy, data))
    assert policy.asked == [(epoch, step) for epoch in range(2) for step in range(5)]
    assert data.fidelity == 1 + (4 + 1) % 3


def test_workers_start_at_the_fidelity_of_the_policy(dataset_path: Path) -> None:
    """Even those of the first epoch, which Lightning starts before the epoch's own hook."""
    data = iterable(dataset_path)
    callback = ChooseFidelity(Schedule({0: 2}), data)
    fit(data, callback, max_epochs=1, workers=1)
    alone = halfbyte.Loader(halfbyte.open(dataset_path, transform=VIEW), batch_size=16, fidelity=2)
    list(alone)
    assert callback.moment.cost["bytes_read"] == alone.counters.bytes_read
    assert callback.moment.cost["samples"] == 80


def test_validation_is_no_stall(dataset_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(steering, "perf_counter", lambda: now[0])

    class Slow(lightning.Callback):
        def on_validation_start(self, *_: Any) -> None:
            now[0] += 100

        def on_train_batch_start(self, *_: Any) -> None:
            now[0] += 3

    data = iterable(dataset_path)
    callback = ChooseFidelity(Schedule({0: 2}), data)
    fit(data, Slow(), callback, max_epochs=1, limit_val_batches=1, val_check_interval=0.4)
    # Slow comes before it: its three seconds a batch are waiting.
    assert (callback.moment.seconds, callback.moment.cost["stall_seconds"]) == (15, 15)


@pytest.mark.parametrize("steps", [3, 5])
def test_resuming_goes_on_with_the_policy(dataset_path: Path, tmp_path: Path, steps: int) -> None:
    data = halfbyte.open(dataset_path, transform=VIEW)
    first = EveryStep()
    trainer = fit(data, ChooseFidelity(first, data), max_steps=steps)
    trainer.save_checkpoint(tmp_path / "first.ckpt")
    policy = EveryStep()
    data = halfbyte.open(dataset_path, transform=VIEW)
    fit(data, ChooseFidelity(policy, data), resume=tmp_path / "first.ckpt")
    assert [(d.epoch, d.step) for d in policy.log[:steps]] == [(0, step) for step in range(steps)]
    assert policy.log[-1].epoch == 1
    assert policy.log[-1].step == 4
