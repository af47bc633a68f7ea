"""What is kept exact under every policy: the few tensors that the gradient starts from."""

from __future__ import annotations

from halfbyte.activations.policy.saved_tensor import Plan, SavedTensor

__all__ = ["keep_for_loss"]

# Parts of the names of nodes, as of NllLoss2DBackward0 and CudnnCtcLossBackward0. The L1 loss is a difference
# and its absolute value, whose gradient jumps at 0, where lossy values end up.
_LOSSES = ("Loss", "BinaryCrossEntropy", "KlDiv", "AbsBackward")
_NORMALIZED = ("Softmax", "Logsumexp")


def keep_for_loss(saved: SavedTensor) -> Plan | None:
    """The plan to keep a tensor exact if a loss reads it, or if it is a result of softmax, of its logarithm,
    or of logsumexp; None for every other tensor.

    Such tensors are small beside a network's activations, and their errors would reach every gradient.
    """
    nodes = [saver.node for saver in saved.savers]
    if any(name in node for node in nodes for name in _LOSSES):
        return Plan(None, "read by a loss")
    if any(name in node for node in nodes for name in _NORMALIZED):
        return Plan(None, "a softmax")
    if any(saver.field == "logsumexp" for saver in saved.savers):
        return Plan(None, "statistics of attention")
    return None
