"""The policy of JPEG-ACT: which codec for which kind of activation, and when."""

from __future__ import annotations

import pickle
import warnings

import pytest
import torch

from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.policy.jpeg_act import jpeg_act
from halfbyte.activations.policy.saved_tensor import SavedTensor, Saver

RELU, CONV = Saver("ReluBackward0", "result"), Saver("ConvolutionBackward0", "input")
BATCH_NORM = Saver("NativeBatchNormBackward0", "input")


def saved(size: tuple[int, ...], *savers: Saver) -> SavedTensor:
    return SavedTensor(size, torch.float32, torch.device("cpu"), 4096, savers)


MAP = saved((8, 64, 32, 32), BATCH_NORM)


@pytest.mark.parametrize(
    "saver",
    [BATCH_NORM, Saver("CudnnBatchNormBackward0", "input"), Saver("NativeGroupNormBackward0", "input")],
)
def test_dense_maps_are_transformed(saver: Saver) -> None:
    assert jpeg_act().plan(saved((8, 64, 32, 32), saver)).codec == JpegAct(
        table="optL", quantize="shift", rounding="truncate", coder="zvc"
    )


@pytest.mark.parametrize("readers", [(RELU, CONV), (CONV, RELU), (RELU, CONV, BATCH_NORM)])
def test_sparse_maps_leave_out_their_zeros(readers: tuple[Saver, ...]) -> None:
    assert jpeg_act().plan(saved((8, 64, 32, 32), *readers)).codec == Sfpr(coder="zvc")


@pytest.mark.parametrize(
    ("size", "saver", "channel"),
    [
        ((8, 3, 224, 224), CONV, None),
        ((8, 64, 100), BATCH_NORM, 1),
        ((8, 197, 192), Saver("NativeLayerNormBackward0", "input"), None),
        ((8, 12, 197, 64), Saver("ScaledDotProductFlashAttentionForCpuBackward0", "key"), 3),
        ((8, 197, 768), Saver("GeluBackward0", "self"), None),
        ((8, 64, 32, 32), Saver("SiluBackward0", "self"), None),
    ],
)
def test_everything_else_is_scaled(size: tuple[int, ...], saver: Saver, channel: int | None) -> None:
    assert jpeg_act().plan(saved(size, saver)).codec == Sfpr(channel=channel)


def test_options_reach_the_codec() -> None:
    policy = jpeg_act("optsH", quantize="divide", rounding="nearest", coder="rle")
    expected = JpegAct(table="optsH", quantize="divide", rounding="nearest", coder="rle")
    assert policy.plan(MAP).codec == expected


def test_tables_change_with_the_epoch() -> None:
    policy = jpeg_act()
    seen = []
    for epoch in range(7):
        policy.begin_step(step=1000 * epoch, epoch=epoch)
        seen.append((policy.version, policy.plan(MAP).codec))
    optl, opth = (0, JpegAct(table="optL")), (1, JpegAct(table="optH"))
    assert seen == [optl] * 5 + [opth] * 2


def test_tables_change_with_the_step() -> None:
    policy = jpeg_act(steps={0: "optL", 3: "optsL", 4: "optH"})
    versions = []
    for step in range(6):
        policy.begin_step(step, epoch=0)
        versions.append(policy.version)
    assert versions == [0, 0, 0, 1, 2, 2]
    assert policy.plan(MAP).codec == JpegAct(table="optH")


def test_a_policy_goes_on_where_it_was() -> None:
    policy, other = jpeg_act(), jpeg_act()
    policy.begin_step(step=700, epoch=6)
    other.load_state_dict(policy.state_dict())
    assert other.version == 1
    assert other.state_dict() == {"step": 700, "epoch": 6}
    assert other.plan(MAP) == policy.plan(MAP) == pickle.loads(pickle.dumps(policy)).plan(MAP)


def test_a_forgotten_epoch_is_warned_of_once() -> None:
    policy = jpeg_act()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(9990, 10010):
            policy.begin_step(step, epoch=0)
    (warning,) = caught
    assert "the epoch is still 0 after 10000 steps" in str(warning.message)
    assert "call set_epoch()" in str(warning.message)


@pytest.mark.parametrize(
    ("policy", "epoch"), [(jpeg_act("optH"), 0), (jpeg_act(steps={0: "optL", 9: "optH"}), 0), (jpeg_act(), 1)]
)
def test_no_warning_where_epochs_move_or_do_not_matter(policy: object, epoch: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.begin_step(10_000, epoch)  # type: ignore[attr-defined]


def test_two_schedules_are_one_too_many() -> None:
    with pytest.raises(ValueError, match="give one of the two"):
        jpeg_act("optH", steps={0: "optL"})


def test_an_unknown_table_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="optX"):
        jpeg_act({0: "optL", 5: "optX"})
