"""Train on half the bytes: progressive compressed records for vision data sets.

    import halfbyte

    halfbyte.convert("photos/", "photos.halfbyte/")
    ds = halfbyte.open("photos.halfbyte/", fidelity=5, transform=halfbyte.Transform(halfbyte.CenterCrop(224)))
    for batch in halfbyte.Loader(ds, batch_size=64):
        ...

Names are imported when first used: importing halfbyte imports neither torch nor pyarrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfbyte import activations, errors, tuning
    from halfbyte._native import Limits
    from halfbyte.codecs.scan_script import ScanScript
    from halfbyte.conversion import convert
    from halfbyte.loader.dataset import Dataset
    from halfbyte.loader.opening import open
    from halfbyte.loader.progress import merge_states
    from halfbyte.loader.sampler import BatchSampler
    from halfbyte.loader.torch.iterable import IterableDataset
    from halfbyte.loader.torch.loader import Loader
    from halfbyte.loader.transforms import CenterCrop, Normalize, RandomResizedCrop, Transform
    from halfbyte.records.extract import extract
    from halfbyte.records.verify import verify
    from halfbyte.storage.local import LocalStore
    from halfbyte.storage.throttled import ThrottledStore

__version__ = "0.1.0"

_HOMES = {
    "BatchSampler": "halfbyte.loader.sampler",
    "CenterCrop": "halfbyte.loader.transforms",
    "Dataset": "halfbyte.loader.dataset",
    "IterableDataset": "halfbyte.loader.torch.iterable",
    "Limits": "halfbyte._native",
    "Loader": "halfbyte.loader.torch.loader",
    "LocalStore": "halfbyte.storage.local",
    "Normalize": "halfbyte.loader.transforms",
    "RandomResizedCrop": "halfbyte.loader.transforms",
    "ScanScript": "halfbyte.codecs.scan_script",
    "ThrottledStore": "halfbyte.storage.throttled",
    "Transform": "halfbyte.loader.transforms",
    "activations": "halfbyte.activations",
    "convert": "halfbyte.conversion",
    "errors": "halfbyte.errors",
    "extract": "halfbyte.records.extract",
    "merge_states": "halfbyte.loader.progress",
    "open": "halfbyte.loader.opening",
    "tuning": "halfbyte.tuning",
    "verify": "halfbyte.records.verify",
}

__all__ = [
    "BatchSampler",
    "CenterCrop",
    "Dataset",
    "IterableDataset",
    "Limits",
    "Loader",
    "LocalStore",
    "Normalize",
    "RandomResizedCrop",
    "ScanScript",
    "ThrottledStore",
    "Transform",
    "__version__",
    "activations",
    "convert",
    "errors",
    "extract",
    "merge_states",
    "open",
    "tuning",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'halfbyte' has no attribute {name!r}")
    module = importlib.import_module(_HOMES[name])
    value = module if name in ("activations", "errors", "tuning") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
