"""Ranks of a real process group decide from the same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from halfbyte.ranks import mean_over_ranks, rank_and_world_size, together

TESTS = Path(__file__).parent.parent
SCRIPT = """
import json, math, sys, warnings
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
import halfbyte
from halfbyte.tuning import GradientSimilarity, LossProbe
from halfbyte.tuning.allowance import Allowance
from halfbyte.ranks import mean_over_ranks, rank_and_world_size, together
from tuning_tasks import VIEW, Net, everything, loss, optimizer_of, train

def work(rank):
    if rank:
        raise KeyError("lost")
    return 1

def attempt(rank):
    try:
        return together(lambda: work(rank))
    except RuntimeError as error:
        return str(error)

def fails_on_the_first(model, batch):
    # Before the model is called: nobody may wait there for a rank that does not come.
    if dist.get_rank() == 0:
        raise KeyError("lost")
    return loss(model, batch)

def run(path, kind, rank, function=loss, **options):
    torch.manual_seed(rank)
    model = DistributedDataParallel(Net())
    optimizer = optimizer_of(model)
    common = {"share": math.inf, "every": 2, "batch_size": 16, "candidates": [1, 4, 6], **options}
    if kind == "gradient":
        policy = GradientSimilarity(model, function, batches=4, threshold=0.9, **common)
    elif kind == "loss":
        policy = LossProbe(model, optimizer, function, burst=24, tolerance=0.1, **common)
    else:
        policy = None
    loader = halfbyte.Loader(halfbyte.open(path, transform=VIEW), batch_size=32, fidelity=policy)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(loader, model, optimizer, epochs=1)
    kept = {name: str(value) for name, value in everything(model, optimizer).items()}
    log = [] if policy is None else policy.state_dict()["log"]
    return {"log": log, "kept": kept, "warnings": [str(w.message) for w in caught]}

def put_off(path, rank):
    # One rank could afford a probe, the other could not.
    real, Allowance.missing = Allowance.missing, lambda self, samples: 9.0 * rank - 1.0
    try:
        return run(path, "gradient", rank)
    finally:
        Allowance.missing = real

def main(textured, coloured, store, rank):
    rank = int(rank)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    result = {
        "rank": rank_and_world_size(),
        "mean": mean_over_ranks([0.1 + rank, 1e16 if rank else -1e16, 3.0]),
        "attempt": attempt(rank),
        "plain": run(textured, None, rank),
        "put_off": put_off(textured, rank),
    }
    for kind in ("gradient", "loss"):
        result[f"{kind} textured"] = run(textured, kind, rank)
        result[f"{kind} coloured"] = run(coloured, kind, rank)
        result[f"{kind} in vain"] = run(textured, kind, rank, candidates=[1])
        result[f"{kind} fails"] = run(textured, kind, rank, fails_on_the_first)
    print(json.dumps(result))
    dist.destroy_process_group()

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


@pytest.fixture(scope="module")
def ranks(
    textured_path: Path, coloured_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """What two ranks came to."""
    folder = tmp_path_factory.mktemp("ranks")
    script = folder / "train.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(textured_path), str(coloured_path), str(folder / "store")]
    paths = [str(TESTS), str(TESTS / "tuning"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": os.pathsep.join(paths)}
    processes = [
        subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True, env=environment)
        for rank in range(2)
    ]
    try:
        return [json.loads(process.communicate(timeout=180)[0]) for process in processes]
    finally:
        for process in processes:
            process.kill()


def decisions(result: dict[str, Any]) -> list[tuple[int, int, int, str, dict[str, float]]]:
    """The log without the seconds, which are each rank's own."""
    for decision in result["log"]:
        decision["figures"].pop("seconds", None)
    return [(d["epoch"], d["step"], d["fidelity"], d["why"], d["figures"]) for d in result["log"]]


def test_means_are_the_same_numbers(ranks: list[dict[str, Any]]) -> None:
    assert [result["rank"] for result in ranks] == [[0, 2], [1, 2]]
    assert ranks[0]["mean"] == ranks[1]["mean"] == [(0.1 + 1.1) / 2, 0.0, 3.0]


def test_a_failure_on_one_is_a_failure_on_all(ranks: list[dict[str, Any]]) -> None:
    assert [result["attempt"] for result in ranks] == ["rank 1 failed with KeyError: 'lost'"] * 2


@pytest.mark.parametrize("kind", ["gradient", "loss"])
def test_ranks_agree_and_are_right(ranks: list[dict[str, Any]], kind: str) -> None:
    for task in ("textured", "coloured"):
        first, second = (decisions(result[f"{kind} {task}"]) for result in ranks)
        assert first == second
        assert len(first) == 2
        assert first[1][2] >= 6 if task == "textured" else first[1][2] == 1
        assert [result[f"{kind} {task}"]["warnings"] for result in ranks] == [[], []]


@pytest.mark.parametrize("kind", ["gradient", "loss"])
def test_probes_do_not_disturb_distributed_training(ranks: list[dict[str, Any]], kind: str) -> None:
    """Full is read throughout, so that with probes and without the same must come out, on each rank."""
    for result in ranks:
        assert [d["fidelity"] for d in result[f"{kind} in vain"]["log"]] == [10, 10]
        assert result[f"{kind} in vain"]["kept"] == result["plain"]["kept"]


@pytest.mark.parametrize("kind", ["gradient", "loss"])
def test_what_fails_on_one_rank_means_full_on_all(ranks: list[dict[str, Any]], kind: str) -> None:
    for result in ranks:
        failed = result[f"{kind} fails"]
        assert [d["fidelity"] for d in failed["log"]] == [10, 10]
        assert "rank 0 failed with KeyError: 'lost'" in failed["log"][1]["why"]
        assert len(failed["warnings"]) == 1
        assert failed["kept"] == result["plain"]["kept"]


def test_ranks_put_off_together(ranks: list[dict[str, Any]]) -> None:
    first, second = (decisions(result["put_off"]) for result in ranks)
    assert first == second
    assert len(first) == 2
    assert "put off" in first[1][3]


def test_one_process_is_its_own_mean() -> None:
    assert rank_and_world_size() == (0, 1)
    assert mean_over_ranks([1.5, -2.0]) == [1.5, -2.0]
    assert mean_over_ranks([]) == []


def test_one_process_sees_its_own_error() -> None:
    error = KeyError("lost")

    def work() -> int:
        raise error

    with pytest.raises(KeyError) as caught:
        together(work)
    assert caught.value is error
    assert together(lambda: 3) == 3
