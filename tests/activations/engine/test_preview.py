from __future__ import annotations

import copy

import pytest
import torch
from nets import ResNet, UNet, ViT
from torch import Tensor, nn

from halfbyte.activations.engine.preview import preview
from halfbyte.activations.policy.jpeg_act import jpeg_act
from halfbyte.activations.policy.sfpr import sfpr


def images() -> Tensor:
    return torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(3))


def test_every_saved_tensor_has_a_line_with_codec_and_error() -> None:
    shown = preview(ResNet(), images(), jpeg_act())
    packed = [row for row in shown.ledger.rows("packed") if "Batch" in str(row.savers)]
    assert {row.path for row in packed} >= {"stem.1", "blocks.0.bn1", "blocks.1.bn2"}
    assert all(row.relative_mean is not None for row in packed)
    assert "stem.1" in str(shown)


def test_savers_at_the_end_of_the_model_are_known() -> None:
    rows = preview(UNet(), images(), sfpr()).ledger.rows("packed")
    assert "after.2" in {row.path for row in rows}


def test_model_and_generators_are_what_they_were() -> None:
    model = ViT(dropout=0.5)
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    preview(model, images(), sfpr())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_statistics_of_normalization_do_not_move() -> None:
    model = ResNet()
    before = copy.deepcopy(model.state_dict())
    preview(model, images(), sfpr())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, a: Tensor, *, b: Tensor | None = None) -> dict[str, Tensor]:
        return {"sum": self.layer(a).sin() + (0 if b is None else self.layer(b).exp())}


@pytest.mark.filterwarnings("ignore:compression")
def test_example_may_be_positional_or_named_arguments() -> None:
    x = torch.randn(64, 64)
    assert preview(TwoInputs(), (x,), sfpr()).ledger.totals().calls > 0
    assert preview(TwoInputs(), {"a": x, "b": x}, sfpr()).ledger.totals().calls > 0


def test_failing_model_is_restored_too() -> None:
    model = ResNet()
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        preview(nn.Sequential(model, nn.Linear(7, 7)), images(), sfpr())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
