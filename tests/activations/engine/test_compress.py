from __future__ import annotations

import gc
import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from nets import ResNet
from torch import Tensor, nn

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.policy.saved_tensor import Policy, SavedTensor

# Too small a computation to gain anything, which is told.
few = pytest.mark.filterwarnings("ignore:compression")


def exact(saved: SavedTensor) -> Codec | None:
    return None


def halved(saved: SavedTensor) -> Codec | None:
    return Cast("bfloat16")


def images(size: int = 32) -> Tensor:
    return torch.randn(4, 3, size, size, generator=torch.Generator().manual_seed(3))


def rows(ledger: Ledger, field: str) -> dict[str, str]:
    """What became of the tensors that a field of this name saved: path to codec or reason."""
    return {
        row.path: row.codec or row.why or row.kind
        for row in ledger.rows()
        if any(str(saver) == field for saver in row.savers)
    }


def test_relu_output_that_a_pool_follows_is_one_bit() -> None:
    model = ResNet()
    with compress(model, policy=exact) as ledger:
        model(images()).sum().backward()
    assert rows(ledger, "MaxPool2DWithIndices.self") == {"stem.2": "ReluMask"}
    row = next(row for row in ledger.rows() if row.path == "stem.2")
    assert row.before / row.after == 32


def test_relu_output_that_a_convolution_reads_keeps_an_exact_mask() -> None:
    model = ResNet()
    with compress(model, policy=halved) as ledger:
        model(images()).sum().backward()
    assert rows(ledger, "Relu.result")["blocks.0.relu"] == "Cast(bfloat16) + mask"


def test_forward_is_the_same_under_a_lossy_policy() -> None:
    model = ResNet()
    expected = model(images())
    with compress(model, policy=halved):
        assert torch.equal(model(images()), expected)


def test_lossy_values_change_gradients_a_little() -> None:
    model = ResNet()
    model(images()).square().sum().backward()
    expected = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    with compress(model, policy=halved):
        model(images()).square().sum().backward()
    errors = [
        float((p.grad - e).norm() / e.norm())
        for p, e in zip(model.parameters(), expected, strict=True)
        if p.grad is not None
    ]
    assert 0 < max(errors) < 0.05


def test_packed_bytes_die_without_the_collector() -> None:
    model = ResNet()
    gc.disable()
    try:
        with compress(model, policy=halved) as ledger:
            loss = model(images()).sum()
        assert ledger.held_bytes > 0
        loss.backward()
        assert ledger.held_bytes == 0
        with compress(model, policy=halved, ledger=ledger):
            loss = model(images()).sum()
        del loss
        assert ledger.held_bytes == 0
    finally:
        gc.enable()


@few
def test_tensor_changed_in_place_after_saving_is_an_error() -> None:
    x = torch.randn(64, 64, requires_grad=True)
    with compress(policy=exact):
        y = x.exp()
        y.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


@few
def test_weight_changed_before_backward_is_an_error() -> None:
    layer = nn.Linear(64, 64)
    with compress(layer, policy=exact):
        y = layer(torch.randn(64, 64, requires_grad=True))
    with torch.no_grad():
        layer.weight.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[64, 64\]\] is at version 2; expected version 1"):
        y.sum().backward()


@few
def test_parameters_and_their_views_and_casts_pass_by_alias() -> None:
    layer = nn.Linear(64, 64)
    with compress(layer, policy=halved) as ledger, torch.autocast("cpu", torch.bfloat16):
        x = torch.randn(64, 64, requires_grad=True) * 1.0
        F.linear(x, layer.weight[:32]).sum()
        layer(x).sum()
    assert ledger.totals("model").calls == 2


@few
def test_tensor_that_somebody_holds_is_kept_and_said_so() -> None:
    x = torch.randn(64, 64, requires_grad=True)
    with compress(policy=halved) as ledger:
        y = x.exp()
        z = y.sin().sum()
    assert rows(ledger, "Exp.result") == {"": "held"}
    z.backward()


def test_user_who_holds_every_output_pays_nothing() -> None:
    model = ResNet()
    held: list[Tensor] = []
    for module in model.modules():
        module.register_forward_hook(lambda _m, _i, output: held.append(output))
    with compress(model, policy=halved) as ledger:
        loss = model(images()).sum()
    assert ledger.held_bytes < 0.1 * ledger.totals().before
    loss.backward()


def test_excluded_modules_stay_exact() -> None:
    model = ResNet()
    with compress(model, policy=halved, exclude=["blocks.0", model.blocks[1].conv2]) as ledger:
        loss = model(images()).sum()
    kinds = {row.path: row.why for row in ledger.rows("exact") if row.why == "excluded"}
    assert {path.split(".")[1] for path in kinds if path.startswith("blocks.0")} == {"0"}
    assert "blocks.1.bn1" not in kinds
    loss.backward()


def test_exclude_takes_a_function() -> None:
    model = ResNet()
    with compress(model, policy=halved, exclude=lambda saved: len(saved.size) == 4) as ledger:
        model(images()).sum()
    assert all(row.size is None or len(row.size) < 4 for row in ledger.rows("packed") if "Cast" in row.codec)


def test_unknown_name_to_exclude_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"exclude: 'blocks\.7' is not in the model, whose modules are 'stem'"
    ):
        compress(ResNet(), policy=exact, exclude=["blocks.7"])


def test_policy_must_be_callable() -> None:
    with pytest.raises(TypeError, match="policy is str, expected one such as jpeg_act"):
        compress(policy="jpeg_act")  # type: ignore[arg-type]


def test_small_tensors_stay_as_they_are() -> None:
    x = torch.randn(8, 8, requires_grad=True)
    with pytest.warns(UserWarning, match="too small to pack"), compress(policy=halved) as ledger:
        x.exp().sin().sum()
    assert not ledger.rows("packed")


def test_forward_without_gradients_is_told() -> None:
    model = ResNet().eval()
    told = pytest.warns(UserWarning, match="nothing was saved for backward")
    with told, compress(model, policy=halved), torch.no_grad():
        model(images())


def test_exceptions_leave_nothing_behind() -> None:
    model = ResNet()
    compressor = compress(model, policy=halved)
    with pytest.raises(ZeroDivisionError), compressor:  # noqa: PT012
        model(images())
        1 / 0  # noqa: B018
    assert compressor.ledger.held_bytes == 0
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None
    assert not nn.modules.module._global_forward_pre_hooks


def test_what_was_saved_before_an_exception_can_still_be_read() -> None:
    x = torch.randn(64, 64, requires_grad=True)
    with pytest.raises(ZeroDivisionError), compress(policy=halved):  # noqa: PT012
        y = x.exp().sin().sum()
        1 / 0  # noqa: B018
    y.backward()
    assert x.grad is not None
    assert torch.equal(x.grad, x.exp().cos() * x.exp())


def test_nested_hooks_are_told_once() -> None:
    model = ResNet()
    inner = compress(model, policy=halved)
    with torch.autograd.graph.save_on_cpu():
        with pytest.warns(UserWarning, match="torch applies the innermost only"), inner:
            model(images()).sum().backward()
        with inner:
            model(images()).sum().backward()


def test_random_generators_are_not_touched() -> None:
    model = ResNet()
    state = torch.get_rng_state()
    with compress(model, policy=halved):
        model(images()).sum().backward()
    assert torch.equal(torch.get_rng_state(), state)


def test_works_as_a_decorator() -> None:
    model = ResNet()
    compressor = compress(model, policy=halved)

    @compressor
    def step() -> None:
        model(images()).sum().backward()

    step()
    step()
    assert compressor.ledger.steps == 2


def test_contexts_of_threads_are_their_own() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            model = ResNet()
            with compress(model, policy=halved) as ledger:
                model(images()).sum().backward()
            assert ledger.totals("packed").calls > 5
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


class Counting(Policy):
    """Remembers which steps it saw, and changes its answer at step 1."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def plan(self, saved: SavedTensor) -> Codec | None:
        return Cast("bfloat16") if self.version else None

    def begin_step(self, step: int, epoch: int) -> None:
        self.seen.append((step, epoch))
        self.version = int(step >= 1)

    def state_dict(self) -> dict[str, object]:
        return {"seen": len(self.seen)}


def test_policy_is_told_of_steps_and_epochs_and_asked_again() -> None:
    model = ResNet()
    policy = Counting()
    compressor = compress(model, policy=policy)
    with compressor as ledger:
        model(images()).sum().backward()
    assert not any("Cast" in row.codec for row in ledger.rows())
    compressor.set_epoch(5)
    with compressor:
        model(images()).sum().backward()
    assert policy.seen == [(0, 0), (1, 5)]
    assert any("Cast" in row.codec for row in ledger.rows())
    assert compressor.state_dict() == {"step": 2, "epoch": 5, "seed": 0, "policy": {"seen": 2}}


def test_state_is_taken_up() -> None:
    compressor = compress(policy=Counting())
    compressor.load_state_dict({"step": 7, "epoch": 2, "seed": 9, "policy": {}})
    with pytest.warns(UserWarning, match="nothing was saved"), compressor:
        pass
    assert compressor.state_dict()["step"] == 8


@few
def test_it_goes_to_other_processes_with_model_and_account() -> None:
    layers = (layer for _ in range(4) for layer in (nn.Conv2d(3, 3, 3), nn.ReLU()))
    model = nn.Sequential(*layers, nn.Conv2d(3, 1, 3))
    compressor = compress(model, policy=halved, exclude=["1"], min_bytes=0, seed=3)
    x = torch.randn(2, 3, 16, 16)
    with compressor:
        loss = model(x).sum()
    loss.backward()
    other, same_model = pickle.loads(pickle.dumps((compressor, model)))
    assert other.state_dict() == compressor.state_dict()
    assert other.ledger.to_dict() == {**compressor.ledger.to_dict(), "held_bytes": 0}
    same_model.zero_grad()
    with other as ledger:
        loss = same_model(x).sum()
    loss.backward()
    assert ledger.steps == 2
    assert compressor.ledger.steps == 1
    assert {row.path for row in ledger.rows("exact") if row.why == "excluded"} == {"1"}
