"""The policy of JPEG-ACT."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal

from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.policy.roles import channel_of, is_map_to_normalize, is_relu_output
from halfbyte.activations.policy.saved_tensor import Plan, Policy, SavedTensor
from halfbyte.activations.policy.table_schedule import AnyTable, TableSchedule, parse_schedule

__all__ = ["JpegActPolicy", "jpeg_act"]

_PAPERS_SCHEDULE = "optL5H"
# Few epochs have more steps; past so many, an epoch that is still 0 is more likely forgotten than long.
_STEPS_OF_A_LONG_EPOCH = 10_000


class JpegActPolicy(Policy):
    """See `jpeg_act`.

    Its answers follow from the step and epoch last begun, and from nothing else.

    Args:
        schedule: which table from when on.
        codecs: one for each of its tables.
    """

    def __init__(self, schedule: TableSchedule, codecs: tuple[JpegAct, ...]) -> None:
        self._schedule = schedule
        self._codecs = codecs
        self.begin_step(0, 0)

    def plan(self, saved: SavedTensor) -> Plan:
        return Plan(self._codec(saved))

    def _codec(self, saved: SavedTensor) -> JpegAct | Sfpr:
        if is_relu_output(saved):
            return Sfpr(coder="zvc", channel=channel_of(saved))
        if is_map_to_normalize(saved):
            return self._codecs[self.version]
        return Sfpr(channel=channel_of(saved))

    def begin_step(self, step: int, epoch: int) -> None:
        self._step, self._epoch = step, epoch
        self.version = self._schedule.index_at(step=step, epoch=epoch)
        if step == _STEPS_OF_A_LONG_EPOCH and epoch == 0 and self._waits_for_epochs():
            before, after = self._codecs[:2]
            warnings.warn(
                f"the epoch is still 0 after {step} steps, so jpeg_act goes on with {before} and not with "
                f"{after}; call set_epoch() at the start of each epoch, or give the schedule by steps, as in "
                "jpeg_act(steps={0: 'optL', 5000: 'optH'})",
                stacklevel=4,
            )

    def _waits_for_epochs(self) -> bool:
        return self._schedule.unit == "epoch" and len(self._codecs) > 1

    def state_dict(self) -> dict[str, object]:
        return {"step": self._step, "epoch": self._epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.begin_step(state["step"], state["epoch"])

    def __repr__(self) -> str:
        when = ", ".join(
            f"{codec} from {self._schedule.unit} {start}"
            for codec, start in zip(self._codecs, self._schedule.starts, strict=True)
        )
        return f"<JpegActPolicy: {when}>"


def jpeg_act(
    schedule: AnyTable | Mapping[int, AnyTable] = _PAPERS_SCHEDULE,
    *,
    steps: Mapping[int, AnyTable] | None = None,
    quantize: Literal["shift", "divide"] = "shift",
    rounding: Literal["truncate", "nearest"] = "truncate",
    coder: Literal["zvc", "rle"] = "zvc",
) -> JpegActPolicy:
    """What JPEG-ACT does to each kind of activation:

    - dense maps that a normalization reads (outputs of convolutions, sums of them): `JpegAct`;
    - ReLU outputs whose values are read, by a convolution for one: `Sfpr` without the zeros;
    - ReLU outputs that only ReLU and pooling read, and dropout: a mask, before any policy is asked;
    - everything else, such as the inputs of linear layers, attention and GELU: `Sfpr` in 8 bits;
    - what losses read: exact.

    Args:
        schedule: quantization tables by epoch: "optL5H" is optL for 5 epochs, then optH; "optsL10H" optsL for
            10, then optsH; "optH" or "jpeg80" is one table for all; {0: "optL", 3: "optH", 30: my_table} says
            the epochs at which each begins. Epochs count from 0 and move by `set_epoch`; if it is never
            called, the first table stays, and a warning says so after 10,000 steps.
        steps: tables by the step that each begins at, instead of `schedule`.
        quantize, rounding, coder: of `JpegAct`; the defaults are the paper's.

    Raises:
        ValueError: there is no such table, none begins at 0, or `schedule` and `steps` are both given.

    Source: JPEG-ACT (ISCA 2020); kinds of activations and tables as in its authors' code.
    """
    if steps is not None and schedule != _PAPERS_SCHEDULE:
        raise ValueError(f"jpeg_act: got schedule={schedule!r} and steps={steps!r}; give one of the two")
    parsed = parse_schedule(schedule, steps)
    codecs = [
        JpegAct(table=table, quantize=quantize, rounding=rounding, coder=coder) for table in parsed.tables
    ]
    return JpegActPolicy(parsed, tuple(codecs))
