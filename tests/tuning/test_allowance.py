"""How much of a run's time may go into probing."""

from __future__ import annotations

import json
import math

import pytest

from halfbyte.loader.fidelity import Moment
from halfbyte.tuning.allowance import Allowance


def moment(seconds: float, samples: int) -> Moment:
    return Moment(0, seconds, {"samples": samples})


def after(seconds: float, samples: int, share: float = 0.1) -> Allowance:
    allowance = Allowance(share)
    allowance.see(moment(0, 0))
    allowance.see(moment(seconds, samples))
    return allowance


def test_the_first_probe_is_taken_to_cost_what_training_does() -> None:
    allowance = after(100, 1000)
    assert allowance.missing(100) == pytest.approx(0)
    assert allowance.missing(50) == pytest.approx(-50)
    assert allowance.missing(200) == pytest.approx(100)


def test_the_next_is_taken_to_cost_what_the_last_did() -> None:
    allowance = after(100, 1000)
    allowance.charge(6)
    # (6 + 6) / 0.1 are wanted.
    assert allowance.missing(10**9) == pytest.approx(20)
    allowance.see(moment(120, 1200))
    assert allowance.missing(10**9) == pytest.approx(0)


def test_no_share_is_no_bound() -> None:
    allowance = after(1, 10, math.inf)
    allowance.charge(1000)
    assert allowance.missing(10**9) < 0


def test_a_resumed_run_goes_on_with_the_account() -> None:
    allowance = after(100, 1000)
    allowance.charge(6)
    other = Allowance(0.1)
    other.load_state_dict(json.loads(json.dumps(allowance.state_dict())))
    assert other.missing(1) == allowance.missing(1)
    # Its loader starts from 0.
    other.see(moment(0, 0))
    assert other.seconds == 100
    other.see(moment(20, 200))
    allowance.see(moment(120, 1200))
    assert other.state_dict() == allowance.state_dict()


def test_counters_that_were_reset_take_nothing_away() -> None:
    allowance = after(100, 1000)
    allowance.see(moment(110, 0))
    assert allowance.missing(100) == pytest.approx(0)


@pytest.mark.parametrize("share", [0, -1, math.nan])
def test_a_share_is_above_0(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        Allowance(share)
