"""Bandwidth in runs whose right answer is known: all that takes time takes a stated time."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import halfbyte
from halfbyte.errors import StateError
from halfbyte.loader.fidelity import Fidelity, Moment, fidelity_mix
from halfbyte.storage.local import LocalStore
from halfbyte.tuning import Bandwidth, Fixed, Mixture, Policy, Schedule
from halfbyte.tuning.throughput import sample_bytes
from photos import build_dataset

BATCH = 10
VIEW = halfbyte.Transform(halfbyte.CenterCrop(16))


class Run:
    """Training in which everything takes a stated time; a new fidelity reaches batches ``lag`` steps late.

    Args:
        bandwidth: bytes a second, at a step.
        model: seconds a batch, at a step.
        decoding: seconds a byte of what is decoded.
        queued: seconds a batch that the model seems to take while the run waits, as queued work does.
    """

    def __init__(
        self,
        dataset: halfbyte.Dataset,
        policy: Policy,
        *,
        bandwidth: Callable[[int], float] | float,
        model: Callable[[int], float] | float,
        decoding: float = 0.0,
        lag: int = 3,
        queued: float | None = None,
    ) -> None:
        self.dataset, self.policy, self.lag, self.decoding, self.queued = (
            dataset,
            policy,
            lag,
            decoding,
            queued,
        )
        self.bandwidth = bandwidth if callable(bandwidth) else lambda step: bandwidth
        self.model = model if callable(model) else lambda step: model
        self.sizes = sample_bytes(dataset)
        self.steps = 0
        self.chosen: list[Fidelity] = []
        self.restart()
        policy.begin(dataset)

    def restart(self) -> None:
        """What a new process begins with."""
        self.seconds = 0.0
        names = ("bytes_read", "read_seconds", "decoded", "decoded_bytes", "decode_seconds", "stall_seconds")
        self.cost = dict.fromkeys((*names, "samples"), 0.0)

    def go(self, steps: int) -> Run:
        for _ in range(steps):
            self.chosen.append(self.policy.choose(Moment(0, self.seconds, dict(self.cost))))
            self._batch(self.chosen[max(0, len(self.chosen) - 1 - self.lag)])
            self.steps += 1
        return self

    def _batch(self, fidelity: Fidelity) -> None:
        weights = fidelity_mix(fidelity, len(self.sizes)).weights
        read = BATCH * sum(w * size for w, size in zip(weights, self.sizes, strict=True))
        overhead = self.dataset.records.manifest.overhead_bytes / len(self.dataset)
        decoded = read - BATCH * overhead
        reading = read / self.bandwidth(self.steps)
        decoding = decoded * self.decoding
        step = self.model(self.steps)
        whole = max(reading, decoding, step)
        busy = step if self.queued is None or whole == step else self.queued
        self.seconds += whole
        for name, value in (
            ("bytes_read", read),
            ("read_seconds", reading),
            ("decoded", BATCH),
            ("decoded_bytes", decoded),
            ("decode_seconds", decoding),
            ("stall_seconds", whole - busy),
            ("samples", BATCH),
        ):
            self.cost[name] += value


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen records of eight images; a sample is 1.0 kB at fidelity 1, 1.9 at 5, 3.2 at 9 and 5.7 at 10."""
    return build_dataset(tmp_path_factory.mktemp("bandwidth") / "ds", [8] * 16, width=160, height=120)


@pytest.fixture
def dataset(path: Path) -> halfbyte.Dataset:
    return halfbyte.open(path, transform=VIEW)


def link_for(dataset: halfbyte.Dataset, k: int, *, per_batch: float, spare: float = 1.02) -> float:
    """Bytes a second that bring fidelity k a little faster than a model takes it, and no higher one."""
    return spare * BATCH * sample_bytes(dataset)[k - 1] / per_batch


def decisions(policy: Policy) -> list[tuple[int, Fidelity]]:
    return [(decision.step, decision.fidelity) for decision in policy.log]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
def test_waiting_for_bytes_lowers_fidelity_as_far_as_it_must(dataset: halfbyte.Dataset, k: int) -> None:
    policy = Bandwidth(every=10)
    run = Run(dataset, policy, bandwidth=link_for(dataset, k, per_batch=0.1), model=0.1)
    run.go(200)
    assert decisions(policy) == [(0, 10), (10, k)]
    assert run.chosen[-1] == k
    full = sample_bytes(dataset)[9]
    waited = 1 - link_for(dataset, k, per_batch=0.1) / (BATCH * full / 0.1)
    assert policy.log[1].why.startswith(f"the run waited {100 * waited:.0f} % of the time for bytes at ")
    assert f"fidelity {k} needs" in policy.log[1].why
    assert policy.log[1].why.endswith("at 100 images/s")
    assert policy.log[1].figures["waiting"] == pytest.approx(waited)


def test_a_model_that_sets_the_pace_gets_full_fidelity(dataset: halfbyte.Dataset) -> None:
    policy = Bandwidth(every=10)
    run = Run(
        dataset, policy, bandwidth=link_for(dataset, 10, per_batch=0.1, spare=4), model=0.1, decoding=1e-9
    )
    run.go(100)
    assert set(run.chosen) == {10}
    assert decisions(policy) == [(0, 10), (10, 10)]
    assert policy.log[1].why.startswith("the model sets the pace: fidelity 10 needs ")


def test_no_fidelity_is_low_enough(dataset: halfbyte.Dataset) -> None:
    policy = Bandwidth(every=10)
    Run(dataset, policy, bandwidth=link_for(dataset, 1, per_batch=0.1, spare=0.5), model=0.1).go(100)
    assert decisions(policy) == [(0, 10), (10, 1)]
    assert policy.log[1].why.endswith(", and there is no lower one")


def test_a_link_that_gets_better_is_used_and_one_that_gets_worse_is_spared(dataset: halfbyte.Dataset) -> None:
    slow, fast = link_for(dataset, 2, per_batch=0.1), link_for(dataset, 10, per_batch=0.1, spare=5)
    policy = Bandwidth(every=10)
    run = Run(dataset, policy, bandwidth=lambda step: fast if 100 <= step < 200 else slow, model=0.1)
    run.go(300)
    assert run.chosen[99] == 2
    assert run.chosen[199] == 10
    assert run.chosen[299] == 2
    # As soon as it is seen: within a few looks of the change.
    assert run.chosen[150] == 10
    assert run.chosen[250] == 2
    assert "the model sets the pace" in next(d.why for d in policy.log[1:] if d.fidelity == 10)


def test_a_faster_model_is_noticed_while_it_waits(dataset: halfbyte.Dataset) -> None:
    policy = Bandwidth(every=10)
    bandwidth = link_for(dataset, 10, per_batch=0.1, spare=1.5)
    run = Run(dataset, policy, bandwidth=bandwidth, model=lambda step: 0.1 if step < 100 else 0.02)
    run.go(300)
    assert run.chosen[99] == 10
    needed = [k for k in range(1, 11) if BATCH * sample_bytes(dataset)[k - 1] / bandwidth <= 0.02 / 0.95]
    assert run.chosen[-1] == max(needed) < 10


def test_waiting_for_decoding_lowers_fidelity_and_says_so(dataset: halfbyte.Dataset) -> None:
    policy = Bandwidth(every=10)
    payloads = [sum(level.bytes for level in dataset.levels[:k]) / len(dataset) for k in range(1, 11)]
    decoding = 0.98 * 0.1 / (BATCH * payloads[4])  # seconds a byte: fidelity 5 keeps up
    run = Run(dataset, policy, bandwidth=1e9, model=0.1, decoding=decoding)
    run.go(200)
    assert 4 <= run.chosen[-1] <= 6  # between measurements decoding is guessed from bytes
    assert " % of the time for decoding, which gives " in policy.log[1].why
    assert " for bytes" not in policy.log[1].why
    assert len(policy.log) <= 4


@pytest.mark.parametrize(("noise", "most"), [(0.1, 2), (0.2, 20), (0.3, 35)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_link_that_varies_is_no_reason_to_flap(
    dataset: halfbyte.Dataset, noise: float, most: int, seed: int
) -> None:
    """Another bandwidth at each of 200 looks; without smoothing there are 70 to 100 changes."""
    draws = random.Random(seed)
    mean = link_for(dataset, 5, per_batch=0.1, spare=1.06)
    rates = [mean * draws.uniform(1 - noise, 1 + noise) for _ in range(200)]
    policy = Bandwidth(every=20)
    Run(dataset, policy, bandwidth=lambda step: rates[step // 20], model=0.1).go(4000)
    assert len(policy.log) <= most


def test_between_waiting_and_room_to_spare_nothing_changes(dataset: halfbyte.Dataset) -> None:
    bandwidth = link_for(dataset, 2, per_batch=0.1)
    room = link_for(dataset, 3, per_batch=0.1, spare=1.05)  # less than the headroom of 10 %
    for options, k in (({}, 2), ({"headroom": 0.01}, 3)):
        policy = Bandwidth(every=10, **options)
        run = Run(dataset, policy, bandwidth=lambda step: bandwidth if step < 100 else room, model=0.1)
        assert run.go(200).chosen[-1] == k


def test_queued_work_is_mistaken_once_only(dataset: halfbyte.Dataset) -> None:
    """While batches come late, a step seems to take what it takes to queue it; the GPU works meanwhile."""
    full = link_for(dataset, 10, per_batch=0.1, spare=1)
    policy = Bandwidth(every=10)
    run = Run(
        dataset,
        policy,
        bandwidth=lambda step: (0.8 if step < 10 else 1.2) * full,
        model=0.1,
        queued=0.01,
    )
    run.go(300)
    assert min(run.chosen) < 5
    assert set(run.chosen[100:]) == {10}
    # What was learnt of the model holds when the link is a little short again.
    run.bandwidth = lambda step: 0.97 * full
    assert set(run.go(100).chosen[300:]) == {10}


def test_the_inner_policy_is_the_floor(dataset: halfbyte.Dataset) -> None:
    policy = Bandwidth(Fixed(5), every=10)
    run = Run(dataset, policy, bandwidth=link_for(dataset, 2, per_batch=0.1), model=0.1).go(100)
    assert decisions(policy) == [(0, 10), (10, 5)]
    assert policy.log[1].why.endswith(", and Fixed(5) asks for no less")
    assert run.chosen[-1] == 5
    roomy = Bandwidth(Fixed(5), every=10)
    assert Run(dataset, roomy, bandwidth=1e12, model=0.1).go(100).chosen[-1] == 10


def test_a_floor_that_rises_is_followed_at_once(dataset: halfbyte.Dataset) -> None:
    class Rises(Policy):
        def decide(self, moment: Moment) -> Fidelity:
            return 1 if self.step < 33 else 4

    policy = Bandwidth(Rises(), every=10)
    run = Run(dataset, policy, bandwidth=link_for(dataset, 2, per_batch=0.1), model=0.1).go(100)
    assert (run.chosen[32], run.chosen[33], run.chosen[-1]) == (2, 4, 4)


def test_a_mixture_is_a_floor_too(dataset: halfbyte.Dataset) -> None:
    policy = Bandwidth(Mixture({2: 0.5, 10: 0.5}), every=10)
    run = Run(dataset, policy, bandwidth=link_for(dataset, 1, per_batch=0.1), model=0.1).go(100)
    assert run.chosen[-1] == {2: 0.5, 10: 0.5}
    assert "the mixture needs" in policy.log[-1].why


@pytest.mark.parametrize("stop", [1, 5, 10, 15, 60, 118, 130])
def test_a_resumed_run_decides_what_the_whole_run_does(dataset: halfbyte.Dataset, stop: int) -> None:
    slow, fast = link_for(dataset, 3, per_batch=0.1), link_for(dataset, 10, per_batch=0.1, spare=5)

    def start() -> Run:
        policy = Bandwidth(Schedule({0: 2}), every=10)
        return Run(
            dataset, policy, bandwidth=lambda step: fast if 80 < step <= 120 else slow, model=0.1, lag=0
        )

    whole = start().go(200)
    assert len({str(fidelity) for fidelity in whole.chosen}) > 2
    first = start().go(stop)
    second = start()
    second.policy.load_state_dict(json.loads(json.dumps(first.policy.state_dict())))
    second.steps, second.chosen = first.steps, list(first.chosen)
    second.go(200 - stop)
    assert second.chosen == whole.chosen
    assert second.policy.inner.log == whole.policy.inner.log


def test_states_must_fit(dataset: halfbyte.Dataset) -> None:
    plain, bound = Bandwidth(), Bandwidth(Fixed(3))
    for policy in (plain, bound):
        policy.begin(dataset)
    with pytest.raises(StateError, match="with an inner policy, expected one without"):
        plain.load_state_dict(bound.state_dict())
    with pytest.raises(StateError, match="without an inner policy, expected one with"):
        bound.load_state_dict(plain.state_dict())


@pytest.mark.parametrize(
    "options",
    [{"every": 0}, {"every": True}, {"stall": 1.0}, {"stall": -0.1}, {"headroom": -1}, {"inner": 5}],
)
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Bandwidth(**options)


def test_a_policy_without_a_loader_says_so() -> None:
    with pytest.raises(RuntimeError, match="give it to a loader"):
        Bandwidth().choose(Moment(0, 0.0, {}))


def train(path: Path, policy: Policy, *, bandwidth: float, model: float) -> halfbyte.Loader:
    """Two epochs of a real loader, whose model sleeps."""
    store = halfbyte.ThrottledStore(LocalStore(path), bandwidth=bandwidth)
    loader = halfbyte.Loader(
        halfbyte.open(store, transform=VIEW), batch_size=8, fidelity=policy, window=1, num_threads=1
    )
    for _ in range(2):
        for _ in loader:
            time.sleep(model)
    return loader


def test_a_real_run_that_waits_goes_down_and_one_that_does_not_stays(path: Path) -> None:
    full = sample_bytes(halfbyte.open(path))[-1] * 8  # bytes a batch
    policy = Bandwidth(every=4)
    # Full takes 120 ms of the link and the model 1 ms: no noise of a busy machine makes up for that.
    loader = train(path, policy, bandwidth=full / 0.12, model=0.001)
    assert loader.fidelity == 1
    assert "for bytes at" in policy.log[1].why
    assert policy.log[1].figures["bandwidth"] < 1.01 * full / 0.12  # a busy machine makes it less, never more
    # The link has 100 times what the model takes.
    loader = train(path, Bandwidth(every=4, stall=0.5), bandwidth=full / 0.0005, model=0.05)
    assert loader.fidelity == 10


RANKS = """
import json, sys
import torch.distributed as dist
import halfbyte
from halfbyte.tuning import Bandwidth
from test_bandwidth import Run, VIEW, link_for

def main(path, store, rank):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=2)
    ds = halfbyte.open(path, transform=VIEW)
    policy = Bandwidth(every=10)
    # Steps of both ranks take as long as those of the slower link; to the other it looks like the model.
    slow = link_for(ds, 3, per_batch=0.1)
    fast = link_for(ds, 10, per_batch=0.1, spare=50)
    run = Run(ds, policy, bandwidth=fast if int(rank) else slow, model=0.1)
    run.go(100)
    print(json.dumps({"chosen": run.chosen, "log": [str(d) for d in policy.log]}))
    dist.destroy_process_group()

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


def test_ranks_agree_on_what_the_slowest_needs(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": paths}
    command = [sys.executable, str(script), str(path), str(tmp_path / "store")]
    ranks = [
        subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True, env=environment)
        for rank in range(2)
    ]
    slow, fast = (json.loads(rank.communicate(timeout=120)[0]) for rank in ranks)
    assert slow == fast
    assert slow["chosen"][-1] == 3
