"""What a codec is, and what it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, ClassVar

import torch
from torch import Tensor

from halfbyte.activations.codecs.layout import Layout

__all__ = ["Codec", "Packed"]


class Packed:
    """A tensor, encoded.

    Attributes:
        codec: what decodes it; not always the codec that was asked, which may have handed the tensor to a
            better one.
        layout: of the tensor.
        parts: all bytes that are held: codes, masks, scales, counts.
        detail: what else the codec needs to know: a few numbers, no tensors.
        why: a few words when the codec did something else than its name says, for the ledger; else "".
    """

    __slots__ = ("codec", "detail", "layout", "parts", "why")

    def __init__(
        self, codec: Codec, layout: Layout, parts: tuple[Tensor, ...], detail: Any = None, why: str = ""
    ) -> None:
        self.codec = codec
        self.layout = layout
        self.parts = parts
        self.detail = detail
        self.why = why

    @property
    def nbytes(self) -> int:
        """Bytes held: every part, with its masks, scales, counts and padding."""
        return sum(part.untyped_storage().nbytes() for part in self.parts)

    def to(self, device: torch.device) -> Packed:
        """The same bytes on another device, where the tensor will be decoded. To send it to another process,
        pickle it.
        """
        parts = tuple(part.to(device) for part in self.parts)
        return Packed(self.codec, self.layout.on(device), parts, self.detail, self.why)

    def decode(self) -> Tensor:
        """The tensor: its size, strides, type and device; exact or not, as the codec promises. Can be called
        again.
        """
        return self.codec.decode(self)

    def mask(self) -> Tensor:
        """1 where the tensor is > 0, NaN where it is NaN and 0 elsewhere, exact, laid out and typed like it.
        See `Codec.holds_mask`.
        """
        return self.codec.decode_mask(self)


class Codec(ABC):
    """A way to hold a tensor in fewer bytes. Codecs are frozen dataclasses: equal when their options are.

    `encode` and `decode` never write to their argument, never touch torch's random generators, and take any
    strided tensor of the types that the codec knows, of any size, with or without gaps, on any device.
    """

    lossless: ClassVar[bool] = False
    fixed_rate: ClassVar[bool] = True
    """Whether the size in bytes follows from shape and type, so that no device needs to be waited for."""

    @abstractmethod
    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        """Encode a tensor.

        Args:
            x: any strided tensor; what is written to it later does not matter.
            key: 64 bits that random rounding is drawn from; the same key gives the same bytes. Others ignore
                it.
        """

    @abstractmethod
    def decode(self, packed: Packed) -> Tensor:
        """The tensor of `packed`, in memory of its own (or expanded from it)."""

    def holds_mask(self, packed: Packed) -> bool:
        """Whether `decode_mask` works: the bytes say exactly which elements are > 0, and which are NaN."""
        return False

    def decode_mask(self, packed: Packed) -> Tensor:
        """1 where the tensor is > 0, NaN where it is NaN, else 0, in its type and layout."""
        raise NotImplementedError(f"{self} keeps no mask")

    def to_dict(self) -> dict[str, Any]:
        """The codec as plain values: its name and options."""
        return {"codec": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]
