"""Data parallel, sharded, tensor-parallel and split training, on two processes."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from unittest.mock import patch

import pytest
import torch.distributed

if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("torch was built without torch.distributed or gloo", allow_module_level=True)

import ranks

SECONDS = 240


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What went wrong on each rank, by case; the processes start once for all cases."""
    folder = tmp_path_factory.mktemp("ranks")
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=ranks.work, args=(rank, str(folder))) for rank in range(ranks.WORLD)]
    with patch.dict(os.environ, GLOO_SOCKET_IFNAME="lo", MASTER_ADDR="127.0.0.1", OMP_NUM_THREADS="1"):
        for process in processes:
            process.start()
    for process in processes:
        process.join(SECONDS)
    hung = [process for process in processes if process.is_alive()]
    for process in hung:
        process.kill()
        process.join()
    return [json.loads(Path(folder, f"rank{rank}.json").read_text()) for rank in range(ranks.WORLD)]


@pytest.mark.parametrize("case", ranks.CASES)
def test_ranks_train_as_without(case: str, errors: list[dict[str, str]]) -> None:
    for rank, found in enumerate(errors):
        assert found.get(case, "did not finish") == "", f"rank {rank}: {found.get(case)}"
