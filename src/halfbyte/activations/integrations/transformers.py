"""Compressed activations in the Trainer of Hugging Face Transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfbyte.activations.engine.exclusion import Exclude
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.integrations.attachment import Attachment
from halfbyte.activations.policy.saved_tensor import PolicyFunction
from halfbyte.trainers import states_of_callbacks

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError(
        "CompressActivations needs Transformers: pip install 'halfbyte[transformers]'"
    ) from error

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

__all__ = ["CompressActivations"]

_STATE = "halfbyte.activations"


class CompressActivations(TrainerCallback):
    """Hold what the model saves for backward in fewer bytes.

        callback = CompressActivations(policy=halfbyte.activations.jpeg_act())
        Trainer(model, arguments, train_dataset=data, callbacks=[callback]).train()
        print(callback.ledger.report())

    The model's `forward` runs inside of the context wherever gradients are recorded, so each micro-batch of
    an accumulated step does and evaluation does not. The policy's schedule follows the epochs, and its state
    lies in the checkpoint, beside the Trainer's own: `train(resume_from_checkpoint=True)` goes on with it.

    The Trainer tells nobody when an exception ends training. No hook of autograd's is left behind then, but
    the model's `forward` goes on to compress until the next `train()` or `detach()`.

    Args:
        policy, exclude, min_bytes, seed: as for `compress`.

    Attributes:
        ledger: what became of every saved tensor.
    """

    def __init__(
        self, *, policy: PolicyFunction, exclude: Exclude = (), min_bytes: int = 4096, seed: int = 0
    ) -> None:
        self._attachment = Attachment(policy, exclude=exclude, min_bytes=min_bytes, seed=seed)

    @property
    def ledger(self) -> Ledger:
        return self._attachment.ledger

    def detach(self) -> None:
        """Give the model its own `forward` back."""
        self._attachment.detach()

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """
        Raises:
            ValueError: the model would be compiled, or run on several GPUs of one process, on threads.
        """
        if args.torch_compile:
            raise ValueError(
                "compressed activations: torch_compile=True compiles the whole model, and what compiled code "
                "saves is kept exact; train without torch_compile, or without this callback"
            )
        if args.n_gpu > 1:
            raise ValueError(
                f"compressed activations: this process trains on {args.n_gpu} GPUs by nn.DataParallel, whose "
                "threads share a model; start a process for each GPU instead: torchrun or accelerate launch"
            )
        saved = states_of_callbacks(state).get(_STATE)
        if saved:
            self._attachment.load_state_dict(saved["attributes"])
        self._attachment.attach(kwargs["model"], "forward")
        if kwargs.get("optimizer") is not None:
            self._attachment.follow(kwargs["optimizer"])

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._attachment.set_epoch(int(state.epoch or 0))

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        # By hand, not as an `ExportableState`: those must be made anew from JSON, which a policy cannot be.
        states_of_callbacks(state)[_STATE] = {"args": {}, "attributes": self._attachment.state_dict()}

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._attachment.detach()
