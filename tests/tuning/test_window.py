from __future__ import annotations

from halfbyte.loader.fidelity import Moment
from halfbyte.tuning.window import Window


def moment(seconds: float, samples: int) -> Moment:
    return Moment(0, seconds, {"samples": samples})


def test_sums_are_what_came_since_the_first_moment() -> None:
    window = Window()
    window.note(moment(5.0, 100))
    assert window.sums == {}
    window.note(moment(6.0, 110))
    window.note(moment(8.0, 125))
    assert window.take() == {"seconds": 3.0, "samples": 25}
    window.note(moment(9.0, 126))
    assert window.take() == {"seconds": 1.0, "samples": 1}


def test_sums_that_were_reset_count_from_zero() -> None:
    window = Window()
    window.note(moment(5.0, 100))
    window.note(moment(6.0, 7))
    assert window.sums == {"seconds": 1.0, "samples": 7}


def test_a_resumed_window_goes_on_with_other_counters() -> None:
    window = Window()
    window.resume({"seconds": 2.0, "samples": 10})
    window.note(moment(0.0, 0))
    window.note(moment(1.0, 4))
    assert window.sums == {"seconds": 3.0, "samples": 14}
