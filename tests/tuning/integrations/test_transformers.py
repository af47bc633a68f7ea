from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from policies import EveryStep
from torch import Tensor, nn

import halfbyte
from halfbyte.tuning import Schedule, steering
from halfbyte.tuning.integrations.transformers import ChooseFidelity

VIEW = halfbyte.Transform(halfbyte.CenterCrop(8), normalize=halfbyte.Normalize((0.5,) * 3, (0.5,) * 3))


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "1")


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(192, 4))

    def forward(self, pixel_values: Tensor, labels: Tensor) -> dict[str, Tensor]:
        logits = self.net(pixel_values)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def collate(samples: list[dict[str, Any]]) -> dict[str, Tensor]:
    pixels = torch.stack([torch.from_numpy(sample["image"]) for sample in samples])
    return {"pixel_values": pixels, "labels": torch.tensor([sample["label"] % 4 for sample in samples])}


def opened(path: Path) -> halfbyte.Dataset:
    return halfbyte.open(path, transform=VIEW)


def train(
    folder: Path, data: halfbyte.Dataset, *callbacks: Any, resume: bool = False, **options: Any
) -> None:
    """Two epochs of five batches of sixteen images."""
    defaults = {
        "num_train_epochs": 2,
        "per_device_train_batch_size": 16,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        "remove_unused_columns": False,
    }
    arguments = transformers.TrainingArguments(str(folder), **defaults | options)
    transformers.Trainer(
        Classifier(),
        arguments,
        train_dataset=data,
        eval_dataset=torch.utils.data.Subset(data, range(16)),
        data_collator=collate,
        callbacks=list(callbacks),
    ).train(resume_from_checkpoint=resume)


@pytest.mark.parametrize(("accumulated", "steps"), [(1, 5), (2, 3)])
def test_the_policy_is_asked_for_every_step(
    dataset_path: Path, tmp_path: Path, accumulated: int, steps: int
) -> None:
    data, policy = opened(dataset_path), EveryStep()
    callback = ChooseFidelity(policy, data)
    train(tmp_path, data, callback, gradient_accumulation_steps=accumulated)
    assert policy.asked == [(epoch, step) for epoch in range(2) for step in range(steps)]
    assert data.fidelity == 1 + (steps - 1 + 1) % 3
    assert callback.moment.cost["samples"] == 160


def test_workers_read_at_the_fidelity_of_the_policy(dataset_path: Path, tmp_path: Path) -> None:
    data = opened(dataset_path)
    callback = ChooseFidelity(Schedule({0: 2}), data)
    train(tmp_path, data, callback, dataloader_num_workers=1, num_train_epochs=1)
    alone = halfbyte.open(dataset_path, fidelity=2)
    for number in range(80):
        alone[number]
    assert callback.moment.cost["bytes_read"] == alone.counters.bytes_read
    assert callback.moment.cost["samples"] == 80


def test_logging_evaluation_and_saving_are_no_stall(
    dataset_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(steering, "perf_counter", lambda: now[0])

    class Slow(transformers.TrainerCallback):
        def on_prediction_step(self, *_: Any, **__: Any) -> None:
            now[0] += 100

        def on_log(self, *_: Any, **__: Any) -> None:
            now[0] += 30

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            now[0] += 3

    data = opened(dataset_path)
    callback = ChooseFidelity(Schedule({0: 2}), data)
    options = {"logging_steps": 1, "eval_strategy": "steps", "eval_steps": 2, "num_train_epochs": 1}
    train(tmp_path, data, Slow(), callback, **options)
    # Slow comes before it: its three seconds a step are waiting.
    assert (callback.moment.seconds, callback.moment.cost["stall_seconds"]) == (15, 15)


@pytest.mark.parametrize("steps", [3, 5])
def test_resuming_goes_on_with_the_policy(dataset_path: Path, tmp_path: Path, steps: int) -> None:
    whole = EveryStep()
    data = opened(dataset_path)
    train(tmp_path / "whole", data, ChooseFidelity(whole, data))
    data = opened(dataset_path)
    options = {"save_strategy": "steps", "save_steps": steps, "max_steps": steps}
    train(tmp_path / "run", data, ChooseFidelity(EveryStep(), data), **options)
    saved = json.loads((tmp_path / "run" / f"checkpoint-{steps}" / "trainer_state.json").read_text())
    state = saved["stateful_callbacks"]["halfbyte.tuning"]["attributes"]
    assert state["epoch"] == steps // 5
    policy, data = EveryStep(), opened(dataset_path)
    train(tmp_path / "run", data, ChooseFidelity(policy, data), resume=True)
    assert (policy.log[-1].epoch, policy.log[-1].step) == (1, 4)
    assert {(d.epoch, d.fidelity) for d in whole.log} == {(d.epoch, d.fidelity) for d in policy.log}


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, ChooseFidelity.__module__)
    with pytest.raises(ImportError, match=r"pip install 'halfbyte\[transformers\]'"):
        importlib.import_module(ChooseFidelity.__module__)
