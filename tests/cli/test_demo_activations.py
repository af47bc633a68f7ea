from __future__ import annotations

from pathlib import Path

import pytest
import torch

import halfbyte
from halfbyte.cli import demo_activations, demo_train
from halfbyte.cli.demo_activations import run_memory_trial
from halfbyte.cli.demo_train import TrainOptions
from halfbyte.records.progress import Progress
from photos import jpeg, photo

OPTIONS = TrainOptions(epochs=2, batch_size=8, side=32)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """32 images of two classes."""
    root = tmp_path_factory.mktemp("demo")
    rows = []
    for number in range(32):
        path = root / f"{number}.jpg"
        path.write_bytes(jpeg(photo(number % 2, width=48, height=48)))
        rows.append({"path": path, "label": ("b", "a")[number % 2]})
    halfbyte.convert(rows, root / "train", record_bytes=64 << 10, quality=False)
    return root / "train"


def batches_of(data: Path) -> demo_train.TestBatches:
    return demo_train.test_batches(data, ("a", "b"), OPTIONS)


def test_a_trial_counts_what_a_step_saves_and_holds(data: Path) -> None:
    seen: list[Progress] = []
    trial = run_memory_trial(data, "sfpr()", tests=batches_of(data), options=OPTIONS, progress=seen.append)
    assert trial.saved_bytes > 100_000
    assert 0.2 < trial.held_bytes / trial.saved_bytes < 0.4
    assert 0 <= trial.accuracy <= 1
    assert trial.seconds_per_step > 0
    assert (len(seen), seen[-1].done_samples) == (8, 64)


def test_plain_training_saves_as_much_and_holds_all_of_it(data: Path) -> None:
    plain = run_memory_trial(data, "none", tests=batches_of(data), options=OPTIONS)
    packed = run_memory_trial(data, "group_quantized(bits=2)", tests=batches_of(data), options=OPTIONS)
    assert plain.held_bytes == plain.saved_bytes == pytest.approx(packed.saved_bytes)
    assert packed.held_bytes < plain.held_bytes / 3


def test_counting_changes_no_weight(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    networks: list[torch.nn.Module] = []
    monkeypatch.setattr(demo_activations, "accuracy", lambda network, tests: networks.append(network) or 0.0)
    run_memory_trial(data, "none", tests=[], options=OPTIONS)
    dataset = demo_train.open_training(data, OPTIONS, None)
    loader = demo_train.make_loader(dataset, OPTIONS, dataset.num_levels)
    step = demo_train.TrainingStep(dataset, OPTIONS, steps=len(loader) * OPTIONS.epochs)
    for _ in range(OPTIONS.epochs):
        for batch in loader:
            step(batch)
    for plain, counted in zip(step.network.parameters(), networks[0].parameters(), strict=True):
        assert torch.equal(plain, counted)
