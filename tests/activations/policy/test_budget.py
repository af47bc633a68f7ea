"""Budget: what it answers before and after it has seen gradients, and that it goes on where it stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from halfbyte.activations.codecs.group_quantized import GroupQuantized
from halfbyte.activations.policy.budget import Budget, budget
from halfbyte.activations.policy.saved_tensor import SavedTensor, Saver

ELEMENTS = 1 << 16
CONVOLUTION = (Saver("ConvolutionBackward0", "input"),)


def saved(path: str, elements: int = ELEMENTS, dtype: torch.dtype = torch.float32) -> SavedTensor:
    return SavedTensor(
        size=(elements,),
        dtype=dtype,
        device=torch.device("cpu"),
        nbytes=elements * dtype.itemsize,
        savers=CONVOLUTION,
        path=path,
    )


TENSORS = [saved(path) for path in ("stem", "body", "head", "tail")]
GRADIENTS = {"stem": 1e-6, "body": 1e-3, "head": 1e3, "tail": 1.0}


def bits_of(policy: Budget, tensor: SavedTensor) -> int:
    codec = policy.plan(tensor).codec
    assert isinstance(codec, GroupQuantized)
    return codec.bits


def run(policy: Budget, steps: range, tensors: list[SavedTensor] = TENSORS) -> list[list[int]]:
    """What the engine does: bits of all tensors in each step."""
    history = []
    for step in steps:
        policy.begin_step(step, 0)
        history.append([bits_of(policy, tensor) for tensor in tensors])
        if policy.measuring:
            for i, tensor in enumerate(tensors):
                policy.observe(tensor, 10.0 ** (step * i % 5), GRADIENTS[tensor.path])
    return history


def bytes_held(policy: Budget, tensors: list[SavedTensor] = TENSORS) -> int:
    total = 0
    for tensor in tensors:
        elements = tensor.nbytes // tensor.dtype.itemsize
        codec = GroupQuantized(bits_of(policy, tensor), policy.group)
        total += codec.packed_bytes(elements, tensor.dtype.itemsize)
        total += (elements + 7) // 8 if tensor.mask_needed else 0
    return total


@pytest.mark.parametrize(
    ("ratio", "bits"), [(1.5, 8), (3.9, 8), (4, 4), (7.6, 4), (10, 3), (14.6, 2), (99, 1)]
)
def test_first_bits_meet_the_ratio(ratio: float, bits: int) -> None:
    policy = budget(ratio=ratio)
    policy.begin_step(0, 0)
    assert bits_of(policy, TENSORS[0]) == bits
    assert policy.plan(TENSORS[0]).why == f"budget: {bits} bits"


def test_half_types_have_half_the_ratio() -> None:
    assert bits_of(budget(ratio=3.7), saved("x", dtype=torch.bfloat16)) == 4
    assert bits_of(budget(ratio=3.7), saved("x")) == 8


def test_sensitive_tensors_get_more_bits() -> None:
    policy = budget(ratio=8)
    first, second = run(policy, range(2))
    assert first == [3, 3, 3, 3]
    assert second == [1, 1, 8, 4]
    assert bytes_held(policy) <= sum(tensor.nbytes for tensor in TENSORS) / 8


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_bytes_are_those_of_a_whole_step(share: float) -> None:
    limit = int(share * sum(tensor.nbytes for tensor in TENSORS))
    policy = budget(bytes=limit)
    first, _ = run(policy, range(2))
    assert first == [2, 2, 2, 2]
    assert bytes_held(policy) <= limit


def test_masks_count() -> None:
    tensors = [replace(tensor, mask_needed=True) for tensor in TENSORS]
    limit = 14 * ELEMENTS // 8
    policy = budget(bytes=limit)
    with_masks = run(policy, range(2), tensors)[1]
    assert bytes_held(policy, tensors) <= limit
    assert sum(with_masks) < sum(run(budget(bytes=limit), range(2))[1])


def test_measures_every_so_many_steps() -> None:
    policy = budget(ratio=8, every=3)
    assert not policy.measuring
    wanted = []
    for step in range(7):
        policy.begin_step(step, 0)
        wanted.append(policy.measuring)
    assert wanted == [True, False, False, True, False, False, True]


def test_version_changes_with_the_answers_only() -> None:
    policy = budget(ratio=8, every=2)
    history, versions = [], []
    for step in range(12):
        history += run(policy, range(step, step + 1))
        versions.append(policy.version)
    changed = [before != after for before, after in pairwise(history)]
    assert [before != after for before, after in pairwise(versions)] == changed
    assert True in changed[1:]
    assert False in changed[2::2]  # measured, but with the same outcome


def test_observations_are_averaged() -> None:
    policy = budget(ratio=8)
    for gradient in (8.0, 4.0, 0.0):
        policy.observe(TENSORS[0], 2.0, gradient)
    assert policy.state_dict()["tensors"][0]["sensitivity"] == ((16 + 8) / 2 + 0) / 2  # type: ignore[index]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_overflows_say_nothing(value: float) -> None:
    policy, undisturbed = budget(ratio=8), budget(ratio=8)
    for one in (policy, undisturbed):
        run(one, range(1))
    policy.observe(TENSORS[0], 1.0, value)
    assert policy.state_dict() == undisturbed.state_dict()


def test_unobserved_tensors_are_taken_for_average_ones() -> None:
    policy = budget(ratio=8)
    policy.begin_step(0, 0)
    for tensor in TENSORS:
        policy.plan(tensor)
    policy.observe(TENSORS[0], 1.0, 1e-6)
    policy.observe(TENSORS[1], 1.0, 1e3)
    policy.begin_step(1, 0)
    bits = [bits_of(policy, tensor) for tensor in TENSORS]
    assert bits[0] < bits[2] <= bits[1]
    assert bits[0] < bits[3] <= bits[1]


def test_nothing_observed_still_meets_the_budget() -> None:
    policy = budget(bytes=4 * ELEMENTS * 3 // 8)
    for step in range(2):
        policy.begin_step(step, 0)
        bits = [bits_of(policy, tensor) for tensor in TENSORS]
    assert bytes_held(policy) <= 4 * ELEMENTS * 3 // 8
    assert set(bits) <= {2, 3}


def test_tensors_of_one_module_are_told_apart() -> None:
    twice = [saved("block"), replace(saved("block"), ordinal=1), replace(saved("block"), savers=())]
    policy = budget(ratio=8)
    policy.begin_step(0, 0)
    for tensor, gradient in zip(twice, (1e-9, 1e9, 1.0), strict=True):
        policy.observe(tensor, 1.0, gradient)
    policy.begin_step(1, 0)
    assert [bits_of(policy, tensor) for tensor in twice] == [1, 8, 2]


def test_smaller_batches_change_nothing() -> None:
    policy, other = budget(ratio=8, every=2), budget(ratio=8, every=2)
    small = [saved(tensor.path, ELEMENTS // 5) for tensor in TENSORS]
    run(policy, range(4))
    run(other, range(1))
    run(other, range(1, 2), small)
    run(other, range(2, 4))
    assert policy.state_dict() == other.state_dict()


@pytest.mark.parametrize("stop", range(10))
def test_goes_on_where_it_stopped(stop: int) -> None:
    steps = range(10)
    whole = run(budget(ratio=8, every=2), steps)
    assert len({tuple(bits) for bits in whole}) == 3
    before = budget(ratio=8, every=2)
    begun = run(before, steps[:stop])
    after = budget(ratio=8, every=2)
    version = after.version
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    assert after.version != version
    assert after.state_dict() == before.state_dict()
    assert begun + run(after, steps[stop:]) == whole


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "ratio=None and bytes=None, expected exactly one"),
        ({"ratio": 2, "bytes": 100}, "ratio=2 and bytes=100, expected exactly one"),
        ({"ratio": 1}, "ratio=1, expected a number > 1"),
        ({"bytes": 0}, "bytes=0, expected a number > 0"),
        ({"ratio": 2, "every": 0}, "every=0, expected a number of steps"),
        ({"ratio": 2, "group": 100}, "group=100, expected a multiple of 32"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        budget(**options)


def test_names_itself() -> None:
    assert str(budget(ratio=7.5)) == "budget(ratio=7.5)"
    assert str(budget(bytes=1000)) == "budget(bytes=1000)"
