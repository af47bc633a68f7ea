"""What a policy did to a run: the numbers, and the page."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from policies import EveryStep

import halfbyte
from halfbyte.loader.fidelity import Fidelity, Moment
from halfbyte.tuning import Fixed, Policy, Report, Schedule, Steering, report


class Looking(Policy):
    """Looks at three figures at the start of every epoch."""

    def decide(self, moment: Moment) -> Fidelity:
        if self.step:
            return self.fidelity
        figures = {"cosine_1": 0.7, "cosine_5": 0.9, "bandwidth": 9.8e6}
        return self.conclude(1 + moment.epoch % 2 * 4, "a < b & it is so", **figures)

    def __repr__(self) -> str:
        return "Looking(<3)"


def run(path: Path, policy: Policy, *, epochs: int, steps: int = 100) -> Any:
    """Each step takes half a second, and waits for a tenth; 16 samples of 100 bytes."""
    policy.begin(halfbyte.open(path))

    def moment(count: int) -> Moment:
        cost = {"bytes_read": 1600 * count, "stall_seconds": 0.1 * count, "samples": 16 * count}
        return Moment(count // steps, 0.5 * count, cost)

    for count in range(epochs * steps):
        policy.choose(moment(count))
    return SimpleNamespace(policy=policy, moment=moment(epochs * steps))


def drawings(page: str) -> list[ET.Element]:
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


@pytest.mark.parametrize("epochs", [2, 30])
def test_decisions_are_placed_in_time(dataset_path: Path, epochs: int) -> None:
    """Also between rows that thinning has left."""
    told = report(run(dataset_path, Looking(), epochs=epochs))
    assert told.seconds((d.epoch, d.step) for d in told.decisions) == pytest.approx(
        [50 * epoch for epoch in range(epochs)]
    )
    assert told.seconds([(1, 37), (epochs - 1, 99)]) == pytest.approx([68.5, 50 * epochs - 0.5])


def test_the_last_batches_are_in_it(dataset_path: Path) -> None:
    end = report(run(dataset_path, Looking(), epochs=2)).rows[-1]
    assert (end.seconds, end.bytes_read, end.samples) == (100, 320_000, 3200)


def test_numbers_are_json(dataset_path: Path) -> None:
    told = report(run(dataset_path, Looking(), epochs=2))
    values = json.loads(json.dumps(told.to_dict()))
    assert len(values["rows"]) == 201
    assert values["rows"][7]["samples"] == 7 * 16
    assert values["decisions"][1] == {
        "seconds": 50,
        "epoch": 1,
        "step": 0,
        "fidelity": 5,
        "why": "a < b & it is so",
        "figures": {"cosine_1": 0.7, "cosine_5": 0.9, "bandwidth": 9.8e6},
    }
    assert len(values["bytes_a_sample"]) == 10


def test_the_page_needs_nothing_else(dataset_path: Path) -> None:
    page = report(run(dataset_path, Looking(), epochs=3)).html()
    assert not re.search(r"<script|<link|<img|@import|url\(|https?://|src=", page)
    assert "Looking(&lt;3)" in page
    assert page.count("<tr>") == 1 + 3
    assert "Fidelity 5, since a &lt; b &amp; it is so." in page


def test_it_draws_fidelity_bytes_waiting_and_figures(dataset_path: Path) -> None:
    page = report(run(dataset_path, Looking(), epochs=3)).html()
    titles = [svg.attrib["aria-label"] for svg in drawings(page)]
    assert titles == [
        "Fidelity, 1 to 10",
        "Bytes read, since the run began",
        "Bytes a sample",
        "Share of the time that training waits for data",
        "Cosine, when it was looked at",
        "Bandwidth, when it was looked at",
    ]
    assert "20 %" in page  # a tenth of half a second
    assert "480 kB" in page
    assert "2 min 30 s" in page


def test_the_line_of_fidelity_goes_up_with_the_decision(dataset_path: Path) -> None:
    page = report(run(dataset_path, Schedule({0: 1, 1: 10}), epochs=2)).html()
    path = drawings(page)[0].find("path[@class='line c0']")
    assert path is not None
    x0, y0, x1, y1, end = map(float, re.findall(r"[\d.]+", path.attrib["d"]))
    assert y1 < y0
    assert x1 - x0 == pytest.approx((end - x0) / 2, abs=0.1)


def test_a_loader_and_steering_are_runs(dataset_path: Path) -> None:
    view = halfbyte.Transform(halfbyte.CenterCrop(16))
    loader = halfbyte.Loader(halfbyte.open(dataset_path, transform=view), batch_size=16, fidelity=EveryStep())
    list(loader)
    told = report(loader)
    assert told.rows[-1].samples == 80
    assert told.rows[-1].bytes_read == loader.counters.bytes_read
    assert len(drawings(told.html())) == 5
    steering = Steering(Fixed(1), halfbyte.open(dataset_path, transform=view))
    list(steering.batches([1, 2]))
    assert len(report(steering).rows) == 3


def test_a_run_that_has_not_begun_has_a_page(dataset_path: Path) -> None:
    view = halfbyte.Transform(halfbyte.CenterCrop(16))
    loader = halfbyte.Loader(halfbyte.open(dataset_path, transform=view), batch_size=16, fidelity=Fixed(1))
    told = report(loader)
    assert isinstance(told, Report)
    assert told.rows == ()
    assert "Nothing was read yet" in told.html()
    next(iter(loader))
    assert len(drawings(report(loader).html())) == 4
    loader.close()


def test_a_loader_without_a_policy_is_refused(dataset_path: Path) -> None:
    view = halfbyte.Transform(halfbyte.CenterCrop(16))
    loader = halfbyte.Loader(halfbyte.open(dataset_path, transform=view), batch_size=16, fidelity=1)
    with pytest.raises(ValueError, match=r"its policy is None, expected one of halfbyte\.tuning"):
        report(loader)
