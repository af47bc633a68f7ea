"""When compression does nothing: why, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfbyte.activations.engine.row import COMPILED, EXCLUDED, READ, SMALL, UNKNOWN
from halfbyte.activations.engine.units import format_size

if TYPE_CHECKING:
    from halfbyte.activations.engine.ledger import Ledger

__all__ = ["why_useless"]

# Less than this share of the bytes saved is next to nothing.
_WORTH_IT = 0.02
_BY_POLICY = "by policy"
# What can be done about tensors that were kept exact, by the reason that weighs most.
_ADVICE = {
    _BY_POLICY: "choose a policy that packs them",
    EXCLUDED: "exclude less",
    COMPILED: "compile smaller parts, or none: what a compiled region saves cannot be told apart",
    READ: "a model of so few layers gains nothing",
    UNKNOWN: "run backward inside of the context as well",
}
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
    weights = _exact_bytes(ledger)
    small = weights.pop(SMALL, 0)
    chosen = sum(weights.values())
    held, packed = ledger.totals("held").before, ledger.totals("packed")
    reasons = [
        (
            small,
            f"{format_size(small)} lie in tensors too small to pack; lower min_bytes, or leave so small a "
            "model as it is",
        ),
        (
            chosen,
            f"{format_size(chosen)} were kept exact ({_heaviest(weights)}); {_advice(weights)}",
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


def _exact_bytes(ledger: Ledger) -> dict[str, int]:
    """Bytes kept exact by reason, the heaviest first."""
    weights: dict[str, int] = {}
    for row in ledger.rows("exact"):
        why = row.why or _BY_POLICY
        weights[why] = weights.get(why, 0) + row.before
    return dict(sorted(weights.items(), key=lambda item: -item[1]))


def _heaviest(weights: dict[str, int]) -> str:
    return "; ".join(list(weights)[:3])


def _advice(weights: dict[str, int]) -> str:
    return _ADVICE.get(next(iter(weights), ""), "such a model gains nothing")
