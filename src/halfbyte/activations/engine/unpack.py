"""The unpack hook: what backward gets back."""

from __future__ import annotations

from time import perf_counter
from typing import NoReturn

from torch import Tensor

from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.masks import apply_mask
from halfbyte.activations.engine.slots import Entry, Kept, Slot
from halfbyte.activations.policy.needs import Need

__all__ = ["decode_value", "unpack"]

# torch's own words, which people search for.
_MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"
_HINT = "Hint: use an operation that is not in place, or change the tensor after backward()"


def unpack(packed: Slot | Kept) -> Tensor:
    """The tensor that was saved: of the same size, type and device, and with its dimensions in the same order
    in memory. Can be called any number of times.

    Raises:
        RuntimeError: the tensor was changed in place since it was saved, or its codec is wrong; torch itself
            no longer looks once hooks are set.
    """
    if type(packed) is tuple:
        kept, version = packed
        return kept if kept._version == version else _changed(kept, version)
    entry = packed.entry  # type: ignore[union-attr]
    alias = entry.alias  # read once: another thread may be encoding it
    size = packed.size  # type: ignore[union-attr]
    if alias is not None:
        if alias._version != entry.version:
            _changed(alias, entry.version)
        return alias if size is None else alias.view(size)
    if entry.spoiled:
        _changed_before_encoding(entry)
    start = perf_counter()
    tensor = _decode(entry, packed.need)  # type: ignore[union-attr]
    entry.ledger.unpack(entry.row, perf_counter() - start)  # type: ignore[union-attr, arg-type]
    # A view, since it is contiguous or one element that stands for all, unless a codec chose other strides.
    return tensor if size is None else tensor.reshape(size)


def _decode(entry: Entry, need: Need) -> Tensor:
    value, mask = entry.value, entry.mask
    if value is None:
        return mask.decode()  # type: ignore[union-attr]
    if need is Need.SIGN:
        if mask is not None:
            return mask.decode()
        if value.codec.holds_mask(value):
            return value.mask()
    tensor = decode_value(value)
    if mask is not None and entry.rectified:
        apply_mask(tensor, mask)
    return tensor


def decode_value(value: Packed) -> Tensor:
    """The tensor that a codec encoded.

    Raises:
        RuntimeError: it comes back with another size, type or device.
    """
    tensor, layout = value.decode(), value.layout
    if tensor.size() != layout.size or tensor.dtype is not layout.dtype or tensor.device != layout.device:
        raise RuntimeError(
            f"{value.codec} decoded {tensor.dtype} of size {list(tensor.size())} on {tensor.device}, "
            f"expected {layout.dtype} of size {list(layout.size)} on {layout.device}: mend its decode"
        )
    return tensor


def _changed(tensor: Tensor, version: int) -> NoReturn:
    raise RuntimeError(
        f"{_MODIFIED}: [{tensor.type()} {list(tensor.shape)}] is at version {tensor._version}; "
        f"expected version {version} instead. {_HINT}"
    )


def _changed_before_encoding(entry: Entry) -> NoReturn:
    raise RuntimeError(
        f"{_MODIFIED}: a tensor that was saved at version {entry.version} in module {entry.path!r} "
        f"has changed since. {_HINT}"
    )
