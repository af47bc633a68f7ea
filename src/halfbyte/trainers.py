"""What callbacks need of the trainers that they are made for, which are imported only then."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import TrainerState

__all__ = ["lightning_callback", "states_of_callbacks"]

_NAMES = ("lightning.pytorch", "pytorch_lightning")


def lightning_callback(needed_by: str) -> Any:
    """Lightning's class of callbacks, by the name that the program imports it by; its two names are two sets
    of classes.

    Raises:
        ImportError: Lightning is not installed.
    """
    for name in (*(name for name in _NAMES if name in sys.modules), *_NAMES):
        try:
            return importlib.import_module(name).Callback
        except ImportError:
            continue
    raise ImportError(f"{needed_by} needs Lightning: pip install 'halfbyte[lightning]'")


def states_of_callbacks(state: TrainerState) -> dict[str, Any]:
    """What the Trainer of Transformers saves of its callbacks; it is annotated otherwise."""
    states: dict[str, Any] = state.stateful_callbacks  # type: ignore[assignment]
    return states
