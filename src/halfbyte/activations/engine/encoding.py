"""One encoding for a saved tensor, from what all of its savers need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.indices import Indices
from halfbyte.activations.codecs.kernels import ELEMENTS
from halfbyte.activations.codecs.masks import Bits, ReluMask
from halfbyte.activations.codecs.pool_indices import PoolIndices
from halfbyte.activations.codecs.shape import ShapeOnly
from halfbyte.activations.codecs.two_values import TwoValues
from halfbyte.activations.engine.row import COMPILED, EXCLUDED, READ, SMALL, UNKNOWN
from halfbyte.activations.engine.slots import Entry, Slot
from halfbyte.activations.engine.unpack import decode_value
from halfbyte.activations.policy.needs import NEVER_NEGATIVE, Need
from halfbyte.activations.policy.saved_tensor import Plan, PolicyFunction, SavedTensor, Saver

if TYPE_CHECKING:
    from halfbyte.activations.engine.ledger import Ledger
    from halfbyte.activations.engine.row import Kind, Row
    from halfbyte.activations.policy.watcher import Watcher

__all__ = ["Answers", "Encoder", "stored_bytes"]

_BITS, _INDICES, _MASK, _SHAPE, _TWO_VALUES = Bits(), Indices(), ReluMask(), ShapeOnly(), TwoValues()
_POOL_INDICES = PoolIndices()
_INTEGERS = frozenset({torch.int64, torch.int32, torch.int16, torch.uint8})
_COMPARED = 65536  # elements, about, in a sample of the error
_MOST_ANSWERS = 16384  # remembered; a context that is never left asks about ever new tensors
_GOLDEN, _WORD = 0x9E3779B97F4A7C15, 0xFFFFFFFFFFFFFFFF

Answers = dict[object, "_Choice"]


@dataclass(frozen=True, slots=True)
class _Choice:
    """What becomes of a tensor, and why if it is kept as it is; `saved` is what the policy was told, if
    asked.
    """

    codec: Codec | None
    mask: bool = False
    why: str = ""
    saved: SavedTensor | None = None


class Encoder:
    """Asks the policy, runs codecs, keeps the books.

    Args:
        policy: asked of tensors whose values are needed.
        ledger: where everything is counted.
        excluded: of a tensor whose values are needed: whether it must be kept as it is.
        seed, step: what random rounding is drawn from.
        answers: of the policy, remembered from step to step.
        measures_error: whether the error of each lossy tensor is measured in this step, on a sample.
        watcher: told of each encoding, in steps that the policy watches.
    """

    def __init__(
        self,
        policy: PolicyFunction,
        ledger: Ledger,
        *,
        excluded: Callable[[SavedTensor], bool] | None,
        seed: int,
        step: int,
        answers: Answers,
        measures_error: bool,
        watcher: Watcher | None,
    ) -> None:
        self._policy = policy
        self._ledger = ledger
        self._excluded = excluded
        self._key = (seed * _GOLDEN + step * 0xD1B54A32D192ED03) & _WORD
        self._answers = answers
        self._measures_error = measures_error
        self._watcher = watcher
        self._ordinals: dict[object, tuple[int, int]] = {}

    def encode(self, entry: Entry, slots: list[Slot], keep: Literal["", "held", "exact"]) -> None:
        """Give an entry its encoding; `keep` is "held" or "exact" when it must stay as it is, else ""."""
        x = entry.alias
        assert x is not None
        savers = tuple(slot.saver for slot in slots if slot.saver is not None)
        if keep:
            why = "" if keep == "held" else UNKNOWN
            self._keep(entry, x, savers, keep, why)
            return
        start = perf_counter()
        choice = self._choose(entry, x, savers, slots)
        if choice.codec is None:
            self._tell(choice, x, None, slots)
            self._keep(entry, x, savers, "exact", choice.why)
            return
        self._key = (self._key + _GOLDEN) & _WORD
        value = choice.codec.encode(x, key=self._key)
        mask = _MASK.encode(x) if choice.mask and not _has_sign(value) else None
        before, after = stored_bytes(x), value.nbytes + (0 if mask is None else mask.nbytes)
        smaller = after < before
        self._tell(choice, x, value if smaller else None, slots)
        if not smaller:
            self._keep(entry, x, savers, "exact", f"not smaller as {value.codec}")
            return
        entry.value, entry.mask = value, mask
        entry.rectified = not NEVER_NEGATIVE.isdisjoint(savers)
        name = f"{value.codec} + mask" if mask is not None else str(value.codec)
        entry.row = self._row(entry, x, savers, codec=name, kind="packed", why=value.why or choice.why)
        entry.ledger, entry.held_bytes = self._ledger, after
        self._ledger.pack(entry.row, before, after, perf_counter() - start)
        self._ledger.hold(after)
        if self._measures_error and choice.saved is not None and not value.codec.lossless:
            relative, largest = sampled_error(x, value)
            self._ledger.error(entry.row, relative, largest)
        entry.alias = None

    def _tell(self, choice: _Choice, x: Tensor, value: Packed | None, slots: list[Slot]) -> None:
        """What becomes of a tensor that the policy was asked about."""
        if self._watcher is not None and choice.saved is not None:
            readers = [slot.reader for slot in slots if slot.reader is not None]
            self._watcher.encoded(choice.saved, x, value, readers)

    def passed(self, what: str, calls: int, nbytes: int) -> None:
        """Count saves that passed as they are: "model" for its state, "small", "read" by backward before they
        were encoded, or "other" for kinds not understood.
        """
        if calls:
            kind: Kind = "model" if what == "model" else "exact"
            reasons = {"model": "", "small": SMALL, "read": READ, "other": "of a kind not understood"}
            why = reasons[what]
            self._ledger.keep(self._ledger.row("", (), "", kind=kind, why=why), nbytes, calls)

    def _keep(self, entry: Entry, x: Tensor, savers: tuple[Saver, ...], kind: Kind, why: str) -> None:
        if kind == "exact" and x.untyped_storage().nbytes() > 2 * stored_bytes(x):
            entry.alias = x.clone()  # a view of a small part would keep all of the storage
            entry.version = entry.alias._version
        self._ledger.keep(self._row(entry, x, savers, codec="", kind=kind, why=why), stored_bytes(x))

    def _row(
        self, entry: Entry, x: Tensor, savers: tuple[Saver, ...], *, codec: str, kind: Kind, why: str
    ) -> Row:
        return self._ledger.row(entry.path, savers, codec, kind=kind, why=why, dtype=x.dtype, size=x.size())

    def _choose(self, entry: Entry, x: Tensor, savers: tuple[Saver, ...], slots: list[Slot]) -> _Choice:
        if x.dtype is torch.bool or x.dtype in _INTEGERS:
            return _Choice(_BITS if x.dtype is torch.bool else _integers(savers))
        need = max(slot.need for slot in slots)
        if need is Need.SHAPE:
            return _Choice(_SHAPE)
        if need is Need.EXACT or x.dtype not in ELEMENTS:
            return _Choice(None, why=_why_exact(savers) if need is Need.EXACT else f"{x.dtype}")
        if need is Need.SIGN:
            return _Choice(_MASK)
        if need is Need.TWO_VALUES and _TWO_VALUES.fits(x):
            return _Choice(_TWO_VALUES)
        return self._ask(entry, x, savers, mask=any(slot.need is Need.SIGN for slot in slots))

    def _ask(self, entry: Entry, x: Tensor, savers: tuple[Saver, ...], *, mask: bool) -> _Choice:
        kind = (entry.path, savers)
        ordinal = self._ordinal(entry, kind)
        key = (kind, ordinal, x.size(), x.dtype, mask)
        choice = self._answers.get(key)
        if choice is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            size, nbytes = tuple(x.size()), stored_bytes(x)
            saved = SavedTensor(size, x.dtype, x.device, nbytes, savers, mask, entry.path, ordinal)
            choice = self._answers[key] = self._answer(saved)
        return choice

    def _ordinal(self, entry: Entry, kind: object) -> int:
        """How many tensors of this kind came before, since the model was last entered."""
        last, count = self._ordinals.get(kind, (entry.model_pass, 0))
        ordinal = count if last == entry.model_pass else 0
        self._ordinals[kind] = entry.model_pass, ordinal + 1
        return ordinal

    def _answer(self, saved: SavedTensor) -> _Choice:
        if self._excluded is not None and self._excluded(saved):
            return _Choice(None, why=EXCLUDED)
        plan = self._policy(saved)
        if not isinstance(plan, Plan):
            plan = Plan(plan)
        lossy = plan.codec is not None and not plan.codec.lossless
        why = plan.why or ("" if plan.codec else "by policy")
        return _Choice(plan.codec, saved.mask_needed and lossy, why, saved)


def _integers(savers: tuple[Saver, ...]) -> Codec:
    return _POOL_INDICES if any("MaxPool" in saver.node for saver in savers) else _INDICES


def _why_exact(savers: tuple[Saver, ...]) -> str:
    compiled = any(saver.node.startswith("CompiledFunction") for saver in savers)
    return COMPILED if compiled else "weights, statistics and losses"


def stored_bytes(x: Tensor) -> int:
    """Bytes of its elements, those of expanded dimensions once."""
    if x.is_contiguous():
        return x.numel() * x.element_size()
    count = 1
    for length, stride in zip(x.size(), x.stride(), strict=True):
        count *= length if stride else min(length, 1)
    return count * x.element_size()


def _has_sign(value: Packed) -> bool:
    return value.codec.lossless or value.codec.holds_mask(value)


def sampled_error(x: Tensor, value: Packed) -> tuple[float, float]:
    """Relative L2 error and largest absolute error, over elements evenly picked from all of the tensor."""
    step = max(1, x.numel() // _COMPARED)
    was = x.reshape(-1)[::step].double()
    error = decode_value(value).reshape(-1)[::step].double() - was
    finite = error.isfinite()
    was, error = was[finite], error[finite]
    norm = float(was.norm())
    return float(error.norm()) / norm if norm else 0.0, float(error.abs().max()) if len(error) else 0.0
