"""The account of compression: what became of every saved tensor."""

from __future__ import annotations

import json
from base64 import b64encode
from math import isnan
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import torch

from halfbyte.activations.engine.row import ACTIVATIONS, Kind, Row, Sums
from halfbyte.activations.engine.units import format_ratio, format_size
from halfbyte.activations.policy.saved_tensor import Saver

if TYPE_CHECKING:
    from halfbyte.activations.engine.report import By

__all__ = ["Ledger"]


class Ledger:
    """Counts, for every kind of saved tensor, bytes before and after, errors and seconds.

    Any thread may add to it: autograd decodes on threads of its own. Adding takes well under a microsecond.

    Attributes:
        steps: contexts entered.
        held_bytes: packed bytes alive now.
        peak_bytes: the most of them alive at once.
    """

    def __init__(self) -> None:
        # Reentrant: packed bytes are dropped by finalizers, which the garbage collector may run in the midst
        # of any other call here, on the same thread.
        self._lock = RLock()
        self._rows: dict[tuple[Any, ...], Row] = {}
        self.steps = 0
        self.held_bytes = 0
        self.peak_bytes = 0

    def row(
        self,
        path: str,
        savers: tuple[Saver, ...],
        codec: str,
        *,
        kind: Kind = "packed",
        why: str = "",
        dtype: torch.dtype | None = None,
        size: tuple[int, ...] | None = None,
    ) -> Row:
        """The row of tensors like this one, for the calls below; worth keeping, since finding it takes longer
        than adding to it.

        Args:
            path: the module that ran, "" outside of any.
            savers: the nodes and fields that saved the tensor.
            codec: `str` of the codec, "" for tensors kept as they are.
            kind: what becomes of the tensor.
            why: a few words for the report, where there is a reason to tell. What stands in parentheses at
                the end is left out: measurements differ from tensor to tensor, and would make rows without
                end.
            dtype: of the tensor.
            size: its shape. Tensors of other shapes share the row, which then tells none.
        """
        reason = why.partition(" (")[0]
        key = (path, savers, codec, kind, reason, dtype)
        with self._lock:
            row = self._rows.get(key)
            if row is None:
                row = self._rows[key] = Row(
                    path, savers, codec, kind=kind, why=reason, dtype=dtype, size=size and tuple(size)
                )
            elif row.size != size:
                row.size = None
            return row

    def pack(self, row: Row, before: int, after: int, seconds: float) -> None:
        """One tensor was encoded, from `before` bytes to `after` in so many wall seconds."""
        with self._lock:
            row.calls += 1
            row.before += before
            row.after += after
            row.pack_seconds += seconds

    def unpack(self, row: Row, seconds: float) -> None:
        """One tensor was decoded, in so many wall seconds."""
        with self._lock:
            row.unpacks += 1
            row.unpack_seconds += seconds

    def keep(self, row: Row, nbytes: int, calls: int = 1) -> None:
        """So many tensors, of so many bytes together, are kept as they are."""
        with self._lock:
            row.calls += calls
            row.before += nbytes
            row.after += nbytes

    def error(self, row: Row, relative: float, largest: float) -> None:
        """One tensor's error was measured.

        Args:
            relative: ‖x - x'‖ / ‖x‖. NaN, which is what a tensor with infinities gives, is left out.
            largest: max |x - x'|.
        """
        if isnan(relative):
            return
        with self._lock:
            row.samples += 1
            row.relative_sum += relative
            row.relative_max = max(row.relative_max, relative)
            row.largest = max(row.largest, largest)

    def hold(self, nbytes: int) -> None:
        """So many packed bytes came alive."""
        with self._lock:
            self.held_bytes += nbytes
            self.peak_bytes = max(self.peak_bytes, self.held_bytes)

    def drop(self, nbytes: int) -> None:
        """So many packed bytes died."""
        with self._lock:
            self.held_bytes -= nbytes

    def step(self) -> None:
        """A context was entered."""
        with self._lock:
            self.steps += 1

    def reset(self) -> None:
        """Start again from zero. Bytes that are alive stay counted, and rows that were handed out stay
        valid.
        """
        with self._lock:
            for row in self._rows.values():
                row.clear()
            self.steps = 0
            self.peak_bytes = self.held_bytes

    def rows(self, *kinds: Kind) -> list[Row]:
        """The rows with something in them, in the order in which their tensors were first saved.

        Args:
            kinds: only rows of these; all, if none is named.
        """
        with self._lock:
            return [row for row in self._rows.values() if row.calls and (not kinds or row.kind in kinds)]

    def totals(self, *kinds: Kind) -> Sums:
        """The sums over all rows of these kinds; over all activations, if none is named."""
        return Sums.of(self.rows(*(kinds or ACTIVATIONS)))

    @property
    def ratio(self) -> float:
        """Bytes of all saved activations over the bytes that are held instead, whatever was kept as it is
        included.
        """
        return self.totals().ratio

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values. Bytes and seconds are sums over all steps."""
        with self._lock:
            kinds: tuple[Kind, ...] = (*ACTIVATIONS, "model")
            return {
                "steps": self.steps,
                "held_bytes": self.held_bytes,
                "peak_bytes": self.peak_bytes,
                "totals": {"activations": self.totals().to_dict()}
                | {kind: self.totals(kind).to_dict() for kind in kinds},
                "rows": [row.to_dict() for row in self.rows()],
            }

    def to_json(self) -> str:
        """`to_dict` as a JSON document."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def report(self, by: By = "savers") -> str:
        """A table of what was packed and the totals, as plain text.

        Args:
            by: what a line of the table stands for: tensors that the same nodes saved, a module, a codec, or
                "tensor" for each of them apart, those that were kept as they are included.

        Raises:
            ValueError: `by` is none of the four.
        """
        from halfbyte.activations.engine.report import draw_report

        return draw_report(self, by)

    def picture(self, path: str | Path | None = None) -> str:
        """Bytes before and after, layer by layer, as an SVG document.

        Args:
            path: a file to write it to as well.
        """
        from halfbyte.activations.engine.picture import draw_picture

        svg = draw_picture(self)
        if path is not None:
            Path(path).write_text(svg, encoding="utf-8")
        return svg

    def warn_if_useless(self) -> str | None:
        """Why compression saved next to nothing so far, and what to do about it; None if all is well."""
        from halfbyte.activations.engine.useless import why_useless

        return why_useless(self)

    def __getstate__(self) -> dict[str, Any]:
        # Bytes that are alive are alive in this process only.
        with self._lock:
            return {"_rows": dict(self._rows), "steps": self.steps, "peak_bytes": self.peak_bytes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        vars(self).update(state)

    def __str__(self) -> str:
        total, steps = self.totals(), max(self.steps, 1)
        return (
            f"saved for backward: {format_size(total.before / steps)} → {format_size(total.after / steps)} "
            f"a step ({format_ratio(total.ratio)}); at most {format_size(self.peak_bytes)} packed at once"
        )

    def __repr__(self) -> str:
        return f"<Ledger of {self.steps} steps: {self}>"

    def _repr_html_(self) -> str:
        # As an image, so that neither its styles nor its ids meet those of the page.
        picture = b64encode(self.picture().encode()).decode()
        return f'<img src="data:image/svg+xml;base64,{picture}" alt="{self}">'
