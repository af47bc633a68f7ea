"""Where compression does nothing, the reason that weighs most is told."""

from __future__ import annotations

import pytest

from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.engine.row import COMPILED, EXCLUDED, READ, SMALL, UNKNOWN


def entered(steps: int = 1) -> Ledger:
    ledger = Ledger()
    for _ in range(steps):
        ledger.step()
    return ledger


def message(ledger: Ledger) -> str:
    told = ledger.warn_if_useless()
    assert told is not None
    return told


def test_all_is_well_when_bytes_were_saved() -> None:
    ledger = entered()
    ledger.pack(ledger.row("a", (), "Sfpr()"), 1000, 250, 0.0)
    assert ledger.warn_if_useless() is None


def test_nothing_is_told_before_anything_happened() -> None:
    assert Ledger().warn_if_useless() is None


def test_no_gradient_was_wanted() -> None:
    assert "nothing was saved for backward" in message(entered())
    assert "torch.no_grad()" in message(entered())


def test_only_the_model_itself_was_saved() -> None:
    ledger = entered()
    ledger.keep(ledger.row("", (), "", kind="model"), 1000)
    assert "only parameters and buffers" in message(ledger)


def test_everything_is_small() -> None:
    ledger = entered()
    ledger.keep(ledger.row("a", (), "", kind="exact", why=SMALL), 2000)
    ledger.keep(ledger.row("a", (), "", kind="exact", why="read by a loss"), 1000)
    assert "1.95 KiB lie in tensors too small to pack; lower min_bytes" in message(ledger)


def test_everything_is_exact_by_policy() -> None:
    ledger = entered()
    ledger.keep(ledger.row("a", (), "", kind="exact"), 9000)
    ledger.keep(ledger.row("b", (), "", kind="exact", why="read by a loss"), 5000)
    ledger.keep(ledger.row("c", (), "", kind="held"), 10000)
    assert "13.7 KiB were kept exact (by policy; read by a loss); choose a policy" in message(ledger)


@pytest.mark.parametrize(
    ("why", "advice"),
    [
        (EXCLUDED, "exclude less"),
        (COMPILED, "compile smaller parts"),
        (READ, "so few layers"),
        (UNKNOWN, "run backward inside of the context"),
        ("weights, statistics and losses", "such a model gains nothing"),
    ],
)
def test_advice_follows_from_the_reason_that_weighs_most(why: str, advice: str) -> None:
    ledger = entered()
    ledger.keep(ledger.row("a", (), "", kind="exact"), 5000)
    ledger.keep(ledger.row("b", (), "", kind="exact", why=why), 9000)
    told = message(ledger)
    assert f"({why}; by policy); " in told
    assert advice in told


def test_everything_is_held_by_others() -> None:
    ledger = entered()
    ledger.keep(ledger.row("a", (), "", kind="held"), 5000)
    ledger.keep(ledger.row("a", (), "", kind="exact", why=SMALL), 2000)
    assert "4.88 KiB are held by somebody else" in message(ledger)


def test_codecs_that_do_not_pay() -> None:
    ledger = entered()
    ledger.pack(ledger.row("a", (), "ZeroValue()"), 3200, 3300, 0.0)
    assert "3.12 KiB were packed, and take 3.22 KiB" in message(ledger)


def test_a_backward_that_never_comes() -> None:
    ledger = entered(steps=8)
    row = ledger.row("a", (), "Sfpr()")
    ledger.pack(row, 1000, 250, 0.0)
    assert "8 contexts were entered and no backward" in message(ledger)
    ledger.unpack(row, 0.0)
    assert ledger.warn_if_useless() is None
