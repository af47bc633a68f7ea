"""Progress through an epoch as a small JSON value that any number of ranks and workers can go on from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from halfbyte.errors import StateError
from halfbyte.loader.intervals import Intervals
from halfbyte.loader.order import EpochOrder

__all__ = ["State", "merge_states"]

_VERSION = 1
_SETTINGS = ("seed", "epoch", "num_samples", "window", "shuffle")
_KEYS = {"version", *_SETTINGS, "left", "scope"}


@dataclass(frozen=True)
class State:
    """A saved moment of an epoch: enough to go on, on any number of ranks and workers.

    Args:
        seed: seed of the order, in [0, 2**64).
        epoch: number of the epoch, at least 0.
        num_samples: samples in the epoch.
        window: records mixed with each other, None for all.
        shuffle: whether the order is shuffled.
        left: the positions not visited yet, by all ranks together (they step in lockstep).
        worker: None for everything that is left; (w, n) for what worker w of n leaves.

    Raises:
        StateError: a value is out of range, or something is left outside [0, num_samples).
    """

    seed: int
    epoch: int
    num_samples: int
    window: int | None
    shuffle: bool
    left: Intervals
    worker: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        seed_is_good = _is_count(self.seed) and self.seed < 1 << 64
        _check_field("seed", self.seed, seed_is_good, "an integer in [0, 2**64)")
        _check_field("epoch", self.epoch, _is_count(self.epoch), "an integer of at least 0")
        _check_field("num_samples", self.num_samples, _is_count(self.num_samples), "an integer of at least 0")
        window_is_good = self.window is None or (_is_count(self.window) and self.window > 0)
        _check_field("window", self.window, window_is_good, "null or an integer of at least 1")
        _check_field("shuffle", self.shuffle, isinstance(self.shuffle, bool), "true or false")
        end = self.left.pairs[-1][1] if self.left.pairs else 0
        if end > self.num_samples:
            raise StateError(
                f"state: left ends at position {end}, but the epoch has {self.num_samples} samples; "
                f"load the state that was saved with this data set"
            )
        worker_is_good = self.worker is None or 0 <= self.worker[0] < self.worker[1]
        _check_field("worker", self.worker, worker_is_good, "[worker, num_workers] with worker < num_workers")

    @classmethod
    def of(cls, order: EpochOrder, left: Intervals, worker: tuple[int, int] | None = None) -> State:
        """Return the state of an epoch of which `left` remains."""
        return cls(order.seed, order.epoch, order.num_samples, order.window, order.shuffle, left, worker)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values; scope is "all", or "part" with the worker."""
        values: dict[str, Any] = {"version": _VERSION}
        values |= {name: getattr(self, name) for name in _SETTINGS}
        values["left"] = [list(pair) for pair in self.left.pairs]
        if self.worker is None:
            return values | {"scope": "all"}
        return values | {"scope": "part", "worker": list(self.worker)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> State:
        """Check JSON values and return their state.

        Raises:
            StateError: another version, missing or unknown keys, or values that make no sense.
        """
        _check_keys(values)
        settings = {name: values[name] for name in _SETTINGS}
        left = values["left"]
        _check_field("left", left, _are_pairs(left), "a list of [start, stop] with integers of at least 0")
        if values["scope"] == "all":
            return cls(**settings, left=_disjoint(left))
        worker = values["worker"]
        _check_field("worker", worker, _are_pairs([worker]), "[worker, num_workers]")
        return cls(**settings, left=_disjoint(left), worker=(worker[0], worker[1]))

    def require(self, *, seed: int, num_samples: int, window: int | None, shuffle: bool) -> None:
        """Check that the state's positions mean the same samples in an order with these settings.

        Raises:
            StateError: they differ; the message names the first setting that does.
        """
        here = {"num_samples": num_samples, "seed": seed, "window": window, "shuffle": shuffle}
        for name, value in here.items():
            saved = getattr(self, name)
            if saved != value:
                raise StateError(
                    f"state: saved with {name} {saved}, but this loader has {name} {value}; "
                    f"load it with the same data set and {name}, or start a new epoch without it"
                )


def merge_states(states: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Join the states of all DataLoader workers into one that any topology can load.

    The workers of a single rank suffice, since each knows what the same worker of every rank leaves. Those of
    several ranks may be given if all were saved after the same step. States of scope "all" must be equal.

    Args:
        states: JSON values as `State.to_dict` returns them, in any order.

    Returns:
        The JSON values of a state of scope "all".

    Raises:
        StateError: there are none, one is malformed, a worker is missing, or they are of different moments.
    """
    parts = [State.from_dict(values) for values in states]
    if not parts:
        raise StateError("states: got none, expected one for each worker; save at least one")
    first = parts[0]
    for name in _SETTINGS:
        different = {str(getattr(part, name)) for part in parts}
        if len(different) > 1:
            raise StateError(
                f"states: {name} is {' and '.join(sorted(different))}, expected the same in all; "
                f"merge only states that were saved together"
            )
    by_worker: dict[tuple[int, int] | None, State] = {}
    for part in parts:
        if by_worker.setdefault(part.worker, part) != part:
            raise StateError(
                f"states: two ranks leave different positions for worker {part.worker}, expected the same; "
                f"save all ranks after the same step, or merge the states of one rank"
            )
    _check_complete(by_worker.keys())
    left = _disjoint([pair for part in by_worker.values() for pair in part.left.pairs])
    return replace(first, left=left, worker=None).to_dict()


def _check_complete(workers: Collection[tuple[int, int] | None]) -> None:
    counts = {None if worker is None else worker[1] for worker in workers}
    if counts == {None}:
        return
    if len(counts) > 1 or None in counts:
        raise StateError(
            f"states: saved with {' and '.join(sorted(map(str, counts)))} workers (None: a whole state), "
            f"expected one number; merge only states that were saved together"
        )
    (total,) = counts
    missing = sorted(set(range(total or 0)) - {worker[0] for worker in workers if worker})
    if missing:
        raise StateError(
            f"states: workers {missing} of {total} are missing, expected all; "
            f"give the state of every worker, or what they leave would be lost"
        )


def _check_keys(values: Mapping[str, Any]) -> None:
    if not isinstance(values, Mapping):
        kind = type(values).__name__
        raise StateError(f"state: got {kind}, expected a mapping; pass what state_dict() returned")
    # The version first: another version may well have other keys.
    if values.get("version") != _VERSION:
        raise StateError(
            f"state: version {values.get('version')!r}, expected {_VERSION}; "
            f"load it with the halfbyte release that saved it, or start a new epoch"
        )
    expected = _KEYS | ({"worker"} if values.get("scope") == "part" else set())
    for problem, names in (("unknown", values.keys() - expected), ("missing", expected - values.keys())):
        if names:
            raise StateError(
                f"state: {problem} keys {sorted(map(str, names))}, expected {sorted(expected)}; "
                f"pass what state_dict() returned, unchanged"
            )
    _check_field("scope", values["scope"], values["scope"] in ("all", "part"), '"all" or "part"')


def _check_field(name: str, value: object, is_good: bool, expected: str) -> None:
    if not is_good:
        raise StateError(
            f"state: {name} is {value!r}, expected {expected}; pass what state_dict() returned, unchanged"
        )


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _are_pairs(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_is_count, pair)) for pair in value
    )


def _disjoint(pairs: Iterable[Sequence[int]]) -> Intervals:
    ordered = sorted((pair[0], pair[1]) for pair in pairs)
    last = 0
    for start, stop in ordered:
        if stop <= start:
            raise StateError(
                f"state: left has [{start}, {stop}], expected start < stop; load an undamaged state"
            )
        if start < last:
            raise StateError(
                f"state: left has [{start}, {stop}] that overlaps one up to {last}, expected every position "
                f"at most once; load states that were saved together"
            )
        last = stop
    return Intervals.union(ordered)
