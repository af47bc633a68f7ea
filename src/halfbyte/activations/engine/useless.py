"""When compression does nothing: why, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfbyte.activations.engine.row import SMALL
from halfbyte.activations.engine.units import format_size

if TYPE_CHECKING:
    from halfbyte.activations.engine.ledger import Ledger

__all__ = ["why_useless"]

# Less than this share of the bytes saved is next to nothing.
_WORTH_IT = 0.02
# Several forwards before the first backward are nothing unusual; so many are.
_STEPS_WITHOUT_BACKWARD = 8


def why_useless(ledger: Ledger) -> str | None:
    """The likeliest reason why next to nothing was saved, or None if something was."""
    total = ledger.totals()
    if total.calls == 0:
        return _nothing_saved(ledger)
    if total.after > (1 - _WORTH_IT) * total.before:
        return f"compression saved next to nothing: {_main_reason(ledger)}"
    if ledger.steps >= _STEPS_WITHOUT_BACKWARD and total.unpacks == 0:
        return (
            f"{ledger.steps} contexts were entered and no backward has read what they compressed; "
            "run inference outside of the context, or under torch.no_grad()"
        )
    return None


def _nothing_saved(ledger: Ledger) -> str | None:
    if ledger.steps == 0:
        return None
    if ledger.totals("model").calls:
        return (
            "compression had nothing to do: only parameters and buffers were saved for backward, which are "
            "kept as they are; such a model needs none"
        )
    return (
        "compression had nothing to do: nothing was saved for backward; the forward pass must run inside the "
        "context, and not under torch.no_grad(), torch.inference_mode() or with all parameters frozen"
    )


def _main_reason(ledger: Ledger) -> str:
    """What most of the bytes have in common."""
    small = sum(row.before for row in ledger.rows("exact") if row.why == SMALL)
    chosen = ledger.totals("exact").before - small
    held, packed = ledger.totals("held").before, ledger.totals("packed")
    reasons = [
        (
            small,
            f"{format_size(small)} lie in tensors too small to pack; lower min_bytes, or leave so small a "
            "model as it is",
        ),
        (
            chosen,
            f"{format_size(chosen)} were kept exact ({_reasons(ledger)}); choose a policy that packs them",
        ),
        (
            held,
            f"{format_size(held)} are held by somebody else, so that packing them would free nothing; look "
            "for forward hooks and lists that keep the outputs of layers",
        ),
        (
            packed.before,
            f"{format_size(packed.before)} were packed, and take {format_size(packed.after)}; choose a "
            "policy whose codecs suit these tensors",
        ),
    ]
    return max(reasons)[1]


def _reasons(ledger: Ledger) -> str:
    """The three reasons for exactness that weigh most."""
    weights: dict[str, int] = {}
    for row in ledger.rows("exact"):
        if row.why != SMALL:
            why = row.why or "by policy"
            weights[why] = weights.get(why, 0) + row.before
    return "; ".join(sorted(weights, key=lambda why: -weights[why])[:3])
