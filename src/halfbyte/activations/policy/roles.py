"""What part a saved tensor plays in its network: the questions that policies ask."""

from __future__ import annotations

from halfbyte.activations.policy.saved_tensor import SavedTensor, Saver

__all__ = ["channel_of", "is_map_to_normalize", "is_relu_output"]

_RELU = Saver("ReluBackward0", "result")
# Parts of the names of nodes: every backend has its own, as CudnnBatchNormBackward0.
_NORMS_OF_MAPS = ("BatchNorm", "GroupNorm")  # instance normalization is run as the former
_MAP_READERS = ("Conv", *_NORMS_OF_MAPS)
_VECTOR_READERS = (
    *("Addmm", "Mm", "Bmm", "Baddbmm", "Linear"),
    *("NativeLayerNorm", "FusedRmsNorm", "ScaledDotProduct"),
)


def is_relu_output(saved: SavedTensor) -> bool:
    """Whether it is what a ReLU put out, so that many elements are exactly 0. A policy sees it only if
    somebody else reads its values, such as a convolution: a ReLU alone needs the signs.
    """
    return _RELU in saved.savers


def is_map_to_normalize(saved: SavedTensor) -> bool:
    """Whether it is (N, C, H, W) and a batch, group or instance normalization reads it: most often the dense
    output of a convolution, or a sum of such.
    """
    return len(saved.size) == 4 and _is_input_of(saved, _NORMS_OF_MAPS)


def channel_of(saved: SavedTensor) -> int | None:
    """The dimension of its channels, whose values are alike in size: 1 for what convolutions and
    normalizations of maps read, the last for what linear layers, attention and layer normalization read.

    Returns None where that is the same as a codec finds by itself, so that equal codecs are written alike,
    and where nothing is known.
    """
    dims = len(saved.size)
    by_default = 1 if dims in (4, 5) else dims - 1
    if dims < 2:
        return None
    if _is_input_of(saved, _MAP_READERS):
        channel = 1
    elif any(saver.node.startswith(_VECTOR_READERS) for saver in saved.savers):
        channel = dims - 1
    else:
        return None
    return None if channel == by_default else channel


def _is_input_of(saved: SavedTensor, names: tuple[str, ...]) -> bool:
    return any(s.field in ("input", "self") and any(name in s.node for name in names) for s in saved.savers)
