from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import SimpleNamespace

import pytest

from halfbyte.loader.topology import Topology, find_topology


@pytest.fixture(autouse=True)
def nothing_to_find(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("torch", "torch.distributed"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def pretend_torchrun(monkeypatch: pytest.MonkeyPatch, rank: str, world_size: str) -> None:
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", world_size)


def pretend_torch(
    monkeypatch: pytest.MonkeyPatch, *, available: bool = True, initialized: bool = True
) -> None:
    distributed = SimpleNamespace(
        is_available=lambda: available,
        is_initialized=lambda: initialized,
        get_rank=lambda: 2,
        get_world_size=lambda: 5,
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(distributed=distributed))
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)


def test_single_process_is_rank_0_of_1() -> None:
    assert find_topology() == Topology(rank=0, world_size=1)


def test_environment_of_torchrun_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_torchrun(monkeypatch, "3", "8")
    assert find_topology() == Topology(rank=3, world_size=8)


def test_process_group_wins_over_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_torchrun(monkeypatch, "3", "8")
    pretend_torch(monkeypatch)
    assert find_topology() == Topology(rank=2, world_size=5)


@pytest.mark.parametrize(("available", "initialized"), [(True, False), (False, True)])
def test_torch_without_process_group_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, available: bool, initialized: bool
) -> None:
    pretend_torch(monkeypatch, available=available, initialized=initialized)
    assert find_topology() == Topology()
    pretend_torchrun(monkeypatch, "3", "8")
    assert find_topology() == Topology(rank=3, world_size=8)


def test_torch_without_distributed_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert find_topology() == Topology()


def test_given_numbers_win(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_torch(monkeypatch)
    assert find_topology(rank=0, world_size=1) == Topology(rank=0, world_size=1)
    assert find_topology(rank=4) == Topology(rank=4, world_size=5)
    assert find_topology(world_size=3) == Topology(rank=2, world_size=3)


def test_given_numbers_need_no_sound_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_torchrun(monkeypatch, "first", "many")
    assert find_topology(rank=1, world_size=2) == Topology(rank=1, world_size=2)


@pytest.mark.parametrize(("present", "absent"), [("RANK", "WORLD_SIZE"), ("WORLD_SIZE", "RANK")])
def test_half_an_environment_is_refused(monkeypatch: pytest.MonkeyPatch, present: str, absent: str) -> None:
    monkeypatch.setenv(present, "1")
    with pytest.raises(
        ValueError, match=rf"{present} is '1' but {absent} is not set, expected both or neither"
    ):
        find_topology()


@pytest.mark.parametrize(
    ("rank", "world_size"), [("first", "8"), ("8", "8"), ("-1", "8"), ("0", "0"), ("", "1")]
)
def test_senseless_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch, rank: str, world_size: str
) -> None:
    pretend_torchrun(monkeypatch, rank, world_size)
    with pytest.raises(
        ValueError, match=rf"RANK is '{rank}' and WORLD_SIZE '{world_size}', expected integers"
    ):
        find_topology()


def test_senseless_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"world_size is 0, expected at least 1"):
        Topology(rank=0, world_size=0)
    with pytest.raises(
        ValueError, match=r"rank is 3, expected 0 to 1 for world_size 2; pass rank and world_size"
    ):
        Topology(rank=3, world_size=2)
    with pytest.raises(ValueError, match=r"rank is 1, expected 0 to 0 for world_size 1"):
        find_topology(rank=1)


def test_looking_does_not_import_torch() -> None:
    program = "import sys, halfbyte.loader.topology as t; t.find_topology(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_real_process_group_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_torchrun(monkeypatch, "3", "8")
    program = """
import sys
import torch.distributed as dist
from halfbyte.loader.topology import Topology, find_topology
before = find_topology()
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
sys.exit((before, find_topology()) != (Topology(3, 8), Topology(0, 1)))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
