"""Who reads a tensor tells what part it plays."""

from __future__ import annotations

import pytest
import torch

from halfbyte.activations.policy.roles import channel_of, is_map_to_normalize, is_relu_output
from halfbyte.activations.policy.saved_tensor import SavedTensor, Saver

RELU, CONV = Saver("ReluBackward0", "result"), Saver("ConvolutionBackward0", "input")
BATCH_NORM = Saver("NativeBatchNormBackward0", "input")
LAYER_NORM = Saver("NativeLayerNormBackward0", "input")
QUERY = Saver("ScaledDotProductFlashAttentionForCpuBackward0", "query")


def saved(size: tuple[int, ...], *savers: Saver) -> SavedTensor:
    return SavedTensor(size, torch.float32, torch.device("cpu"), 4096, savers)


def test_relu_outputs_are_known_by_the_relu() -> None:
    assert is_relu_output(saved((2, 8, 4, 4), CONV, RELU))
    assert not is_relu_output(saved((2, 8, 4, 4), CONV))
    assert not is_relu_output(saved((2, 8, 4, 4), Saver("LeakyReluBackward1", "result")))


@pytest.mark.parametrize(
    "node",
    [
        "NativeBatchNormBackward0",
        "CudnnBatchNormBackward0",
        "MiopenBatchNormBackward0",
        "NativeGroupNormBackward0",
    ],
)
def test_maps_to_normalize(node: str) -> None:
    assert is_map_to_normalize(saved((2, 8, 4, 4), RELU, Saver(node, "input")))
    assert not is_map_to_normalize(saved((2, 8, 4), Saver(node, "input")))
    assert not is_map_to_normalize(saved((2, 8, 4, 4), Saver(node, "weight")))


def test_other_tensors_are_no_maps_to_normalize() -> None:
    assert not is_map_to_normalize(saved((2, 8, 4, 4), CONV, LAYER_NORM))


@pytest.mark.parametrize(
    ("size", "savers", "channel"),
    [
        ((2, 8, 4, 4), (CONV,), None),  # 1, as codecs take it by themselves
        ((2, 8, 4), (CONV,), 1),
        ((2, 8, 4), (BATCH_NORM,), 1),
        ((2, 8), (BATCH_NORM,), None),
        ((2, 8, 4, 4, 4), (Saver("CudnnConvolutionBackward0", "self"),), None),
        ((2, 7, 7, 96), (LAYER_NORM,), 3),
        ((2, 3, 197, 64), (QUERY,), 3),
        ((2, 197, 192), (LAYER_NORM,), None),  # 2
        ((394, 192), (Saver("AddmmBackward0", "mat1"),), None),
        ((6, 197, 64), (Saver("BmmBackward0", "self"),), None),
        ((2, 7, 7, 96), (Saver("MmBackward0", "self"),), 3),
        ((2, 96, 7, 7), (LAYER_NORM, CONV), None),  # maps first
        ((2, 8, 4, 4), (Saver("GeluBackward0", "self"),), None),
        ((2, 8, 4), (Saver("ConvolutionBackward0", "weight"),), None),
        ((2, 8, 4, 4), (), None),
        ((8,), (BATCH_NORM,), None),
        ((), (CONV,), None),
    ],
)
def test_channels_by_reader(size: tuple[int, ...], savers: tuple[Saver, ...], channel: int | None) -> None:
    assert channel_of(saved(size, *savers)) == channel
