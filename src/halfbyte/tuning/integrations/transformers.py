"""A policy of fidelity in the Trainer of Hugging Face Transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import FidelityPolicy, Moment
from halfbyte.trainers import states_of_callbacks
from halfbyte.tuning.steering import Steering

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError("ChooseFidelity needs Transformers: pip install 'halfbyte[transformers]'") from error

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

    from halfbyte.loader.torch.iterable import IterableDataset

__all__ = ["ChooseFidelity"]

_STATE = "halfbyte.tuning"


class ChooseFidelity(TrainerCallback):
    """Let a policy choose the fidelity while the Trainer trains.

        callback = ChooseFidelity(policy, ds)
        Trainer(model, arguments, train_dataset=ds, callbacks=[callback]).train()
        print(*callback.policy.log, sep="\\n")

    The policy is asked before the first step of an epoch and after every step but the last: a step is one of
    the optimizer, over all batches that are accumulated for it. Its state lies in the checkpoint, beside the
    Trainer's own: `train(resume_from_checkpoint=True)` goes on with it. The policy tells the data which epoch
    they are at. Logging, evaluation and saving do not count as waiting.

    Args:
        policy: of ``halfbyte.tuning``.
        data: what the Trainer reads.
    """

    def __init__(self, policy: FidelityPolicy, data: Dataset | IterableDataset) -> None:
        self._steering = Steering(policy, data)

    @property
    def policy(self) -> FidelityPolicy:
        return self._steering.policy

    @property
    def moment(self) -> Moment:
        """What reading has cost up to now."""
        return self._steering.moment

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        saved = states_of_callbacks(state).get(_STATE)
        if saved:
            self._steering.load_state_dict(saved["attributes"])

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._steering.begin(int(state.epoch or 0))

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._steering.receive()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if float(state.epoch or 0).is_integer():
            self._steering.finish()
        self._steering.advance()
        # By hand, not as an `ExportableState`: those must be made anew from JSON, which a policy cannot be.
        states_of_callbacks(state)[_STATE] = {"args": {}, "attributes": self._steering.state_dict()}

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._steering.wait()

    on_evaluate = on_save = on_log
