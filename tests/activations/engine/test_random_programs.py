"""Whatever a computation does, its gradients are stock torch's, bit for bit."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
import torch
from equality import OWNERS, POLICIES, Run, differences, owners_found_by, step
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import OPERATIONS, REGISTERS, SHAPE, Instruction, Weights, run, run_twice
from torch import Tensor

from halfbyte.activations.codecs.masks import ReluMask
from halfbyte.activations.codecs.shape import ShapeOnly
from halfbyte.activations.codecs.two_values import TwoValues
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.encoding import Encoder
from halfbyte.activations.engine.slots import Entry, Slot

pytestmark = pytest.mark.filterwarnings("ignore:compression", "ignore:saved-tensor hooks are set")

REGISTER = st.integers(0, REGISTERS - 1)
INSTRUCTIONS = st.builds(Instruction, st.sampled_from(sorted(OPERATIONS)), REGISTER, REGISTER, REGISTER)
PROGRAMS = st.lists(INSTRUCTIONS, min_size=1, max_size=12)


def weights() -> Weights:
    torch.manual_seed(2)
    return Weights()


def leaves() -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(6)
    return tuple(torch.randn(SHAPE, generator=generator) for _ in range(REGISTERS))


def outcome(program: list[Instruction], order: int = 1, **options: Any) -> Run | RuntimeError:
    """The step, or torch's refusal of it: of operations in place that destroy what backward needs, or of a
    second derivative that there is not.
    """
    w = weights()
    function = run if order == 1 else run_twice
    try:
        return step(partial(function, program, w), leaves(), model=w, **options)
    except RuntimeError as refusal:
        return refusal


_encode = Encoder.encode


def checked(encoder: Encoder, entry: Entry, slots: list[Slot], keep: Any) -> None:
    _encode(encoder, entry, slots, keep)
    reduced = entry.value is not None and isinstance(entry.value.codec, (ReluMask, ShapeOnly, TwoValues))
    assert not reduced or all(slot.saver is not None for slot in slots), "a saver is not known"


@given(
    program=PROGRAMS,
    policy=st.sampled_from(sorted(POLICIES)),
    inside=st.booleans(),
    owners=st.sampled_from(sorted(OWNERS)),
    order=st.sampled_from([1, 1, 1, 2]),
)
@settings(max_examples=150, deadline=None)
def test_any_computation_has_the_same_gradients(
    program: list[Instruction], policy: str, inside: bool, owners: str, order: int
) -> None:
    stock = outcome(program, order)
    with owners_found_by(owners), patch.object(Encoder, "encode", checked):
        compressor = compress(policy=POLICIES[policy], min_bytes=0)
        ours = outcome(program, order, compressor=compressor, inside=inside)
    if isinstance(stock, RuntimeError):
        assert isinstance(ours, RuntimeError)
        return
    if isinstance(ours, RuntimeError):
        raise ours
    assert differences(stock, ours) == []
    assert ours.ledger.held_bytes == 0


@pytest.mark.parametrize("name", sorted(OPERATIONS))
@pytest.mark.parametrize("policy", POLICIES)
def test_each_operation_between_others_has_the_same_gradients(name: str, policy: str) -> None:
    program = [
        Instruction("conv3", 0, 0, 0),
        Instruction(name, 0, 1, 2),
        Instruction("square", 2, 2, 0),
        Instruction("tanh", 0, 0, 2),
        Instruction("multiply", 2, 1, 1),
    ]
    stock = outcome(program)
    ours = outcome(program, compressor=compress(policy=POLICIES[policy], min_bytes=0), inside=False)
    if isinstance(ours, RuntimeError):
        raise ours
    assert isinstance(stock, Run)
    assert differences(stock, ours) == []
