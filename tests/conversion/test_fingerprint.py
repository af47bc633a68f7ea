from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from halfbyte.conversion.fingerprint import describe_changes, take_fingerprint
from halfbyte.conversion.sources import Sources

SOURCES = Sources(
    where="here",
    root="/in/",
    paths=["a", "b"],
    keys=["a", "b"],
    sizes=np.array([1, 2], np.int64),
    mtimes=np.array([10, 20], np.int64),
    columns={"label": pa.array([0, 1])},
    classes=("x", "y"),
)
SETTINGS = {"seed": 0}


def test_identity_is_pinned() -> None:
    assert take_fingerprint(SOURCES, SETTINGS).identity.hex() == "5a7544bb785c0a0a850cd82ae0bb4a28"


@pytest.mark.parametrize("change", [{"root": "/out/"}, {"where": "there"}, {"ignored": {"hidden": 1}}])
def test_place_and_litter_do_not_count(change: dict[str, Any]) -> None:
    old, new = (take_fingerprint(s, SETTINGS) for s in (SOURCES, replace(SOURCES, **change)))
    assert old.identity == new.identity
    assert describe_changes(old, new) == ""


def test_time_of_change_counts_until_the_data_set_is_complete() -> None:
    old, new = (take_fingerprint(s, SETTINGS) for s in (SOURCES, replace(SOURCES, mtimes=np.array([10, 21]))))
    assert old.identity == new.identity
    assert describe_changes(old, new) == "1 changed (such as b)"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sizes": np.array([1, 3])}, "1 changed (such as b)"),
        ({"keys": ["a", "c"]}, "1 gone (such as b); 1 new (such as c)"),
        ({"columns": {"label": pa.array([0, 0])}}, "1 changed (such as b)"),
        ({"columns": {"label": pa.array([0, 1], pa.int32())}}, "the classes, the fields, the order"),
        ({"classes": ("x", "z")}, "the classes, the fields, the order"),
        ({"refused": (("c", "missing"),)}, "the files that cannot be read"),
    ],
)
def test_every_other_change_counts(change: dict[str, Any], said: str) -> None:
    old, new = (take_fingerprint(s, SETTINGS) for s in (SOURCES, replace(SOURCES, **change)))
    assert old.identity != new.identity
    assert said in describe_changes(old, new)


def test_settings_count() -> None:
    old, new = (take_fingerprint(SOURCES, settings) for settings in ({"seed": 0}, {"seed": 1}))
    assert old.identity != new.identity
    assert describe_changes(old, new) == "seed was 0, is 1"
