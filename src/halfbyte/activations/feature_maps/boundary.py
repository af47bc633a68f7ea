"""The border between two devices: one module's output crosses it packed."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.feature_maps.straight_through import straight_through

__all__ = ["Boundary", "compress_boundary"]


class Boundary:
    """What `compress_boundary` put behind a module: a handle as those of torch's hooks, that counts.

    Attributes:
        codec: what packs.
        device: where outputs are unpacked; None for where they are.
        before: bytes of all outputs so far.
        sent: bytes that were packed of them.
    """

    def __init__(self, module: nn.Module, codec: Codec, device: torch.device | None) -> None:
        self.codec = codec
        self.device = device
        self.before = 0
        self.sent = 0
        self._calls = 0
        self._handle = module.register_forward_hook(self._cross)

    def remove(self) -> None:
        """Take it away: outputs are again what they were."""
        self._handle.remove()

    def __enter__(self) -> Boundary:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def _cross(self, module: nn.Module, inputs: Any, output: Any) -> Tensor:
        if not isinstance(output, Tensor):
            raise TypeError(
                f"compress_boundary: {type(module).__name__} returns a {type(output).__name__}, expected one "
                "tensor: put the boundary behind a module that returns one"
            )
        return straight_through(output, self._send)

    def _send(self, x: Tensor) -> Tensor:
        packed = self.codec.encode(x, key=self._calls)
        self._calls += 1
        self.before += x.nbytes
        self.sent += packed.nbytes
        return (packed if self.device is None else packed.to(self.device)).decode()


def compress_boundary(
    module: nn.Module, codec: Codec, *, device: torch.device | str | None = None
) -> Boundary:
    """Pack every output of a module, move the bytes to a device, and unpack them there. In place of
    `x = first(x).to("cuda:1")` in a model that is split between two:

        boundary = halfbyte.activations.compress_boundary(model.first, Sfpr(), device="cuda:1")
        loss = criterion(model.second(model.first(images)), labels)
        loss.backward()
        print(boundary.before / boundary.sent)
        boundary.remove()

    The gradient comes back as it is, to the output's device, as if the output had not been changed. Between
    processes send the `Packed` itself, which pickles: `torch.distributed.send_object_list([packed], dst=1)`.

    Args:
        module: whose output is one tensor, float32, bfloat16 or float16.
        codec: for example `Sfpr()`, `NearZero()` or `ChannelDct()`.
        device: that reads the output; None: the one that it is on.

    Returns:
        A handle: `remove()` ends it, and so does the end of a `with` block.

    Raises:
        TypeError: in the forward pass: the output is something else than one tensor of these types.
    """
    return Boundary(module, codec, None if device is None else torch.device(device))
