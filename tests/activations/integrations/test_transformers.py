from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from remembering import Remembering, hooks_are_set
from torch import nn

from halfbyte.activations import comet, lossless
from halfbyte.activations.integrations.transformers import CompressActivations

pytestmark = pytest.mark.filterwarnings("ignore:`gradient_checkpointing.*` is deprecated:FutureWarning")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "1")


def vit() -> nn.Module:
    """Two blocks, on 65 tokens, with dropout."""
    torch.manual_seed(5)
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=32,
        patch_size=4,
        num_labels=4,
        hidden_dropout_prob=0.1,
    )
    return transformers.ViTForImageClassification(config)


def images() -> list[dict[str, Any]]:
    seeded = torch.Generator().manual_seed(1)
    return [{"pixel_values": torch.randn(3, 32, 32, generator=seeded), "labels": i % 4} for i in range(24)]


def trainer(
    folder: Path, *callbacks: CompressActivations, model: nn.Module | None = None, **options: Any
) -> Any:
    """For two epochs of three steps of two micro-batches of four images."""
    defaults = {
        "num_train_epochs": 2,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
    }
    arguments = transformers.TrainingArguments(str(folder), **defaults | options)
    return transformers.Trainer(
        model or vit(),
        arguments,
        train_dataset=images(),
        eval_dataset=images()[:8],
        callbacks=list(callbacks),
    )


def losses(run: Any) -> list[float]:
    return [entry["loss"] for entry in run.state.log_history if "loss" in entry]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}},
        {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": True}},
    ],
    ids=["plain", "checkpointing", "reentrant"],
)
def test_training_is_the_same_bit_for_bit_where_nothing_is_lossy(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    plain = trainer(tmp_path, **options)
    plain.train()
    packed = trainer(tmp_path, CompressActivations(policy=lossless()), **options)
    packed.train()
    assert losses(packed) == losses(plain)
    for name, value in plain.model.state_dict().items():
        assert torch.equal(packed.model.state_dict()[name], value), name


def test_every_micro_batch_is_seen_and_no_evaluation(tmp_path: Path) -> None:
    seen = set()
    model = vit()
    model.classifier.register_forward_hook(lambda *_: seen.add((model.training, hooks_are_set())))
    callback = CompressActivations(policy=Remembering())
    trainer(tmp_path, callback, model=model, eval_strategy="steps", eval_steps=2).train()
    assert seen == {(True, True), (False, False)}
    assert callback.ledger.steps == 12
    assert callback.ledger.totals("packed").unpacks > 12
    assert callback.ledger.held_bytes == 0
    assert "forward" not in vars(model)


def test_policy_is_told_of_steps_and_epochs(tmp_path: Path) -> None:
    policy = Remembering()
    trainer(tmp_path, CompressActivations(policy=policy)).train()
    assert policy.seen == [(step, int(step >= 6)) for step in range(12)]


def test_resuming_goes_on_with_step_epoch_and_policy(tmp_path: Path) -> None:
    trainer(
        tmp_path, CompressActivations(policy=Remembering()), save_strategy="steps", save_steps=4, max_steps=4
    ).train()
    policy = Remembering()
    callback = CompressActivations(policy=policy)
    trainer(tmp_path, callback).train(resume_from_checkpoint=True)
    assert policy.seen == [(step, 1) for step in range(8, 12)]
    saved = json.loads((tmp_path / "checkpoint-4" / "trainer_state.json").read_text())
    assert saved["stateful_callbacks"]["halfbyte.activations"]["attributes"] == {
        "step": 8,
        "epoch": 1,
        "seed": 0,
        "policy": {"seen": 8},
    }


def test_exceptions_leave_no_hooks(tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    model = vit()
    handle = model.classifier.register_forward_pre_hook(fail)
    callback = CompressActivations(policy=Remembering())
    with pytest.raises(ZeroDivisionError):
        trainer(tmp_path, callback, model=model).train()
    assert not hooks_are_set()
    assert not nn.modules.module._global_forward_pre_hooks
    callback.detach()
    assert "forward" not in vars(model)
    handle.remove()
    trainer(tmp_path, callback, model=model, max_steps=1).train()
    assert callback.ledger.steps == 1 + 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"torch_compile": True, "n_gpu": 1}, "what compiled code saves is kept exact; train without"),
        ({"torch_compile": False, "n_gpu": 2}, "on 2 GPUs by nn.DataParallel, .* torchrun or accelerate"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], message: str) -> None:
    callback = CompressActivations(policy=lossless())
    state = transformers.TrainerState()
    with pytest.raises(ValueError, match=message):
        callback.on_train_begin(
            SimpleNamespace(**options), state, transformers.TrainerControl(), model=nn.Linear(1, 1)
        )


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, CompressActivations.__module__)
    with pytest.raises(ImportError, match=r"pip install 'halfbyte\[transformers\]'"):
        importlib.import_module(CompressActivations.__module__)


def test_comet_follows_the_optimizer(tmp_path: Path) -> None:
    policy = comet(warmup=2, every=2)
    trainer(tmp_path, CompressActivations(policy=policy, min_bytes=0)).train()
    assert len(policy.bounds) > 4
    assert {bound.times for bound in policy.bounds} == {2}, "two micro-batches a step"
