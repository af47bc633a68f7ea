from __future__ import annotations

import copy
import inspect

import pytest
import torch
from nets import ResNet
from remembering import Remembering, hooks_are_set
from torch import Tensor, nn

from halfbyte.activations.engine.exclusion import Exclude
from halfbyte.activations.integrations.attachment import Attachment


def attachment(*, exclude: Exclude = ()) -> Attachment:
    return Attachment(Remembering(), exclude=exclude, min_bytes=4096, seed=0)


def images() -> Tensor:
    return torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(3))


def test_method_is_compressed_until_detached() -> None:
    model, attached = ResNet(), attachment()
    attached.attach(model, "forward")
    model(images()).sum().backward()
    assert attached.ledger.totals("packed").unpacks > 5
    attached.detach()
    model(images()).sum().backward()
    assert attached.ledger.steps == 1
    assert "forward" not in vars(model)
    attached.detach()


def test_last_tensors_are_compressed_though_backward_is_outside() -> None:
    model, attached = ResNet(), attachment()
    attached.attach(model, "forward")
    output = model(images())
    assert not [row for row in attached.ledger.rows("exact") if "not known" in row.why]
    output.sum().backward()


def test_nothing_is_done_where_no_gradients_are_recorded() -> None:
    model, attached = ResNet(), attachment()
    attached.attach(model, "forward")
    with torch.no_grad():
        model(images())
    assert attached.ledger.steps == 0


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_exceptions_leave_no_hooks(error: type[BaseException]) -> None:
    def fail(*_: object) -> None:
        raise error

    model, attached = ResNet(), attachment()
    model.head.register_forward_pre_hook(fail)
    attached.attach(model, "forward")
    with pytest.raises(error):
        model(images())
    assert not hooks_are_set()
    assert not nn.modules.module._global_forward_pre_hooks


def test_copies_of_the_module_run_on_their_own_weights() -> None:
    model, attached = ResNet(), attachment()
    attached.attach(model, "forward")
    average = copy.deepcopy(model)
    with torch.no_grad():
        average.head.weight.zero_()
        average.head.bias.fill_(7)
    assert average(images()).unique().tolist() == [7]


def test_signature_stays() -> None:
    model = ResNet()
    expected = inspect.signature(model.forward)
    attachment().attach(model, "forward")
    assert inspect.signature(model.forward) == expected


def test_wrappers_of_others_are_given_back() -> None:
    model, attached = ResNet(), attachment()
    plain = model.forward
    model.forward = wrapper = lambda x: 2 * plain(x)  # type: ignore[method-assign]
    expected = model(images())
    attached.attach(model, "forward")
    assert torch.equal(model(images()), expected)
    assert attached.ledger.steps == 1
    attached.detach()
    assert model.forward is wrapper


def test_wrappers_of_others_around_it_stay() -> None:
    model, attached = ResNet(), attachment()
    attached.attach(model, "forward")
    inner = model.forward
    model.forward = wrapper = lambda x: 2 * inner(x)  # type: ignore[method-assign]
    attached.detach()
    model(images())
    assert model.forward is wrapper
    assert attached.ledger.steps == 0


def test_attaching_again_goes_on_counting() -> None:
    attached = attachment()
    first, second = ResNet(), ResNet()
    attached.attach(first, "forward")
    first(images())
    attached.attach(second, "forward")
    second(images())
    assert "forward" not in vars(first)
    assert attached.ledger.steps == attached.state_dict()["step"] == 2


def test_state_may_come_before_the_model() -> None:
    model, attached = ResNet(), attachment()
    attached.load_state_dict({"step": 7, "epoch": 2, "seed": 9, "policy": {}})
    attached.attach(model, "forward")
    model(images())
    assert attached.state_dict() == {"step": 8, "epoch": 2, "seed": 9, "policy": {"seen": 1}}


def test_excluded_modules_are_looked_up_in_the_model() -> None:
    attached = attachment(exclude=["stem.9"])
    with pytest.raises(ValueError, match=r"exclude: 'stem\.9' is not in the model"):
        attached.attach(ResNet(), "forward")


def test_wrong_options_are_refused_before_training() -> None:
    with pytest.raises(TypeError, match="policy is str, expected one such as jpeg_act"):
        Attachment("jpeg_act", exclude=(), min_bytes=4096, seed=0)  # type: ignore[arg-type]


def test_what_is_compiled_whole_stays_as_it_is() -> None:
    model, attached = ResNet(), attachment()
    attached.attach(model, "forward")
    torch.compile(model, backend="eager")(images()).sum().backward()
    assert attached.ledger.steps == 0
