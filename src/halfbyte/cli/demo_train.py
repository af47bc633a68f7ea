"""A small network trained through a slow link: what each fidelity costs and gives."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn

import halfbyte
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.torch.loader import Loader
from halfbyte.records.progress import Progress, ProgressCallback
from halfbyte.storage.local import LocalStore
from halfbyte.storage.throttled import ThrottledStore

__all__ = [
    "TestBatches",
    "TrainOptions",
    "TrainingStep",
    "Trial",
    "accuracy",
    "choose_bandwidth",
    "leave_cores_to_decoding",
    "make_loader",
    "make_network",
    "measure_speed",
    "open_training",
    "run_trial",
    "teller",
    "test_batches",
]

_MEAN = (0.485, 0.456, 0.406)
_STD = (0.229, 0.224, 0.225)
_WARMUP_BATCHES = 4


@dataclass(frozen=True)
class TrainOptions:
    """How the demo trains.

    Args:
        epochs: passes over the training images.
        batch_size: images a step.
        side: of the network's input, in pixels.
        learning_rate: highest, of a one-cycle schedule.
        seed: of weights, order and crops.
    """

    epochs: int = 5
    batch_size: int = 32
    side: int = 96
    learning_rate: float = 0.003
    seed: int = 0


@dataclass(frozen=True)
class Trial:
    """What training at one fidelity cost and gave.

    Attributes:
        fidelity: of the training images.
        bytes_read: through the link, over all epochs.
        seconds: of training, testing not included.
        images_per_s: trained on, waiting included.
        stall_share: share of the seconds that training waited for data, in [0, 1].
        accuracy: on the test images at full fidelity, in [0, 1].
    """

    fidelity: int
    bytes_read: int
    seconds: float
    images_per_s: float
    stall_share: float
    accuracy: float


TestBatches = list[tuple[torch.Tensor, torch.Tensor]]


def make_network(num_classes: int) -> nn.Module:
    """Four strided convolutions and a linear layer; about 0.2 million weights."""
    widths = (3, 24, 48, 96, 128)
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [
            nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
        ]
    network = nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], num_classes)
    )
    # What CPUs are fastest at; the stubs of torch lack this form of `to`.
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def leave_cores_to_decoding() -> None:
    """Train on half of the cores: threads of torch that wait by spinning would take the loader's."""
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // 2))


def open_training(path: Path, options: TrainOptions, bandwidth: float | None) -> Dataset:
    """The training data set, behind a link of ``bandwidth`` bytes a second; None for no limit."""
    store: Any = LocalStore(path)
    crop = halfbyte.RandomResizedCrop(options.side, scale=(0.35, 1.0))
    return halfbyte.open(
        store if bandwidth is None else ThrottledStore(store, bandwidth),
        transform=halfbyte.Transform(crop, flip=0.5, normalize=halfbyte.Normalize(_MEAN, _STD)),
        fields=("label",),
        on_error="skip",
        seed=options.seed,
    )


def test_batches(path: Path, classes: tuple[str, ...], options: TrainOptions) -> TestBatches:
    """All test images at full fidelity, decoded once and kept in memory; labels count ``classes``."""
    crop = halfbyte.CenterCrop(options.side, resize=options.side * 8 // 7)
    dataset = halfbyte.open(
        path,
        transform=halfbyte.Transform(crop, normalize=halfbyte.Normalize(_MEAN, _STD)),
        fields=("label",),
        on_error="skip",
    )
    own = dataset.classes or ()
    numbers = torch.tensor([classes.index(name) for name in own])
    loader = Loader(dataset, batch_size=256, shuffle=False)
    return [(batch["image"], numbers[batch["label"]]) for batch in loader]


def make_loader(dataset: Dataset, options: TrainOptions, fidelity: int) -> Loader:
    """Batches for training; two records are mixed, so that it starts soon."""
    return Loader(dataset, batch_size=options.batch_size, fidelity=fidelity, window=2, drop_last=True)


def measure_speed(path: Path, options: TrainOptions) -> float:
    """Images a second that this machine trains on at full fidelity where bytes cost nothing: one epoch."""
    dataset = open_training(path, options, None)
    loader = make_loader(dataset, options, dataset.num_levels)
    step = TrainingStep(dataset, options, steps=len(loader))
    started, images = time.perf_counter(), 0
    for number, batch in enumerate(loader):
        if number == min(_WARMUP_BATCHES, len(loader) - 1):
            started, images = time.perf_counter(), 0
        step(batch)
        images += len(batch["image"])
    return images / (time.perf_counter() - started)


def choose_bandwidth(images_per_s: float, middle_bytes: float, full_bytes: float) -> float:
    """Bytes a second that full fidelity must wait for and the middle one need not.

    The geometric mean of what both need at the pace of the machine, rounded to two digits.

    Args:
        images_per_s: what the machine trains on where bytes cost nothing.
        middle_bytes, full_bytes: of an image at either fidelity.
    """
    exact = images_per_s * math.sqrt(middle_bytes * full_bytes)
    digits = 10.0 ** (math.floor(math.log10(exact)) - 1)
    return max(1.0, round(exact / digits) * digits)


def run_trial(
    path: Path,
    fidelity: int,
    *,
    bandwidth: float,
    tests: TestBatches,
    options: TrainOptions,
    progress: ProgressCallback | None = None,
) -> Trial:
    """Train a fresh network at one fidelity through the link, then test it."""
    dataset = open_training(path, options, bandwidth)
    loader = make_loader(dataset, options, fidelity)
    step = TrainingStep(dataset, options, steps=len(loader) * options.epochs)
    tell = teller(progress, loader, dataset.bytes_at(fidelity) * options.epochs)
    started = time.perf_counter()
    for _ in range(options.epochs):
        for batch in loader:
            step(batch)
            tell()
    seconds = time.perf_counter() - started
    return Trial(
        fidelity=fidelity,
        bytes_read=loader.counters.bytes_read,
        seconds=seconds,
        images_per_s=loader.counters.samples / seconds,
        stall_share=min(1.0, loader.counters.stall_seconds / seconds),
        accuracy=accuracy(step.network, tests),
    )


class TrainingStep:
    """A fresh network, and one training step of it.

    Attributes:
        network: the same weights for the same options.
    """

    def __init__(self, dataset: Dataset, options: TrainOptions, *, steps: int) -> None:
        torch.manual_seed(options.seed)
        self.network = make_network(len(dataset.classes or ())).train()
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(), options.learning_rate, weight_decay=0.01
        )
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, options.learning_rate, total_steps=max(2, steps)
        )

    def __call__(self, batch: dict[str, Any], context: AbstractContextManager[object] | None = None) -> None:
        """One step; ``context`` is entered around its forward and backward pass."""
        images = batch["image"].contiguous(memory_format=torch.channels_last)
        with context or nullcontext():
            loss = nn.functional.cross_entropy(self.network(images), batch["label"])
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        self._schedule.step()


def teller(progress: ProgressCallback | None, loader: Loader, total_bytes: int) -> Callable[[], None]:
    """What tells ``progress``, if there is one, how far the loader is."""

    def tell() -> None:
        if progress is not None:
            progress(Progress(loader.counters.bytes_read, total_bytes, loader.counters.samples, 0))

    return tell


def accuracy(network: nn.Module, tests: TestBatches) -> float:
    """Share of the test images that the network gets right."""
    network.eval()
    with torch.inference_mode():
        right = sum(int((network(images).argmax(1) == labels).sum()) for images, labels in tests)
    return right / max(1, sum(len(labels) for _, labels in tests))
