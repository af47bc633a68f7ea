"""Who saved what: known before anything is encoded, whichever way it is found out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from equality import OWNERS, Feigned, owners_found_by
from nets import ResNet, UNet, ViT
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.engine.owners import GraphWalk, NodeCreation

pytestmark = pytest.mark.filterwarnings("ignore:compression")
UNKNOWN = "saver not known when the context ended"


def feigned(saved: object) -> Feigned:
    return Feigned()


def normal(*size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(sum(size)))


@pytest.fixture(params=sorted(OWNERS))
def owners(request: pytest.FixtureRequest) -> Iterator[str]:
    with owners_found_by(request.param):
        yield request.param


def packed_for(ledger: Ledger) -> list[tuple[tuple[str, str], ...]]:
    return [row.savers for row in ledger.rows("packed")]


def savers(ledger: Ledger) -> set[str]:
    return {str(saver) for savers in packed_for(ledger) for saver in savers}


@pytest.mark.usefixtures("owners")
@pytest.mark.parametrize("net", [ResNet, UNet, ViT])
def test_all_savers_are_known_when_a_tensor_is_packed(net: type[nn.Module]) -> None:
    model = net()
    with compress(model, policy=feigned, min_bytes=0) as ledger:
        loss = model(normal(2, 3, 16, 16)).square().sum()
    assert len(packed_for(ledger)) > 5
    assert () not in packed_for(ledger)
    loss.backward()


def test_saver_that_is_not_known_in_the_end_keeps_its_tensor(owners: str) -> None:
    x = normal(16, 16).requires_grad_()
    with compress(policy=feigned, min_bytes=0) as ledger:
        y = (x * 1).sin() * 1
    rows = [(row.kind, row.why) for row in ledger.rows()]
    assert rows == ([("exact", UNKNOWN)] if owners == "walk" else [("packed", "")])
    y.sum().backward()


@pytest.mark.usefixtures("owners")
def test_last_savers_can_be_told() -> None:
    x = normal(16, 16).requires_grad_()
    compressor = compress(policy=feigned, min_bytes=0)
    with compressor as ledger:
        y = (x * 1).sin() * 1
        compressor.reach([y.grad_fn])
    assert savers(ledger) == {"Sin.self"}
    y.sum().backward()


def test_branch_that_leads_nowhere_does_not_wait_for_ever(owners: str) -> None:
    x = normal(16, 16).requires_grad_()
    with compress(policy=feigned, min_bytes=0) as ledger:
        aside = (x * 1).cos() * 1
        y = x * 1
        for _ in range(100):
            y = y.sin()
        expected = () if owners == "walk" else (("CosBackward0", "self"),)
        assert expected in packed_for(ledger)
    (aside.sum() + y.sum()).backward()
    assert ledger.held_bytes == 0


@pytest.mark.usefixtures("owners")
def test_inputs_of_a_region_have_no_saver_and_are_values() -> None:
    with compress(policy=feigned, min_bytes=0) as ledger:
        y = F.relu(normal(2, 4, 12, 12).requires_grad_() * 1)
        y = checkpoint(lambda y: y.sin(), y, use_reentrant=False)
        y = (y * 1).exp().cos()
    rows = [row for row in ledger.rows("packed") if "Relu.result" in map(str, row.savers)]
    assert [row.codec for row in rows] == ["Feigned() + mask"]
    y.sum().backward()


def test_bounded_memory_of_nodes_forgets_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfbyte.activations.engine.owners._MOST_REMEMBERED", 64)
    for found in (GraphWalk(), NodeCreation()):
        for sequence in range(200):
            found._remember(sequence)
        assert len(found._seen) <= 64
        assert all(found.knows(sequence) for sequence in range(200))
        assert not found.knows(200)


@pytest.mark.usefixtures("owners")
def test_leaves_do_not_disturb_the_bounded_memory_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfbyte.activations.engine.owners._MOST_REMEMBERED", 8)
    with compress(policy=feigned, min_bytes=0) as ledger:
        y = normal(8, 8).requires_grad_() * 1
        for i in range(30):
            y = (y * (normal(8, 8) + i).requires_grad_()).sin()
        y = y * 1
    assert {"Sin.self", "Mul.self"} <= savers(ledger)
    assert () not in packed_for(ledger)
    y.sum().backward()
