"""Contracts as test classes: subclass one to test a store of your own. Needs pytest."""

from halfbyte.testing.store_contract import StoreContract

__all__ = ["StoreContract"]
