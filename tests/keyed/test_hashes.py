from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from halfbyte.keyed.hashes import Stream, check_seed, derive_key, derive_keys, keyed_uniforms, mix64


def test_mix64_equals_published_splitmix64() -> None:
    # The first outputs of Vigna's splitmix64.c from state 0; they must never change.
    states = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert mix64(states).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_mix64_keeps_argument_and_shape() -> None:
    values = np.arange(6, dtype=np.uint64).reshape(2, 3)
    mixed = mix64(values)
    assert mixed.shape == (2, 3)
    assert values.tolist() == [[0, 1, 2], [3, 4, 5]]
    single = mix64(np.array(5, dtype=np.uint64))
    assert single.shape == ()
    assert int(single) == int(mixed[1, 2])


def test_mix64_moves_half_the_bits() -> None:
    values = np.random.default_rng(0).integers(0, 2**63, 2000, dtype=np.uint64)
    for bit in range(64):
        changed = mix64(values) ^ mix64(values ^ np.uint64(1 << bit))
        assert abs(np.bitwise_count(changed).mean() - 32) < 0.5


def test_keys_are_pinned() -> None:
    # These decide the order and the views of every epoch: they must never change.
    assert derive_key(7, 1, 2, 3) == 1867368617898080398
    drawn = keyed_uniforms(derive_keys(7, 1), 3)
    assert (drawn * 2**53).tolist() == [[3942955559692228, 1410474127695260, 810557962363687]]


def test_streams_are_pinned() -> None:
    assert {stream.name: stream.value for stream in Stream} == {
        "RECORDS": 1,
        "WINDOW": 2,
        "VIEW": 3,
        "FIDELITY": 4,
        "SOURCES": 5,
        "PROBE": 6,
        "JITTER": 7,
    }


def test_keys_depend_on_every_part() -> None:
    keys = {
        derive_key(*parts) for parts in ((0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0), (0, 1), (0, 1, 2, 0))
    }
    assert len(keys) == 6


def test_keys_of_array_equal_single_keys() -> None:
    samples = np.arange(50)
    assert derive_keys(3, 4, samples).tolist() == [derive_key(3, 4, int(sample)) for sample in samples]


def test_keys_broadcast_their_parts() -> None:
    keys = derive_keys(3, np.arange(4)[:, None], np.arange(5))
    assert keys.shape == (4, 5)
    assert int(keys[2, 3]) == derive_key(3, 2, 3)


def test_keys_never_collide_in_one_part() -> None:
    assert np.unique(derive_keys(1, 2, np.arange(200_000))).size == 200_000


def test_uniforms_are_uniform_and_independent() -> None:
    drawn = keyed_uniforms(derive_keys(1, 2, np.arange(50_000)), 4)
    assert drawn.shape == (50_000, 4)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for column in drawn.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.02


def test_more_uniforms_keep_the_first() -> None:
    keys = derive_keys(1, 2, np.arange(10))
    assert (keyed_uniforms(keys, 3) == keyed_uniforms(keys, 9)[:, :3]).all()


def test_neighbouring_keys_share_no_uniforms() -> None:
    drawn = keyed_uniforms(derive_keys(1, np.arange(2000)), 20)
    assert np.unique(drawn).size == drawn.size


@pytest.mark.parametrize("seed", [0, 2**64 - 1, np.int64(5)])
def test_seed_in_range_is_taken(seed: int) -> None:
    assert check_seed(seed) == int(seed)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "3", True, None])
def test_seed_out_of_range_is_refused(seed: object) -> None:
    with pytest.raises(ValueError, match=r"seed is .*, expected an integer in \[0, 2\*\*64\)"):
        derive_key(seed)  # type: ignore[arg-type]
