"""What the demo measured, as tables and the words that explain them."""

from __future__ import annotations

from typing import Any

from halfbyte.cli.screen import print_table, print_text
from halfbyte.cli.sizes import format_bytes, format_share

__all__ = ["print_fidelities", "print_policies"]

_FIDELITIES = (
    ("fidelity", "right"),
    ("bytes read", "right"),
    ("images/s", "right"),
    ("waiting", "right"),
    ("accuracy", "right"),
)
_POLICIES = (
    ("policy", "left"),
    ("saved", "right"),
    ("held", "right"),
    ("ratio", "right"),
    ("ms a step", "right"),
    ("accuracy", "right"),
)


def print_fidelities(result: dict[str, Any]) -> None:
    """A line for each fidelity."""
    print_text()
    rows = [
        [
            f"{trial['fidelity']} of {result['num_levels']}",
            format_bytes(trial["bytes_read"]),
            f"{trial['images_per_s']:,.0f}",
            format_share(trial["stall_share"], 1),
            format_share(trial["accuracy"], 1),
        ]
        for trial in result["trials"]
    ]
    print_table(_FIDELITIES, rows)
    print_text()
    print_text(
        f"Bytes read: through the link, in {result['epochs']} epochs. Waiting: share of the training time "
        f"spent waiting for data. Accuracy: on {result['num_test']:,} test images at full fidelity, read "
        f"from memory; every network began with the same weights and saw the same crops in the same order."
    )
    print_text()


def print_policies(result: dict[str, Any]) -> None:
    """A line for each policy of compressed activations."""
    print_text()
    rows = [
        [
            trial["policy"],
            format_bytes(trial["saved_bytes"]),
            format_bytes(trial["held_bytes"]),
            f"{trial['saved_bytes'] / trial['held_bytes']:.1f}x",
            f"{1000 * trial['seconds_per_step']:.0f}",
            format_share(trial["accuracy"], 1),
        ]
        for trial in result["activations"]
    ]
    print_table(_POLICIES, rows)
    print_text()
    print_text(
        f"Saved: bytes of activations that a step of {result['batch_size']} images saves for backward. Held: "
        f"what they take until backward reads them. A step is forward, backward and update. Weights, crops "
        f"and test images are those of the table above."
    )
