"""What to do with a sample that cannot be read or decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from halfbyte.loader.counters import Counters

__all__ = ["FailedSample", "OnError", "check_on_error", "leave_out"]


@dataclass(frozen=True, slots=True)
class FailedSample:
    """A sample that was left out.

    Attributes:
        number: its number in the data set.
        record, index: where it lies.
        key: its name; empty where the record's table could not be read.
        error: why.
    """

    number: int
    record: int
    index: int
    key: str
    error: Exception


OnError = Literal["raise", "skip"] | Callable[[FailedSample], None]
"""``"raise"``; ``"skip"``: leave the sample out and count it; or a function that is told and may raise.

The function is called where the failure happens: in a loading thread, or in a DataLoader worker, for which it
must pickle.
"""


def check_on_error(on_error: OnError) -> OnError:
    """Return it, or raise ValueError if it is neither of the words nor callable."""
    if on_error in ("raise", "skip") or callable(on_error):
        return on_error
    raise ValueError(f"on_error is {on_error!r}, expected 'raise', 'skip' or a function; pass one of them")


def leave_out(failed: FailedSample, on_error: OnError, counters: Counters) -> None:
    """Raise or tell, as asked, and count; on return the sample is left out (never replaced by another)."""
    if on_error == "raise":
        raise failed.error
    if callable(on_error):
        on_error(failed)
    counters.add(errors=1)
