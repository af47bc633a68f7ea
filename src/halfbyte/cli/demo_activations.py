"""The demo's network trained once more, with what autograd saves held in fewer bytes: what each policy costs
and gives.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from halfbyte.activations import compress, group_quantized, jpeg_act, lossless, sfpr
from halfbyte.activations.policy.saved_tensor import PolicyFunction
from halfbyte.cli.demo_train import (
    TestBatches,
    TrainingStep,
    TrainOptions,
    accuracy,
    make_loader,
    open_training,
    teller,
)
from halfbyte.records.progress import ProgressCallback

__all__ = ["POLICIES", "MemoryTrial", "run_memory_trial"]

POLICIES: dict[str, Callable[[], PolicyFunction] | None] = {
    "none": None,
    "jpeg_act()": jpeg_act,
    "sfpr()": sfpr,
    "group_quantized(bits=2)": lambda: group_quantized(bits=2),
}
"""As a user would write them, from `halfbyte.activations`."""


@dataclass(frozen=True)
class MemoryTrial:
    """What training under one policy cost and gave.

    Attributes:
        policy: a key of :data:`POLICIES`.
        saved_bytes: of activations, that autograd saves in a step.
        held_bytes: that are held instead.
        seconds_per_step: forward, backward and update, the median over all steps.
        accuracy: on the test images, in [0, 1].
    """

    policy: str
    saved_bytes: float
    held_bytes: float
    seconds_per_step: float
    accuracy: float


def run_memory_trial(
    path: Path,
    policy: str,
    *,
    tests: TestBatches,
    options: TrainOptions,
    progress: ProgressCallback | None = None,
) -> MemoryTrial:
    """Train a fresh network at full fidelity, without a link, then test it."""
    dataset = open_training(path, options, None)
    loader = make_loader(dataset, options, dataset.num_levels)
    step = TrainingStep(dataset, options, steps=len(loader) * options.epochs)
    make = POLICIES[policy] or lossless
    compressor = compress(step.network, policy=make(), seed=options.seed)
    tell = teller(progress, loader, dataset.bytes_at(dataset.num_levels) * options.epochs)
    seconds: list[float] = []
    for epoch in range(options.epochs):
        compressor.set_epoch(epoch)
        for batch in loader:
            started = time.perf_counter()
            # Where nothing is to be compressed, what the first step saves is counted, which changes no
            # gradient.
            step(batch, compressor if POLICIES[policy] or not seconds else None)
            seconds.append(time.perf_counter() - started)
            tell()
    total, steps = compressor.ledger.totals(), max(1, compressor.ledger.steps)
    return MemoryTrial(
        policy=policy,
        saved_bytes=total.before / steps,
        held_bytes=(total.after if POLICIES[policy] else total.before) / steps,
        seconds_per_step=statistics.median(seconds),
        accuracy=accuracy(step.network, tests),
    )
