"""What callbacks need of the trainers that they are made for."""

from __future__ import annotations

import sys

import lightning.pytorch as lightning
import pytest
import pytorch_lightning

from halfbyte.trainers import lightning_callback


def test_base_class_is_that_of_the_package_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lightning_callback("this") is lightning.Callback
    monkeypatch.delitem(sys.modules, "lightning.pytorch")
    assert lightning_callback("this") is pytorch_lightning.Callback


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"this needs Lightning: pip install 'halfbyte\[lightning\]'"):
        lightning_callback("this")
