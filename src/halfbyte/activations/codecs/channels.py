"""The channels of a tensor, and their ranges."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs.kernels import ELEMENTS, num_threads, runs_natively
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import channels as reference

__all__ = ["around_channels", "channel_ranges", "keep_channels", "put_channels_back"]


def around_channels(layout: Layout, channel: int | None) -> tuple[int, int, int]:
    """`(outer, channels, inner)` of the elements in memory order.

    Args:
        layout: of the tensor.
        channel: the dimension of the channels; None: 1 of maps and volumes (4 and 5 dimensions), the last of
            other tensors, and one channel for tensors of less than 2 dimensions.

    Raises:
        ValueError: there is no such dimension.
    """
    dims = len(layout.size)
    if channel is None:
        if dims < 2:
            return 1, 1, layout.numel
        return layout.around(1 if dims in (4, 5) else dims - 1)
    if not -dims <= channel < dims:
        raise ValueError(f"channel is {channel}, expected a dimension of the tensor, which has {dims}")
    return layout.around(channel)


def channel_ranges(flat: Tensor, shape: tuple[int, int, int]) -> tuple[Tensor, bool | Tensor]:
    """The largest magnitude in each channel, and whether all elements are >= 0 (-0.0 is, NaN is not).

    Args:
        flat: elements in memory order, float32, bfloat16 or float16.
        shape: `(outer, channels, inner)` of them.

    Returns:
        float32 (channels,), infinity for a channel that holds NaN or Inf and 0 for one without elements; a
        bool on the CPU, and elsewhere a tensor of it, for which nobody has waited.
    """
    if not runs_natively(flat):
        return reference.channel_ranges(flat, shape)
    max_abs = flat.new_empty(shape[1], dtype=torch.float32)
    nonneg = _native.channel_ranges(
        flat.data_ptr(), ELEMENTS[flat.dtype], *shape, max_abs.data_ptr(), num_threads()
    )
    return max_abs, nonneg


def keep_channels(flat: Tensor, shape: tuple[int, int, int], chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Some channels as they are. Waits for the device.

    Args:
        flat: elements in memory order.
        shape: `(outer, channels, inner)` of them.
        chosen: bool (channels,).

    Returns:
        Which channels, int32 (k,); their elements, (outer, k, inner).
    """
    channels = chosen.nonzero().view(-1)
    return channels.to(torch.int32), flat.view(shape).index_select(1, channels)


def put_channels_back(flat: Tensor, shape: tuple[int, int, int], channels: Tensor, elements: Tensor) -> None:
    """Overwrite, in `flat`, the channels that `keep_channels` kept.

    Raises:
        ValueError: it did not keep these.
    """
    outer, count, inner = shape
    expected = (outer, channels.numel(), inner)
    if elements.shape != expected or elements.dtype != flat.dtype:
        found = f"{tuple(elements.shape)} of {elements.dtype}, expected {expected} of {flat.dtype}"
        raise ValueError(f"packed bytes are damaged: exact channels: {found}")
    if channels.dtype != torch.int32 or not bool(((channels >= 0) & (channels < count)).all()):
        raise ValueError(
            f"packed bytes are damaged: exact channels are not int32 numbers from 0 to {count - 1}"
        )
    flat.view(shape).index_copy_(1, channels.long(), elements)
