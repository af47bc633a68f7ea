from __future__ import annotations

import pytest

import halfbyte


def test_every_promised_name_exists() -> None:
    for name in halfbyte.__all__:
        assert getattr(halfbyte, name) is not None


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'halfbyte' has no attribute 'Dataloader'"):
        halfbyte.Dataloader  # noqa: B018


def test_public_names_say_what_they_are() -> None:
    undocumented = [
        name for name in halfbyte.__all__ if not name.startswith("_") and not getattr(halfbyte, name).__doc__
    ]
    assert undocumented == []


def test_convert_stays_a_function_once_its_package_is_loaded() -> None:
    import halfbyte.conversion

    assert callable(halfbyte.convert)
    assert halfbyte.convert is halfbyte.conversion.convert
