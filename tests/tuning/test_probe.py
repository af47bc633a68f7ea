"""When probes are made, what becomes of those that fail, and what is saved of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from torch import nn
from tuning_tasks import VIEW, loss

import halfbyte
from halfbyte.errors import FidelityError
from halfbyte.loader.counters import Counters
from halfbyte.loader.fidelity import Moment
from halfbyte.tuning import probe as module
from halfbyte.tuning.probe import Probe, Verdict, worth_trying
from halfbyte.tuning.probe_samples import ProbeSamples

FULL = 10


class Trial(Probe):
    """Says what it is told to say, and notes what it was shown."""

    def __init__(self, verdicts: list[Any] | None = None, **options: Any) -> None:
        defaults = {"every": 4, "batch_size": 2, "batches": 3, "candidates": range(1, FULL)}
        defaults |= {"share": math.inf}
        super().__init__(nn.Identity(), loss, **{**defaults, "seed": 0, **options})
        self.verdicts = verdicts
        self.shown: list[list[int]] = []

    def judge(self, samples: ProbeSamples) -> Verdict:
        self.shown.append([n for batch in samples.at(1) for n in batch["label"].tolist()])
        verdict = self.verdicts.pop(0) if self.verdicts else 3
        if isinstance(verdict, BaseException):
            raise verdict
        return Verdict(verdict, "it was told so", {"number": len(self.shown)})


class Run:
    """A loader in name: asks a policy, at so many seconds and samples a step."""

    def __init__(self, policy: Probe, path: Path, *, seconds: float = 1.0, samples: int = 10) -> None:
        self.policy, self.seconds, self.samples = policy, seconds, samples
        self.steps = 0
        policy.begin(halfbyte.open(path, transform=VIEW))

    def go(self, steps: int) -> list[int]:
        """The fidelity of each of the next steps."""
        chosen = []
        for _ in range(steps):
            cost = {**Counters().to_dict(), "samples": self.samples * self.steps}
            chosen.append(self.policy.choose(Moment(0, self.seconds * self.steps, cost)))
            self.steps += 1
        return chosen


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that each of the next probes takes; its last holds for all that follow."""
    takes = [0.0]
    reads: list[float] = []

    def read() -> float:
        reads.append(takes.pop(0) if len(takes) > 1 and len(reads) % 2 else takes[0])
        return reads[-1] if len(reads) % 2 == 0 else 0.0

    monkeypatch.setattr(module, "perf_counter", read)
    return takes


def test_probes_come_every_so_many_steps(dataset_path: Path) -> None:
    policy = Trial([3, 5, 2])
    assert Run(policy, dataset_path).go(14) == [FULL] * 4 + [3] * 4 + [5] * 4 + [2] * 2
    assert [(d.step, d.fidelity, d.why) for d in policy.log] == [
        (0, FULL, "the first probe comes after 4 steps"),
        (4, 3, "it was told so"),
        (8, 5, "it was told so"),
        (12, 2, "it was told so"),
    ]
    assert [d.figures["number"] for d in policy.log[1:]] == [1, 2, 3]


def test_epochs_do_not_disturb_the_count(dataset_path: Path) -> None:
    """80 samples in batches of 16: five steps an epoch."""
    policy = Trial(every=7)
    loader = halfbyte.Loader(halfbyte.open(dataset_path, transform=VIEW), batch_size=16, fidelity=policy)
    for _ in range(3):
        list(loader)
    assert [(d.epoch, d.step) for d in policy.log] == [(0, 0), (1, 2), (2, 4)]


def test_every_probe_has_samples_of_its_own(dataset_path: Path) -> None:
    policy = Trial()
    Run(policy, dataset_path).go(13)
    assert [len(set(shown)) for shown in policy.shown] == [6, 6, 6]
    assert len({tuple(sorted(shown)) for shown in policy.shown}) == 3


def test_a_probe_above_the_share_is_put_off_and_said_once(dataset_path: Path, clock: list[float]) -> None:
    clock[:] = [2.0]
    policy = Trial(every=10, share=0.1)
    run = Run(policy, dataset_path)
    # 6 samples at 10 fidelities cost 6 steps at 10 samples a second each: 60 seconds are needed for them.
    assert run.go(60) == [FULL] * 60
    assert run.go(1) == [3]
    assert [str(d) for d in policy.log] == [
        "epoch 0, step 0: fidelity 10, since the first probe comes after 10 steps",
        "epoch 0, step 10: fidelity 10, since a probe now would take probing above 10.0% of the time; it is "
        "put off by 50 steps",
        "epoch 0, step 60: fidelity 3, since it was told so",
    ]
    # The first took 2 seconds, so the next is taken to do so too, and so on.
    run.go(60)
    assert [d.step for d in policy.log[3:]] == [70, 80, 90, 100, 110, 120]


def test_probing_stays_below_the_share(dataset_path: Path, clock: list[float]) -> None:
    clock[:] = [5.0]
    policy = Trial(every=10, share=0.05)
    run = Run(policy, dataset_path)
    for _ in range(100):
        run.go(10)
        assert policy.allowance.spent <= 0.05 * policy.allowance.seconds
    # 6 seconds are expected of the first, 5 of each that follows: room for them is at 120, 200, 300, …
    probes = [d.step for d in policy.log if d.why == "it was told so"]
    assert probes == [120, *range(200, 1000, 100)]
    assert [d.step for d in policy.log if "put off" in d.why] == [10, *(step + 10 for step in probes)]


def test_a_probe_that_fails_means_full_and_one_warning(dataset_path: Path) -> None:
    policy = Trial([3, ValueError("no such thing"), 2])
    run = Run(policy, dataset_path)
    assert run.go(8) == [FULL] * 4 + [3] * 4
    with pytest.warns(UserWarning, match="Trial: probe 1 failed with ValueError: no such thing") as caught:
        assert run.go(4) == [FULL] * 4
    assert len(caught) == 1
    assert run.go(1) == [2]
    assert str(policy.log[2]) == (
        "epoch 0, step 8: fidelity 10, since probe 1 failed with ValueError: no such thing"
    )


def test_the_warning_points_at_the_loop(dataset_path: Path) -> None:
    policy = Trial([ValueError("no such thing")], every=1)
    loader = halfbyte.Loader(halfbyte.open(dataset_path, transform=VIEW), batch_size=40, fidelity=policy)
    with pytest.warns(UserWarning, match="no such thing") as caught:
        for _ in loader:
            pass
    assert caught[0].filename == __file__


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit()])
def test_interrupts_pass_through(dataset_path: Path, stop: BaseException) -> None:
    run = Run(Trial([stop]), dataset_path)
    run.go(4)
    with pytest.raises(type(stop)):
        run.go(1)


def through_json(state: dict[str, Any]) -> Any:
    return json.loads(json.dumps(state))


@pytest.mark.parametrize("stop", [1, 3, 4, 5, 9, 14, 39])
def test_a_resumed_run_decides_the_same(dataset_path: Path, stop: int) -> None:
    whole = Run(Trial(list(range(1, 10)) * 2), dataset_path)
    chosen = whole.go(60)
    first = Run(Trial(list(range(1, 10)) * 2), dataset_path)
    assert first.go(stop) == chosen[:stop]
    second = Run(Trial(first.policy.verdicts), dataset_path)
    second.policy.load_state_dict(through_json(first.policy.state_dict()))
    assert second.go(60 - stop) == chosen[stop:]
    assert first.policy.shown + second.policy.shown == whole.policy.shown
    assert [d.fidelity for d in second.policy.log] == [d.fidelity for d in whole.policy.log]


@pytest.mark.parametrize("stop", [5, 30, 70, 150])
def test_what_is_put_off_stays_so_after_a_resume(dataset_path: Path, clock: list[float], stop: int) -> None:
    clock[:] = [5.0]
    options = {"every": 10, "share": 0.05}
    first = Run(Trial(**options), dataset_path)
    first.go(stop)
    state = through_json(first.policy.state_dict())
    second = Run(Trial(**options), dataset_path)
    second.policy.load_state_dict(state)
    assert through_json(second.policy.state_dict()) == state
    second.go(400)
    # Nobody timed the step in which the run ended, so that the account may be a little behind.
    assert 120 <= next(d.step for d in second.policy.log if d.why == "it was told so") < 140
    assert sum("put off" in d.why for d in second.policy.log if d.step < 120) == 1


def test_candidates_are_tried_by_their_bytes(dataset_path: Path) -> None:
    policy = Trial(candidates=[7, 2, 10, 2])
    Run(policy, dataset_path)
    assert policy.ladder == [2, 7]


@pytest.mark.parametrize(
    ("prices", "ladder"),
    [
        ([100, 200, 300, 400, 500], [1, 2, 3, 4]),
        ([107, 255, 277, 305, 386, 576, 593, 623, 657, 971], [1, 2, 4, 5, 7, 9]),  # photographs of groceries
        ([500, 500, 1000], [2]),  # what costs the same as the next better one is never the better choice
        ([990, 995, 1000], []),
        ([1000], []),
    ],
)
def test_only_what_saves_a_twentieth_is_worth_trying(prices: list[int], ladder: list[int]) -> None:
    assert worth_trying(prices) == ladder


def test_without_being_told_a_probe_tries_what_is_worth_it(dataset_path: Path) -> None:
    policy = Trial(candidates=None)
    Run(policy, dataset_path)
    ds = halfbyte.open(dataset_path, transform=VIEW)
    assert policy.ladder == worth_trying([ds.bytes_at(k) for k in range(1, ds.num_levels + 1)])


def test_without_candidates_nothing_is_probed(dataset_path: Path) -> None:
    policy = Trial(candidates=[10])
    assert Run(policy, dataset_path).go(20) == [FULL] * 20
    assert policy.shown == []
    assert [d.why for d in policy.log] == ["there is no other fidelity to try"]


def test_candidates_that_the_data_set_lacks_are_refused(dataset_path: Path) -> None:
    with pytest.raises(FidelityError, match="fidelity 11"):
        Run(Trial(candidates=[1, 11]), dataset_path)


@pytest.mark.parametrize(
    "options",
    [
        {"every": 0},
        {"batch_size": 0},
        {"batches": 0},
        {"every": True},
        {"every": 1.5},
        {"share": 0},
        {"seed": -1},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Trial(**options)
