"""A policy for data that workers read or a trainer iterates: for all but `Loader`, which asks by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import FidelityPolicy, Moment

if TYPE_CHECKING:
    from halfbyte.loader.torch.iterable import IterableDataset

__all__ = ["SizedLoader", "Steering"]

Item_co = TypeVar("Item_co", covariant=True)


class SizedLoader(Protocol[Item_co]):
    """What can be iterated and knows how many batches it has; a torch DataLoader."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Item_co]: ...


class Steering:
    """Asks a policy at the moments at which `Loader` does, and sets the fidelity of the data to its answer.

    It lives in the training process, and what it sets reaches workers that are already running: it holds for
    the batches that they begin from then on, so a DataLoader's ``num_workers * prefetch_factor`` batches come
    first. Bytes and samples are those of all workers, prefetched ones included; a stall is what the training
    process waits.

    Args:
        policy: of ``halfbyte.tuning``.
        data: what the DataLoader reads.

    Attributes:
        policy: as given.
        epoch: the present one; the next one once the last batch is out.
        running: whether an epoch has begun whose last batch is not out yet.

    Example::

        it = halfbyte.IterableDataset(ds, batch_size=64)
        dataloader = DataLoader(it, batch_size=None, num_workers=2)
        steering = halfbyte.tuning.Steering(policy, it)
        for _ in range(10):
            for batch in steering.batches(dataloader):
                step(batch["image"], batch["label"])

    Where somebody else iterates, call `begin` before each epoch's iterator is made, `receive` and `advance`
    when a batch came and when it is done with, and `finish` between them for the last.
    """

    def __init__(self, policy: FidelityPolicy, data: Dataset | IterableDataset) -> None:
        self.policy, self._data = policy, data
        self._dataset = data if isinstance(data, Dataset) else data.dataset
        policy.begin(self._dataset)
        self.epoch = 0
        self.running = False
        self._seconds = self._stall = 0.0
        self._since: float | None = None  # what of the time is counted in _seconds
        self._waiting_since: float | None = None

    def batches(self, dataloader: SizedLoader[Item_co]) -> Iterator[Item_co]:
        """The batches of the present epoch; tells the data which one that is.

        Raises:
            TypeError: the loader has no length, so that no batch is known to be the last.
        """
        total = len(dataloader)
        self.begin()
        for number, batch in enumerate(dataloader, start=1):
            self.receive()
            if number == total:
                self.finish()
            yield batch
            self.advance()
        if self.running:
            self.finish()

    def begin(self, epoch: int | None = None) -> None:
        """Start an epoch, the present one unless told otherwise: ask the policy, and wait for a batch."""
        self.epoch = self.epoch if epoch is None else epoch
        self.running = True
        self._data.set_epoch(self.epoch)
        self._since = perf_counter()
        self._ask()
        self.wait()

    def wait(self) -> None:
        """Count waiting from now on: what went on since the last call was something else, such as validation,
        and is no part of the seconds.
        """
        self._since = self._waiting_since = perf_counter()

    def pause(self) -> None:
        """Count nothing until the next call: something else begins."""
        self._since = self._waiting_since = None

    def receive(self) -> None:
        """A batch has come; waiting ends."""
        now = self._tick()
        if self._waiting_since is not None:
            self._stall += now - self._waiting_since
            self._waiting_since = None

    def finish(self) -> None:
        """That batch is the last of its epoch."""
        self.running = False
        self.epoch += 1

    def advance(self) -> None:
        """A batch is done with: ask the policy, unless it was the last, and wait for the next."""
        self._tick()
        if self.running:
            self._ask()
            self.wait()
        else:
            self.pause()

    @property
    def moment(self) -> Moment:
        """What reading has cost up to now."""
        cost = {**self._dataset.counters.to_dict(), "stall_seconds": self._stall}
        return Moment(self.epoch, self._seconds, cost)

    @property
    def fidelity(self) -> int | dict[int, float]:
        """What is read from now on."""
        return self._data.fidelity

    def state_dict(self) -> dict[str, Any]:
        """Epoch and policy as JSON values; the data's own progress is not in it."""
        return {"epoch": self.epoch, "policy": self.policy.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state.

        Raises:
            StateError: it is another policy's.
        """
        self.policy.load_state_dict(state["policy"])
        self.epoch = state["epoch"]

    def _ask(self) -> None:
        self._data.fidelity = self.policy.choose(self.moment)
        self._tick()

    def _tick(self) -> float:
        now = perf_counter()
        self._seconds += 0.0 if self._since is None else now - self._since
        self._since = now
        return now
