"""Maps of a model on their way from layer to layer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from nets import ResNet
from tensors import on_threads
from torch import Tensor, nn

from halfbyte.activations.codecs.near_zero import NearZero
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.feature_maps.attach import feature_maps
from halfbyte.activations.feature_maps.maps import FeatureMaps


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


class Shared(nn.Module):
    """One ReLU, called three times, as in torchvision's residual blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.first(x))
        y = self.relu(self.second(x))
        return self.relu(y + x[:, :, 1:-1, 1:-1]).mean((2, 3))


def images(seed: int = 0) -> Tensor:
    return torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(seed))


def hooks_of(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_the_next_layer_reads_what_the_codec_restores() -> None:
    torch.manual_seed(0)
    model, codec, x = Shared().eval(), NearZero(bits=4), images()
    with feature_maps(model, codec) as maps, torch.no_grad():
        found = model(x)

    def by_hand(map_: Tensor) -> Tensor:
        return codec.encode(map_.relu()).decode()

    with torch.no_grad():
        first = by_hand(model.first(x))
        second = by_hand(model.second(first))
        expected = by_hand(second + first[:, :, 1:-1, 1:-1]).mean((2, 3))
    assert torch.equal(found, expected)
    assert list(maps.counts) == ["relu", "relu#1", "relu#2"]


@pytest.mark.parametrize("leave", ["remove", "with", "error"])
def test_hooks_go_without_a_trace(leave: str) -> None:
    torch.manual_seed(0)
    model, x = ResNet().eval(), images()
    before, state = model(x), {k: v.clone() for k, v in model.state_dict().items()}
    maps = feature_maps(model, NearZero(bits=3))
    assert hooks_of(model) > 0
    assert not torch.equal(model(x), before)
    if leave == "remove":
        maps.remove()
    elif leave == "with":
        with maps:
            pass
    else:
        with pytest.raises(RuntimeError, match="on purpose"), maps:
            raise RuntimeError("on purpose")
    assert hooks_of(model) == 0
    assert torch.equal(model(x), before)
    assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())


def test_gradients_pass_as_if_nothing_was_changed() -> None:
    class Affine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu, self.weight = nn.ReLU(), nn.Parameter(torch.ones(8))

        def forward(self, x: Tensor) -> Tensor:
            return self.relu(x) * self.weight

    model, x = Affine().train(), images().flatten(2)[:, :, :8].clone().requires_grad_()
    with feature_maps(model, NearZero(bits=2)) as maps:
        model(x).sum().backward()
    restored = NearZero(bits=2).encode(x.detach().relu()).decode()
    assert torch.equal(model.weight.grad, restored.sum((0, 1)))
    assert torch.equal(x.grad, (x > 0).float())
    assert maps.total().error > 0


def test_training_goes_on_under_compression() -> None:
    torch.manual_seed(1)
    model, x = ResNet().train(), images()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    losses = []
    with feature_maps(model, NearZero(bits=5)):
        for _ in range(5):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_bytes_and_errors_are_counted() -> None:
    torch.manual_seed(2)
    model, codec, x = (
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2)).eval(),
        Sfpr(bits=4),
        images(),
    )
    with feature_maps(model, codec, layers=["1"]) as maps, torch.no_grad():
        for _ in range(3):
            model(x)
        map_ = model[0](x).relu()
    packed, count = codec.encode(map_), maps.counts["1"]
    assert list(maps.counts) == ["1"]
    assert (count.elements, count.held) == (3 * map_.numel(), 3 * packed.nbytes)
    error = (packed.decode() - map_).double().square().sum() / map_.double().square().sum()
    assert count.error == pytest.approx(float(error))
    assert maps.total().over_8_bits == pytest.approx(map_.numel() / packed.nbytes)
    found = json.loads(maps.to_json())
    assert found["total"]["ratio_over_float32"] == pytest.approx(4 * map_.numel() / packed.nbytes)
    assert found["maps"][0]["codec"]["codec"] == "Sfpr"
    lines = maps.report().splitlines()
    assert lines[0] == "Maps between layers"
    assert any(line.startswith("1 ") and "Sfpr(4 bits)" in line for line in lines)
    assert lines[-1].startswith("all maps")
    maps.reset()
    assert maps.total().elements == 0


def test_an_evaluation_is_compared_with_and_without() -> None:
    torch.manual_seed(3)
    model, x = ResNet().eval(), images()

    def score(net: nn.Module) -> float:
        with torch.no_grad():
            return float(net(x).sum())

    plain = score(model)
    with feature_maps(model, NearZero(bits=2)) as maps:
        found = maps.compare(score)
        assert found.compressed == score(model)
    assert found.plain == plain
    assert found.change == found.compressed - plain != 0


def test_codecs_are_named_one_by_one() -> None:
    torch.manual_seed(4)
    model, x = Shared().eval(), images()
    with feature_maps(model, {"relu": NearZero(), "relu#1": None}) as maps, torch.no_grad():
        model(x)
    assert list(maps.counts) == ["relu", "relu#2"]
    assert maps.codec_of("relu#2") == NearZero()


def test_maps_with_nan_stay_what_they_are() -> None:
    model, x = nn.Sequential(nn.ReLU()), images()
    x[0, 1, 2, 3] = torch.nan
    with feature_maps(model, NearZero(bits=2)) as maps:
        found = model(x)
    assert found[:, 1].isnan().sum() == 1
    assert torch.equal(found[:, 1].nan_to_num(-1), x[:, 1].relu().nan_to_num(-1))
    assert 0 < maps.total().error < 1


def test_nothing_to_hook_is_told() -> None:
    class Functional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)

        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(self.conv(x))

    model = Functional()
    with pytest.warns(UserWarning, match=r"none of these layers in Functional.*torch\.relu"):
        maps = feature_maps(model, NearZero())
    maps.remove()
    with feature_maps(model, NearZero(), layers=["conv"]) as maps:
        model(images())
    assert list(maps.counts) == ["conv"]


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "name": ({"codec": NearZero(), "layers": ["nowhere"]}, ValueError, "'nowhere' is not in the model"),
    "name in codecs": ({"codec": {"nowhere": NearZero()}}, ValueError, "'nowhere' is not in the model"),
    "layer": ({"codec": NearZero(), "layers": [3]}, TypeError, "layers holds 3"),
    "several": ({"codec": [NearZero(), Sfpr()]}, ValueError, "several codecs.*calibrate=loader"),
    "none": ({}, ValueError, "several codecs.*calibrate=loader"),
    "both": ({"codec": {"relu": NearZero()}, "layers": ["relu"]}, ValueError, "leave both out"),
    "no batch": ({"calibrate": []}, ValueError, "calibrate holds no batch"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_told(name: str) -> None:
    options, kind, message = WRONG[name]
    model = Shared()
    with pytest.raises(kind, match=message):
        feature_maps(model, **options)
    assert hooks_of(model) == 0


def test_outputs_that_are_no_tensors_are_told() -> None:
    model = nn.Sequential(nn.MaxPool2d(2, return_indices=True))
    with (
        feature_maps(model, NearZero()),
        pytest.raises(TypeError, match=r"0 \(MaxPool2d\) returns a tuple, expected one tensor"),
    ):
        model(images())


def test_a_compiled_model_is_told() -> None:
    with pytest.raises(ValueError, match="the model is compiled"):
        feature_maps(torch.compile(Shared(), backend="eager"), NearZero())  # type: ignore[arg-type]


def test_the_handle_is_what_it_says() -> None:
    model = Shared()
    with feature_maps(model, NearZero()) as maps:
        assert isinstance(maps, FeatureMaps)
        with maps.paused():
            model(images())
        assert maps.counts == {}
