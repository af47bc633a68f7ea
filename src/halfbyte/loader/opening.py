"""``halfbyte.open``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from halfbyte._native import Limits
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.failures import OnError
from halfbyte.loader.fidelity import Fidelity
from halfbyte.loader.transforms import Transform
from halfbyte.records.record_set import open_records
from halfbyte.storage.local import LocalStore
from halfbyte.storage.store import Store

__all__ = ["open"]


def open(
    path: str | os.PathLike[str] | Store,
    *,
    fidelity: Fidelity = None,
    transform: Transform | None = None,
    fields: Sequence[str] | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    limits: Limits | None = None,
) -> Dataset:
    """Open a data set that ``halfbyte convert`` made. Reads its description and index, no sample.

    Args:
        path: its folder, or a store that holds it, such as a :class:`~halfbyte.ThrottledStore`.
        fidelity, transform, fields, on_error, seed, limits: as of :class:`~halfbyte.Dataset`.

    Raises:
        NotADataset: there is no complete data set at ``path``.
        CorruptRecord, UnsupportedFormat: its description cannot be used.
        FidelityError, ValueError: an option does not fit the data set.

    Example::

        ds = halfbyte.open("photos.halfbyte", fidelity=5)
        ds[0]["image"].shape, ds.bytes_at(5) / ds.bytes_at(ds.num_levels)
    """
    store = path if isinstance(path, Store) else LocalStore(Path(path))
    return Dataset(
        open_records(store),
        fidelity=fidelity,
        transform=transform,
        fields=fields,
        on_error=on_error,
        seed=seed,
        limits=limits,
    )
