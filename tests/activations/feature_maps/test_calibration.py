"""Codecs chosen on a few batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
import torch
from nets import ResNet
from tensors import on_threads
from torch import Tensor, nn

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.codecs.channel_dct import ChannelDct
from halfbyte.activations.codecs.near_zero import NearZero
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.feature_maps.attach import feature_maps
from halfbyte.activations.feature_maps.maps import FeatureMaps
from halfbyte.activations.feature_maps.trial import Trial, at_rest


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


class Known(nn.Module):
    """A map whose channels are copies of one another, one of white noise, and one that is mostly zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.copies, self.noise, self.sparse = nn.Identity(), nn.Identity(), nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        copies = self.copies(x[:, :1].expand(-1, 16, -1, -1).contiguous())
        noise = self.noise(x)
        sparse = self.sparse((x - 2).relu())
        return torch.stack([copies.mean((2, 3)), noise.mean((2, 3)), sparse.mean((2, 3))])


def noise(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def calibrated(model: nn.Module, x: Tensor, codec: object, **options: object) -> FeatureMaps:
    return feature_maps(model, codec, calibrate=[x], layers=[nn.Identity], **options)  # type: ignore[arg-type]


def test_codecs_are_those_that_suit_the_maps() -> None:
    model, x = Known(), noise(4, 16, 16, 16)
    candidates = [ChannelDct(bits=8), NearZero(bits=6)]
    with calibrated(model, x, candidates, tolerance=1e-3) as maps:
        model(x)
    assert maps.codecs["copies"] == ChannelDct(bits=8, keep=1)  # type: ignore[index]
    assert isinstance(maps.codecs["sparse"], NearZero)  # type: ignore[index]
    assert maps.counts["copies"].over_8_bits > 6.5
    assert maps.counts["sparse"].over_8_bits > 4
    packed = ChannelDct(bits=8).encode(x)
    assert packed.why.startswith("DCT does not pay")
    assert maps.total().over_8_bits > 1.9


def relative_error(model: nn.Module, x: Tensor, maps: FeatureMaps) -> float:
    with torch.no_grad():
        compressed = model(x).double()
        with maps.paused():
            plain = model(x).double()
    return float((compressed - plain).square().sum() / plain.square().sum())


def test_tolerance_is_kept_and_used() -> None:
    torch.manual_seed(0)
    model, x = ResNet().eval(), noise(8, 3, 32, 32)
    sizes = []
    for tolerance in (3e-5, 1e-4, 3e-4):
        with feature_maps(model, calibrate=[x], tolerance=tolerance) as maps:
            error = relative_error(model, x, maps)
        assert error <= tolerance
        assert error > tolerance / 30
        sizes.append(maps.total().held)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 1.1 * sizes[-1]


def test_an_evaluation_can_be_what_must_not_fall() -> None:
    torch.manual_seed(1)
    model, x = ResNet().eval(), noise(8, 3, 16, 16)
    seen = []

    def score(net: nn.Module) -> float:
        assert not torch.is_grad_enabled()
        seen.append(-float((net(x) - target).abs().max()))
        return seen[-1]

    with torch.no_grad():
        target = model(x)
    with feature_maps(model, calibrate=[x], evaluate=score, tolerance=0.01) as maps, torch.no_grad():
        assert 0 > score(model) >= -0.01
    assert seen[0] == 0
    assert min(seen) < -0.01, "nothing beyond the tolerance was tried"
    assert maps.total().over_8_bits > 1.5


def test_nothing_accurate_enough_is_told() -> None:
    torch.manual_seed(2)
    model, x = ResNet().eval(), noise(2, 3, 16, 16)
    with pytest.raises(ValueError, match=r"even the most accurate codecs .* raise the tolerance"):
        feature_maps(model, NearZero(bits=2), calibrate=[x], tolerance=1e-12)
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in model.modules())


def test_models_that_tell_nothing_are_refused() -> None:
    class Labels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            return self.relu(x).flatten(1).argmax(1)

    with pytest.raises(ValueError, match="Labels returns no floating-point tensor"):
        feature_maps(Labels(), calibrate=[noise(2, 3)])


@pytest.mark.parametrize("kind", ["tensor", "tuple", "dict"])
def test_batches_are_what_loaders_give(kind: str) -> None:
    torch.manual_seed(3)
    model, x = ResNet().eval(), noise(2, 3, 16, 16)
    batch = {"tensor": x, "tuple": (x, torch.zeros(2)), "dict": {"x": x}}[kind]
    with feature_maps(model, NearZero(), calibrate=[batch], tolerance=1) as maps:
        pass
    assert isinstance(maps.codecs, Mapping)
    assert list(maps.codecs) == [
        *("stem.2", "stem.3", "blocks.0.relu", "blocks.0.relu#1", "blocks.1.relu", "blocks.1.relu#1")
    ]


def test_calibration_leaves_the_model_as_it_was() -> None:
    torch.manual_seed(4)
    model, x = ResNet().train(), noise(4, 3, 16, 16)
    model.stem[1].eval()
    before = {name: t.clone() for name, t in model.state_dict().items()}
    modes, generator = [m.training for m in model.modules()], torch.get_rng_state()
    feature_maps(model, calibrate=[x], tolerance=0.1).remove()
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    assert [m.training for m in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), generator)


def test_what_was_chosen_can_be_used_again() -> None:
    torch.manual_seed(5)
    model, x = ResNet().eval(), noise(4, 3, 16, 16)
    with feature_maps(model, calibrate=[x]) as first, torch.no_grad():
        expected = model(x)
    with feature_maps(model, first.codecs) as again, torch.no_grad():
        assert torch.equal(model(x), expected)
    assert again.counts == first.counts


def test_a_trial_sees_the_error_of_one_map() -> None:
    torch.manual_seed(6)
    model, x = nn.Sequential(nn.ReLU(), nn.Conv2d(3, 4, 3)), noise(2, 3, 9, 9)
    codec: Codec = NearZero(bits=3)
    with at_rest(model):
        found = Trial(model, {model[0]: "0"}, [x, x]).run({"0": codec}, batches=1)
        plain, changed = model(x).double(), model[1](codec.encode(x.relu()).decode()).double()
    assert found == pytest.approx(float((changed - plain).square().sum() / plain.square().sum()))
    assert found > 0
    with at_rest(model):
        assert Trial(model, {model[0]: "0"}, [x]).run({"0": Sfpr()}) < found
