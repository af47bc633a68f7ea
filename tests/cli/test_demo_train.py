from __future__ import annotations

from pathlib import Path

import pytest
import torch

import halfbyte
from halfbyte.cli import demo_train
from halfbyte.cli.demo_train import TrainOptions
from halfbyte.records.progress import Progress
from halfbyte.storage.local import LocalStore
from halfbyte.storage.throttled import ThrottledStore
from photos import jpeg, photo

OPTIONS = TrainOptions(epochs=2, batch_size=8, side=32)


@pytest.fixture(scope="module", autouse=True)
def _calm() -> None:
    demo_train.leave_cores_to_decoding()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """128 training images of two classes, and 10 test images of one."""
    root = tmp_path_factory.mktemp("demo")
    rows = []
    for number in range(138):
        path = root / f"{number}.jpg"
        path.write_bytes(jpeg(photo(number % 2, width=48, height=48)))
        rows.append({"path": path, "label": ("b", "a")[number % 2]})
    halfbyte.convert(rows[:128], root / "train", record_bytes=64 << 10, quality=False)
    halfbyte.convert([row for row in rows[128:] if row["label"] == "b"], root / "test", quality=False)
    return root


def test_link_lies_between_what_two_fidelities_need() -> None:
    link = demo_train.choose_bandwidth(500, 4000, 16000)
    assert 500 * 4000 < link < 500 * 16000
    assert link == 4_000_000
    assert demo_train.choose_bandwidth(0.001, 1, 1) == 1


def test_labels_of_the_test_set_are_those_of_training(data: Path) -> None:
    ((images, labels),) = demo_train.test_batches(data / "test", ("a", "b"), OPTIONS)
    assert images.shape == (5, 3, 32, 32)
    assert labels.tolist() == [1] * 5


def test_a_trial_measures_what_it_read(data: Path) -> None:
    tests = demo_train.test_batches(data / "test", ("a", "b"), OPTIONS)
    seen: list[Progress] = []
    trial = demo_train.run_trial(
        data / "train", 1, bandwidth=1e9, tests=tests, options=OPTIONS, progress=seen.append
    )
    ds = halfbyte.open(data / "train")
    assert trial.bytes_read == OPTIONS.epochs * ds.bytes_at(1)
    assert (seen[-1].done_samples, seen[-1].done_bytes) == (256, seen[-1].total_bytes)
    assert trial.images_per_s == pytest.approx(256 / trial.seconds)
    assert 0 <= trial.stall_share <= 1
    assert 0 <= trial.accuracy <= 1


def test_training_reads_through_the_link(data: Path) -> None:
    link = demo_train.open_training(data / "train", OPTIONS, 1234.0).records.store
    assert isinstance(link, ThrottledStore)
    assert (link.bandwidth, link.inner) == (1234.0, LocalStore(data / "train"))
    assert demo_train.open_training(data / "train", OPTIONS, None).records.store == link.inner


def test_weights_and_data_are_the_same_each_time(data: Path) -> None:
    def losses() -> list[torch.Tensor]:
        dataset = demo_train.open_training(data / "train", OPTIONS, None)
        loader = demo_train.make_loader(dataset, OPTIONS, 5)
        torch.manual_seed(OPTIONS.seed)
        network = demo_train.make_network(2)
        return [network(batch["image"]).sum() for batch in loader]

    assert losses() == losses()


def test_speed_is_measured_on_one_epoch(data: Path) -> None:
    assert demo_train.measure_speed(data / "train", OPTIONS) > 0
