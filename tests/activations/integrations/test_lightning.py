from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as lightning
import pytest
import pytorch_lightning
import torch
from nets import ResNet
from remembering import Remembering, hooks_are_set
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from halfbyte.activations import comet, lossless
from halfbyte.activations.integrations.lightning import CompressActivations

pytestmark = [
    pytest.mark.filterwarnings("ignore:The '.*' does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.* is deprecated:FutureWarning"),
]


class Classifier(lightning.LightningModule):
    """Eight batches of four images; what it sees is kept in `losses` and `compressed`."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.net = ResNet()
        self.losses: list[float] = []
        self.compressed: list[tuple[str, bool]] = []

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.losses.append(loss.item())
        self.compressed.append(("training", hooks_are_set()))
        return loss

    def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
        self.compressed.append(("validation", hooks_are_set()))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.05, momentum=0.9)


class ByHand(Classifier):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: list[Tensor], batch_idx: int) -> None:
        optimizer = self.optimizers()
        for _ in range(2):
            loss = super().training_step(batch, batch_idx)
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()


class LineSearch(Classifier):
    """Its optimizer computes the loss several times a step."""

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.LBFGS(self.parameters(), 0.01, max_iter=2)


def batches() -> DataLoader[Any]:
    seeded = torch.Generator().manual_seed(1)
    images = torch.randn(32, 3, 32, 32, generator=seeded)
    return DataLoader(TensorDataset(images, torch.arange(32) % 4), 4)


def fit(
    model: Classifier,
    *callbacks: CompressActivations,
    kind: Any = lightning,
    resume: Path | None = None,
    **options: Any,
) -> Any:
    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    trainer = kind.Trainer(
        **{"max_epochs": 1, "accelerator": "cpu", "num_sanity_val_steps": 0} | quiet | options,
        callbacks=list(callbacks),
    )
    trainer.fit(model, batches(), batches(), ckpt_path=resume)
    return trainer


@pytest.mark.parametrize("make", [Classifier, ByHand])
def test_training_is_the_same_bit_for_bit_where_nothing_is_lossy(make: Callable[[], Classifier]) -> None:
    options = {} if make is ByHand else {"accumulate_grad_batches": 2, "gradient_clip_val": 1.0}
    plain, packed = make(), make()
    callback = CompressActivations(policy=lossless())
    fit(plain, **options)
    fit(packed, callback, **options)
    assert packed.losses == plain.losses
    for name, value in plain.state_dict().items():
        assert torch.equal(packed.state_dict()[name], value), name
    assert callback.ledger.totals("packed").unpacks > 0


def test_every_forward_of_training_is_seen_and_no_other() -> None:
    model, callback = Classifier(), CompressActivations(policy=Remembering())
    fit(model, callback, max_epochs=2, val_check_interval=0.5, num_sanity_val_steps=1)
    assert set(model.compressed) == {("training", True), ("validation", False)}
    assert callback.ledger.steps == len(model.losses) == 16
    assert "training_step" not in vars(model)


def test_manual_optimization_is_one_step_a_batch() -> None:
    model, callback = ByHand(), CompressActivations(policy=Remembering())
    fit(model, callback)
    assert (len(model.losses), callback.ledger.steps) == (16, 8)
    assert callback.ledger.held_bytes == 0


def test_each_evaluation_of_a_line_search_is_a_step() -> None:
    model, callback = LineSearch(), CompressActivations(policy=Remembering())
    fit(model, callback)
    assert callback.ledger.steps == len(model.losses) > 8


def test_policy_is_told_of_steps_and_epochs() -> None:
    policy = Remembering()
    fit(Classifier(), CompressActivations(policy=policy), max_epochs=2, limit_train_batches=2)
    assert policy.seen == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_ratio_of_the_epoch_and_peak_are_logged() -> None:
    callback = CompressActivations(policy=Remembering())
    trainer = fit(Classifier(), callback)
    assert trainer.callback_metrics["activations/ratio"] == pytest.approx(callback.ledger.ratio)
    assert trainer.callback_metrics["activations/peak_bytes"] == callback.ledger.peak_bytes > 0


def test_resuming_goes_on_with_step_epoch_and_policy(tmp_path: Path) -> None:
    trainer = fit(Classifier(), CompressActivations(policy=Remembering()))
    trainer.save_checkpoint(tmp_path / "first.ckpt")
    policy = Remembering()
    callback = CompressActivations(policy=policy)
    fit(Classifier(), callback, resume=tmp_path / "first.ckpt", max_epochs=2)
    assert policy.seen == [(step, 1) for step in range(8, 16)]
    assert callback.state_dict() == {"step": 16, "epoch": 1, "seed": 0, "policy": {"seen": 8}}


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_exceptions_leave_nothing_behind(error: type[BaseException]) -> None:
    def fail(*_: object) -> None:
        raise error

    model = Classifier()
    model.net.head.register_forward_pre_hook(fail)
    with pytest.raises(SystemExit if error is KeyboardInterrupt else error):
        fit(model, CompressActivations(policy=Remembering()))
    assert not hooks_are_set()
    assert not nn.modules.module._global_forward_pre_hooks
    assert "training_step" not in vars(model)


def test_modules_are_excluded_by_name_or_as_they_are() -> None:
    model = Classifier()
    callback = CompressActivations(policy=Remembering(), exclude=["net.stem", model.net.blocks[0]])
    fit(model, callback, limit_train_batches=1)
    packed = {row.path for row in callback.ledger.rows("packed") if "Cast" in row.codec}
    assert packed
    assert not [path for path in packed if path.startswith(("net.stem", "net.blocks.0"))]


def test_trainers_of_the_other_package_take_it_too() -> None:

    class Theirs(pytorch_lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = ResNet()

        def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
            return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
            pass

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.05)

    callback = CompressActivations(policy=Remembering())
    fit(Theirs(), callback, kind=pytorch_lightning)
    assert callback.ledger.steps == 8


@pytest.mark.parametrize("make", [Classifier, ByHand])
def test_comet_follows_the_optimizer(make: type[Classifier]) -> None:
    """Also where gradients are computed within its step."""
    policy = comet(warmup=2, every=4)
    fit(make(), CompressActivations(policy=policy, min_bytes=0))
    assert len(policy.bounds) > 4
    assert all(0.4 < b.measured / b.predicted < 2.5 for b in policy.bounds if b.measured is not None)
    assert any(b.measured is not None for b in policy.bounds)
