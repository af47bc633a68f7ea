"""Ranks of a real process group share an epoch without being told who they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
import torch.distributed as dist
from torch.utils.data import DataLoader
import halfbyte

def main(path, store, rank):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=2)
    ds = halfbyte.open(path, transform=halfbyte.Transform(halfbyte.CenterCrop(16)))
    it = halfbyte.IterableDataset(ds, batch_size=8)
    loaders = {
        "loader": halfbyte.Loader(ds, batch_size=8),
        "sampler": DataLoader(ds, batch_sampler=halfbyte.BatchSampler(ds, batch_size=8)),
        "iterable": DataLoader(it, batch_size=None, num_workers=2, multiprocessing_context="spawn"),
    }
    print(json.dumps({name: [b["label"].tolist() for b in loader] for name, loader in loaders.items()}))
    dist.destroy_process_group()

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


def run_ranks(script: Path, dataset_path: Path, tmp_path: Path) -> list[dict[str, list[list[int]]]]:
    command = [sys.executable, str(script), str(dataset_path), str(tmp_path / "store")]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True, env=environment)
        for rank in range(2)
    ]
    return [json.loads(rank.communicate(timeout=120)[0]) for rank in ranks]


def test_two_ranks_cover_an_epoch(dataset_path: Path, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    first, second = run_ranks(script, dataset_path, tmp_path)
    for name in ("loader", "sampler", "iterable"):
        labels = [label for rank in (first, second) for batch in rank[name] for label in batch]
        assert sorted(labels) == list(range(80)), name
        assert len(first[name]) == len(second[name]) == 5
    assert first["loader"] == first["sampler"]


def test_torchrun_environment_is_enough(dataset_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import halfbyte

    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    ds = halfbyte.open(dataset_path, transform=halfbyte.Transform(halfbyte.CenterCrop(16)))
    assert sum(len(batch["label"]) for batch in halfbyte.Loader(ds, batch_size=8)) == 20
