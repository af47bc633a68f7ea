"""Bounds that follow the training: the loop closes, and whatever scales gradients is accounted for."""

from __future__ import annotations

import json
import math
import pickle
from contextlib import nullcontext
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from nets import ResNet, ViT
from torch import Tensor, nn

from halfbyte.activations import ac_gc, budget, comet, compress, jpeg_act, lossless, sfpr
from halfbyte.activations.codecs.error_bounded import ErrorBounded
from halfbyte.activations.policy.error_control import Bound, ErrorControl
from halfbyte.activations.policy.saved_tensor import Saver

TARGET = 0.02


def batch(step: int) -> tuple[Tensor, Tensor]:
    """Pictures whose class is their colour, under noise."""
    generator = torch.Generator().manual_seed(step)
    labels = torch.randint(0, 4, (32,), generator=generator)
    noise = torch.randn(32, 3, 16, 16, generator=generator)
    noise = F.avg_pool2d(noise, 3, 1, 1) * 2
    noise[:, 0] += (labels.float() / 2 - 0.75)[:, None, None]
    return noise, labels


class Training:
    """A small network, an optimizer and a policy."""

    def __init__(
        self,
        model: nn.Module | None = None,
        *,
        learning_rate: float = 0.05,
        make: Any = comet,
        **options: Any,
    ) -> None:
        torch.manual_seed(1)
        self.model = ResNet(width=8) if model is None else model
        self.optimizer = torch.optim.SGD(self.model.parameters(), learning_rate, momentum=0.9)
        if make is comet:
            options.setdefault("target", TARGET)
        options = {"warmup": 4, "every": 16, "others": lossless(), **options}
        self.policy: ErrorControl = make(self.optimizer, **options)
        self.compressor = compress(self.model, policy=self.policy, min_bytes=0)
        self.step = 0

    def loss(self, data: tuple[Tensor, Tensor]) -> Tensor:
        return F.cross_entropy(self.model(data[0]), data[1])

    def go(self, steps: int) -> None:
        for _ in range(steps):
            self.optimizer.zero_grad()
            with self.compressor:
                loss = self.loss(batch(self.step))
                self.compressor.reach([loss.grad_fn])
            loss.backward()
            self.optimizer.step()
            self.step += 1

    def noise(self) -> dict[int, float]:
        """How much compression changes the gradient of each weight in one more batch: root mean square, by
        the weight's number.
        """
        data, gradients = batch(10_000), []
        state = {name: value.clone() for name, value in self.model.state_dict().items()}
        for compressed in (True, False):
            self.model.load_state_dict(state)
            self.optimizer.zero_grad()
            with self.compressor if compressed else nullcontext():
                loss = self.loss(data)
            loss.backward()
            gradients.append([p.grad.clone() for p in self.model.parameters() if p.grad is not None])
        self.optimizer.zero_grad()
        return {
            n: float((a - b).square().mean().sqrt()) for n, (a, b) in enumerate(zip(*gradients, strict=True))
        }


def by_weight(policy: ErrorControl) -> dict[int, Bound]:
    return {bound.weight: bound for bound in policy.bounds}


@pytest.mark.parametrize("make", [comet, ac_gc])
def test_noise_is_what_was_asked_for(make: Any) -> None:
    training = Training(make=make, **({"epsilon": 0.05} if make is ac_gc else {}))
    training.go(4 + 4 + 4 + 4 + 8)  # two measurements, each of four steps, and tensors verified one by one
    bounds = by_weight(training.policy)
    assert {0, 3, 6, 12, 18} <= bounds.keys()
    assert bounds.keys() & {9, 15}, "which read the same tensor"
    found = training.noise()
    for number, bound in bounds.items():
        assert bound.predicted <= training.policy.target * bound.scale * (1 + 1e-6)
        assert bound.measured is not None
        assert 0.5 < bound.measured / bound.predicted < 2, bound
        if number:  # the test itself holds the stem's input, so that it stays exact
            assert 0.5 < found[number] / (training.policy.target * bound.scale) < 2, (bound, found[number])


def test_linear_layers_and_tokens_have_bounds_too() -> None:
    training = Training(ViT(dropout=0.0), learning_rate=0.02, others=sfpr())
    training.go(24)
    layers = {bound.path for bound in training.policy.bounds}
    assert any("head" in path for path in layers)
    assert sum(any(s.node == "AddmmBackward0" for s in bound.savers) for bound in training.policy.bounds) >= 6
    for bound in training.policy.bounds:
        assert bound.measured is None or 0.5 < bound.measured / bound.predicted < 2, bound


def test_warm_up_belongs_to_others() -> None:
    training = Training(warmup=6)
    training.go(6)
    assert training.policy.bounds == ()
    assert not any("ErrorBounded" in row.codec for row in training.compressor.ledger.rows())
    training.go(5)
    assert any("ErrorBounded" in row.codec for row in training.compressor.ledger.rows())


def test_measurements_come_seldom() -> None:
    training = Training(warmup=2, every=8)
    measured = []
    for step in range(40):
        if training.policy.measuring:
            measured.append(step)
        training.go(1)
    # Four steps each, after 2, 2, 4, 8, 8, … others.
    assert measured == [n for first in (2, 8, 16, 28) for n in range(first, first + 4)]


def test_bounds_fall_when_gradients_no_longer_agree() -> None:
    """Momentum shrinks, while single gradients do not."""
    training = Training(learning_rate=0.0, warmup=12, every=12)
    training.go(16)
    before = by_weight(training.policy)
    labels = training.loss

    def contrary(data: tuple[Tensor, Tensor]) -> Tensor:
        return labels(data) * (-1) ** training.step

    training.loss = contrary  # type: ignore[method-assign]
    training.go(16)
    after = by_weight(training.policy)
    assert before.keys() == after.keys()
    for number, bound in before.items():
        assert after[number].value < 0.5 * bound.value, (bound, after[number])


def test_it_goes_on_as_if_never_interrupted() -> None:
    whole = Training()
    whole.go(26)
    first = Training()
    first.go(14)  # in the midst of a measurement
    second = Training()
    second.model.load_state_dict(first.model.state_dict())
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.compressor.load_state_dict(json.loads(json.dumps(first.compressor.state_dict())))
    second.step = 14
    second.go(12)
    assert second.policy.bounds == whole.policy.bounds
    for a, b in zip(second.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_loss_scaling_is_divided_out() -> None:
    plain = Training()
    plain.go(12)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaled = Training(scaler=scaler)
    for _ in range(12):
        scaled.optimizer.zero_grad()
        with scaled.compressor:
            loss = scaled.loss(batch(scaled.step))
            scaled.compressor.reach([loss.grad_fn])
        scaler.scale(loss).backward()
        scaler.step(scaled.optimizer)
        scaler.update()
        scaled.step += 1
    values = [[b.value for b in t.policy.bounds] for t in (plain, scaled)]
    assert len(values[0]) > 4
    assert values[1] == pytest.approx(values[0], rel=1e-3)
    measured = [[b.measured for b in t.policy.bounds] for t in (plain, scaled)]
    assert [m is None for m in measured[0]] == [m is None for m in measured[1]]
    assert [m for m in measured[1] if m] == pytest.approx([m for m in measured[0] if m], rel=0.05)


def test_an_overflow_teaches_nothing() -> None:
    training = Training(warmup=3)
    training.go(3)
    assert training.policy.measuring
    training.optimizer.zero_grad()
    with training.compressor:
        (training.loss(batch(3)) * math.inf).backward()
    for parameter in training.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    training.optimizer.step()
    assert training.policy.bounds == ()
    assert training.policy.measuring, "the next step is measured instead"
    training.go(3)
    assert training.policy.bounds == (), "of four steps one is missing"
    training.go(1)
    assert training.policy.bounds != ()


def test_accumulated_gradients_count_together() -> None:
    """Of two halves each may make half of the noise."""
    once, twice = Training(learning_rate=0.0), Training(learning_rate=0.0)
    once.go(8)
    for step in range(8):
        images, labels = batch(step)
        twice.optimizer.zero_grad()
        for half in (slice(0, 16), slice(16, 32)):
            with twice.compressor:
                (twice.loss((images[half], labels[half])) / 2).backward()
        twice.optimizer.step()
    assert {bound.times for bound in once.policy.bounds} == {1}
    assert {bound.times for bound in twice.policy.bounds} == {2}
    together, halves = by_weight(once.policy), by_weight(twice.policy)
    assert len(together.keys() & halves.keys()) > 3
    for number in together.keys() & halves.keys():
        bound = together[number]
        # Batch statistics differ, so that gradients do a little.
        ratio = (halves[number].value / halves[number].scale) / (bound.value / bound.scale)
        assert 0.6 < ratio < 1.6, (bound, halves[number])


def test_a_bound_is_lowered_where_noise_is_above_the_law() -> None:
    """Without normalization, gradients of a mean are the same everywhere, and errors of one sign add up."""

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.first(x).relu()).mean((2, 3))

    training = Training(Plain(), learning_rate=0.0)
    training.go(8)
    (before,) = [bound for bound in training.policy.bounds if len(bound.savers) > 1]
    training.go(6)
    (after,) = [bound for bound in training.policy.bounds if len(bound.savers) > 1]
    assert after.value < 0.7 * before.value
    assert after.measured is not None
    assert after.measured < 2 * TARGET * after.scale
    assert training.noise()[2] < 2.5 * TARGET * after.scale


def test_a_tensor_of_two_layers_has_the_tighter_bound() -> None:
    class Forked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 8, 3, padding=1)
            self.one, self.other = nn.Conv2d(8, 4, 3, padding=1), nn.Conv2d(8, 4, 1)

        def forward(self, x: Tensor) -> Tensor:
            x = self.first(x).relu()
            return (self.one(x) + 100 * self.other(x)).mean((2, 3))

    training = Training(Forked(), learning_rate=0.0)
    training.go(9)
    training.go(12)
    assert len([bound for bound in training.policy.bounds if len(bound.savers) > 2]) == 1
    noise = training.noise()
    weights = dict(enumerate(training.model.parameters()))
    scales = {
        n: training.optimizer.state[p]["momentum_buffer"].abs().mean()
        for n, p in weights.items()
        if n in (2, 4)
    }
    shares = {n: noise[n] / float(scale) for n, scale in scales.items()}
    assert max(shares.values()) < 2 * TARGET


def test_values_that_others_read_too_have_no_bound() -> None:
    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 4, 3)

        def forward(self, x: Tensor) -> Tensor:
            x = self.first(x).sigmoid()  # whose backward reads its result
            return self.second(x).mean((2, 3))

    training = Training(Gated(), others=sfpr())
    training.go(10)
    assert not any(
        bound.path == "second" or "Sigmoid" in str(bound.savers) for bound in training.policy.bounds
    )


def test_frozen_weights_do_not_count() -> None:
    model = ResNet(width=8)
    for parameter in model.blocks.parameters():
        parameter.requires_grad_(False)
    training = Training(model)
    training.go(10)
    numbers = {n for n, p in enumerate(model.parameters()) if p.requires_grad}
    assert {bound.weight for bound in training.policy.bounds} <= numbers


def test_bounds_are_never_coarser_than_the_values() -> None:
    training = Training(target=1e6)
    training.go(9)
    assert training.policy.bounds
    for bound in training.policy.bounds:
        assert bound.predicted < 1e6 * bound.scale
        assert bound.value < 10


def test_the_codec_is_as_asked() -> None:
    training = Training(coder="fixed")
    training.go(9)
    codecs = {row.codec for row in training.compressor.ledger.rows() if "ErrorBounded" in row.codec}
    assert codecs
    assert all("fixed" in codec for codec in codecs)


def test_the_table_tells_all() -> None:
    training = Training()
    training.go(12)
    lines = training.policy.table().splitlines()
    assert len(lines) == 1 + len(training.policy.bounds)
    assert lines[0].startswith("module")
    assert lines[0].endswith("bound  noise / gradient: predicted  measured  non-zeros  ratio")
    assert any("blocks.0.conv2" in line or "blocks.0.relu" in line for line in lines)
    assert all(len(line) == len(lines[0]) for line in lines)


def test_an_optimizer_can_come_later() -> None:
    policy = comet(warmup=2)
    model = ResNet()
    compressor = compress(model, policy=policy, min_bytes=0)
    with pytest.raises(
        RuntimeError, match=r"comet\(target=0.01\) follows no optimizer; give it one, or call"
    ):
        compressor.__enter__()
    for _ in range(2):  # as when a trainer is started again
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        policy.follow(optimizer)
        for step in range(6):
            with compressor:
                F.cross_entropy(model(batch(step)[0]), batch(step)[1]).backward()
            optimizer.step()
    assert policy.bounds != ()


def test_what_wraps_an_optimizer_is_looked_through() -> None:
    class Wrapper:
        def __init__(self, optimizer: torch.optim.Optimizer) -> None:
            self.optimizer = optimizer
            self.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    training = Training()
    policy = comet()
    policy.follow(Wrapper(training.optimizer))  # type: ignore[arg-type]
    assert policy.scaler is not None
    assert policy.scaler.get_scale() == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 0.0}, "noise of 0.0 allowed, expected a number above 0"),
        ({"target": math.inf}, "noise of inf allowed"),
        ({"warmup": 0}, "warmup=0 with every=1000, expected 1 ≤ warmup ≤ every"),
        ({"warmup": 30, "every": 20}, "warmup=30 with every=20"),
        ({"others": budget(ratio=8)}, r"others=budget\(ratio=8\) measures too"),
        ({"coder": "morse"}, "coder is 'morse'"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        comet(**options)


def test_others_keep_their_schedules() -> None:
    training = Training(others=jpeg_act(steps={0: "optL", 6: "optH"}))
    training.go(5)
    codecs = {row.codec for row in training.compressor.ledger.rows()}
    assert not any("optH" in codec for codec in codecs)
    training.go(4)
    assert any("optH" in row.codec for row in training.compressor.ledger.rows())
    assert any("ErrorBounded" in row.codec for row in training.compressor.ledger.rows())


def test_it_stays_in_its_process() -> None:
    training = Training()
    with pytest.raises(TypeError, match="cannot be sent to another; make it there"):
        pickle.dumps(training.policy)


def test_what_a_bound_gives_is_its_codec() -> None:
    training = Training()
    training.go(9)
    relu = Saver("ReluBackward0", "result")
    rows = [row for row in training.compressor.ledger.rows() if "ErrorBounded" in row.codec]
    bounds = {f"{ErrorBounded(b.value, signs=relu in b.savers)}" for b in training.policy.bounds}
    assert rows
    assert {row.codec for row in rows} <= bounds
