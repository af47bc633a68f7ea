"""For tests and trials: contracts as test classes, to subclass for a store of your own, and a slow link.

The contracts need pytest; the link does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfbyte.storage.throttled import ThrottledStore

if TYPE_CHECKING:
    from halfbyte.testing.store_contract import StoreContract

__all__ = ["StoreContract", "ThrottledStore"]


def __getattr__(name: str) -> Any:
    if name != "StoreContract":
        raise AttributeError(f"module 'halfbyte.testing' has no attribute {name!r}")
    from halfbyte.testing.store_contract import StoreContract

    return StoreContract
