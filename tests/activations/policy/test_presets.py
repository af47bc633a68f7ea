"""Presets are frozen values: which codec for which tensor."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
import torch

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.codecs.group_quantized import GroupQuantized
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.codecs.zero_value import ZeroValue
from halfbyte.activations.policy.gist import gist
from halfbyte.activations.policy.group_quantized import group_quantized
from halfbyte.activations.policy.lossless import lossless
from halfbyte.activations.policy.saved_tensor import Plan, Policy, SavedTensor, Saver
from halfbyte.activations.policy.sfpr import sfpr

RELU, CONV = Saver("ReluBackward0", "result"), Saver("ConvolutionBackward0", "input")
BATCH_NORM = Saver("NativeBatchNormBackward0", "input")


def saved(
    *savers: Saver, size: tuple[int, ...] = (8, 64, 32, 32), dtype: torch.dtype = torch.float32
) -> SavedTensor:
    return SavedTensor(size, dtype, torch.device("cpu"), 4096, savers)


def codec(policy: Policy, tensor: SavedTensor) -> Codec | None:
    plan = policy(tensor)
    assert isinstance(plan, Plan)
    return plan.codec


def test_lossless_leaves_out_the_zeros_of_relu() -> None:
    assert codec(lossless(), saved(RELU, CONV)) == ZeroValue()
    assert lossless(zero_value=False)(saved(RELU, CONV)) == Plan(None, "only exact encodings")
    assert lossless()(saved(BATCH_NORM)) == Plan(None, "only exact encodings")


def test_lossless_answers_nothing_lossy() -> None:
    for tensor in (saved(RELU, CONV), saved(CONV), saved(), saved(RELU, CONV, dtype=torch.bfloat16)):
        answer = codec(lossless(), tensor)
        assert answer is None or answer.lossless


def test_sfpr_scales_by_channel() -> None:
    assert codec(sfpr(), saved(RELU, CONV)) == Sfpr(bits=8, headroom=1.125)
    assert codec(sfpr(bits=4, headroom=1.0), saved(BATCH_NORM)) == Sfpr(bits=4, headroom=1.0)
    layer_norm = saved(Saver("NativeLayerNormBackward0", "input"), size=(8, 7, 7, 96))
    assert codec(sfpr(), layer_norm) == Sfpr(channel=3)
    assert codec(sfpr(), saved()) == Sfpr()


def test_gist_casts_and_leaves_out_zeros() -> None:
    assert codec(gist(), saved(RELU, CONV)) == ZeroValue(cast="float16")
    assert codec(gist(), saved(BATCH_NORM)) == Cast("float16")
    assert codec(gist(cast="bfloat16"), saved(BATCH_NORM)) == Cast("bfloat16")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gist_casts_nothing_twice(dtype: torch.dtype) -> None:
    assert codec(gist(), saved(RELU, CONV, dtype=dtype)) == ZeroValue()
    assert gist()(saved(BATCH_NORM, dtype=dtype)) == Plan(None, "has 16 bits already")


def test_groups_take_what_is_not_small() -> None:
    assert codec(group_quantized(), saved(CONV)) == GroupQuantized(bits=2, group=256, stochastic=True)
    policy = group_quantized(bits=4, group=64, stochastic=False)
    assert codec(policy, saved(CONV, size=(16, 64))) == GroupQuantized(bits=4, group=64, stochastic=False)
    assert policy(saved(CONV, size=(16, 63))) == Plan(None, "few values")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sfpr(bits=5), "bits is 5"),
        (lambda: sfpr(headroom=0.0), "headroom is 0.0"),
        (lambda: gist(cast="float8"), "float8"),  # type: ignore[arg-type]
        (lambda: group_quantized(bits=7), "bits"),
        (lambda: group_quantized(group=100), "group"),
    ],
)
def test_wrong_options_are_refused_at_once(make: Callable[[], Policy], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("policy", [lossless(), sfpr(4), gist(), group_quantized(3)], ids=repr)
def test_presets_are_values(policy: Policy) -> None:
    copy = pickle.loads(pickle.dumps(policy))
    assert copy == policy
    assert hash(copy) == hash(policy)
    assert policy.version == 0
    assert policy.state_dict() == {}
