from __future__ import annotations

import copy
import pickle
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import DataLoader

import halfbyte
from halfbyte.errors import FidelityError, NotADataset
from halfbyte.loader.dataset import SampleRequest


def test_sample_is_image_and_fields(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path)
    sample = ds[3]
    assert set(sample) == {"image", "label"}
    assert sample["label"] == 3
    assert sample["image"].shape == (48, 64, 3)
    assert sample["image"].dtype == np.uint8


def test_negative_index_counts_from_the_end(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path)
    assert ds[-1]["label"] == 79
    with pytest.raises(IndexError, match="sample 80 of a data set of 80"):
        ds[80]


@pytest.mark.parametrize("fidelity", range(1, 11))
def test_read_gives_a_jpeg_that_pillow_opens(dataset_path: Path, fidelity: int) -> None:
    ds = halfbyte.open(dataset_path)
    data = ds.read(11, fidelity)
    image = Image.open(BytesIO(data))
    image.load()
    assert image.size == (64, 48)


def test_full_fidelity_pixels_equal_pillow(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path)
    expected = np.asarray(Image.open(BytesIO(ds.read(11))))
    assert np.array_equal(ds.read(11, decode=True), expected)
    assert np.array_equal(ds[11]["image"], expected)


def test_bytes_grow_with_fidelity(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path)
    sizes = [ds.bytes_at(k) for k in range(1, ds.num_levels + 1)]
    assert sizes == sorted(sizes)
    on_disk = sum(f.stat().st_size for f in (dataset_path / "records").iterdir())
    assert sizes[-1] == on_disk
    assert [len(ds.read(5, k)) for k in (1, 5, 10)] == sorted(len(ds.read(5, k)) for k in (1, 5, 10))


def test_fields_can_be_chosen(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, fields=["_key", "_number"])
    assert ds[7].keys() == {"image", "_key", "_number"}
    assert ds[7]["_key"] == "photos/0007.jpg"
    with pytest.raises(ValueError, match="no field 'lable' in this data set; it has _key, _number, label"):
        halfbyte.open(dataset_path, fields=["lable"])


@pytest.mark.parametrize("fidelity", [0, 11, True, 2.5, {3: -1.0}, {12: 1.0}, {3: 0.0}])
def test_impossible_fidelity_is_refused(dataset_path: Path, fidelity: object) -> None:
    with pytest.raises(FidelityError, match=r"fidelity .*; give"):
        halfbyte.open(dataset_path, fidelity=fidelity)  # type: ignore[arg-type]


def test_fidelity_reaches_living_workers(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=halfbyte.Transform(halfbyte.CenterCrop(32)))
    loader = DataLoader(ds, batch_size=8, num_workers=1, persistent_workers=True)
    images = {}
    for fidelity in (10, 1, 10):
        ds.fidelity = fidelity
        images.setdefault(fidelity, []).append(next(iter(loader))["image"].numpy())
    assert np.array_equal(*images[10])
    assert not np.array_equal(images[10][0], images[1][0])


def test_views_follow_the_epoch(dataset_path: Path) -> None:
    view = halfbyte.Transform(halfbyte.RandomResizedCrop(16))
    ds = halfbyte.open(dataset_path, transform=view)
    first = ds[5]["image"]
    ds.set_epoch(1)
    assert not np.array_equal(ds[5]["image"], first)
    assert np.array_equal(ds[SampleRequest(5, 0)]["image"], first)


def test_alone_or_in_a_batch_is_the_same(dataset_path: Path) -> None:
    view = halfbyte.Transform(halfbyte.RandomResizedCrop(16), flip=0.5)
    ds = halfbyte.open(dataset_path, transform=view, fidelity={2: 1, 9: 1})
    batch = ds.__getitems__([7, 40, 2])
    for number, item in zip([7, 40, 2], batch, strict=True):
        assert np.array_equal(ds[number]["image"], item["image"])


def test_normalization_is_float_of_the_pixels(dataset_path: Path) -> None:
    crop = halfbyte.CenterCrop(32)
    mean, std = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
    plain = halfbyte.open(dataset_path, transform=halfbyte.Transform(crop, layout="HWC"))[4]["image"]
    normalize = halfbyte.Normalize(mean, std)
    ds = halfbyte.open(dataset_path, transform=halfbyte.Transform(crop, normalize=normalize))
    got = ds[4]["image"]
    assert got.dtype == np.float32
    expected = (plain.astype(np.float64) / 255 - mean) / std
    assert np.allclose(got, expected.transpose(2, 0, 1), atol=1e-6)


def test_requests_and_data_sets_pickle(dataset_path: Path) -> None:
    request = pickle.loads(pickle.dumps(SampleRequest(3, 7)))
    assert (int(request), request.epoch) == (3, 7)
    ds = halfbyte.open(dataset_path, fidelity=4)
    for other in (pickle.loads(pickle.dumps(ds)), copy.deepcopy(ds)):
        assert other.fidelity == 4
        other.fidelity = 2
        assert np.array_equal(other.read(3, decode=True), ds.read(3, decode=True))
    assert ds.fidelity == 4


def test_no_data_set_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotADataset, match=r"dataset\.json: no such file.*halfbyte convert PHOTOS OUT"):
        halfbyte.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        halfbyte.open(tmp_path / "nowhere")


def test_repr_tells_what_it_is(dataset_path: Path) -> None:
    text = repr(halfbyte.open(dataset_path, fidelity=5))
    assert "80 samples" in text
    assert "fidelity 5 of 10" in text


def test_second_pass_without_an_epoch_warns_once(dataset_path: Path) -> None:
    view = halfbyte.Transform(halfbyte.RandomResizedCrop(16))
    ds = halfbyte.open(dataset_path, transform=view)
    for epoch in range(2):
        ds.set_epoch(epoch)
        ds.__getitems__(range(len(ds)))
    with pytest.warns(UserWarning, match=r"views of epoch 1: .* Call set_epoch\(epoch\) on the data set"):
        ds[0]
    ds[0]
    fixed = halfbyte.open(dataset_path, transform=halfbyte.Transform(halfbyte.CenterCrop(16)))
    for _ in range(2):
        fixed.__getitems__(range(len(fixed)))


def test_repeats_are_seen_across_workers(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=halfbyte.Transform(halfbyte.RandomResizedCrop(16)))
    list(DataLoader(ds, batch_size=8, shuffle=True, num_workers=2))
    with pytest.warns(UserWarning, match="random crops and flips repeat"):
        ds.__getitems__(range(16))
