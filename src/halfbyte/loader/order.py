"""The order of an epoch as arithmetic: (seed, epoch, position) -> (record, index in record).

Nothing is shuffled in memory. A keyed bijection permutes the records; windows of consecutive permuted records
are each mixed by a keyed bijection over their samples. Any position can be computed alone, and back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfbyte.keyed.bijection import Bijection, permute
from halfbyte.keyed.hashes import Stream, check_seed, derive_key, derive_keys
from halfbyte.keyed.indices import check_inside, whole_numbers

__all__ = ["EpochOrder"]


class EpochOrder:
    """The order in which one epoch visits all samples, as a function that can be asked at any position.

    Position p in [0, num_samples) holds exactly one sample, and every sample has exactly one position.
    With shuffle, the records are permuted, and the samples of every `window` consecutive permuted records
    are mixed; without, records and samples come as stored. Construction costs O(records).

    Args:
        record_sizes: samples in each record, integers (R,); zeros are allowed.
        seed: integer in [0, 2**64).
        epoch: number of the epoch, at least 0.
        window: records mixed with each other: 1 reads record after record, None mixes all samples.
        shuffle: False keeps the stored order.

    Attributes:
        num_samples: samples in the epoch.
        record_order: int64 (R,), the records in the order of the windows.
        window_bounds: int64 (num_windows + 1,), window w owns the positions [bounds[w], bounds[w + 1]).
        num_windows: windows, the last one may hold fewer records.

    Raises:
        ValueError: a size or the epoch is negative, the window is below 1, or the seed is out of range.
    """

    def __init__(
        self,
        record_sizes: ArrayLike,
        *,
        seed: int = 0,
        epoch: int = 0,
        window: int | None = None,
        shuffle: bool = True,
    ) -> None:
        sizes = whole_numbers(record_sizes, "record sizes")
        _check_order(sizes, epoch, window)
        self.seed, self.epoch, self.window, self.shuffle = check_seed(seed), int(epoch), window, bool(shuffle)
        records = np.arange(sizes.size, dtype=np.int64)
        self.record_order = records
        if shuffle:
            key = derive_key(seed, epoch, Stream.RECORDS)
            self.record_order = Bijection(key, sizes.size).forward(records)
        self._slot_of_record = np.empty_like(records)
        self._slot_of_record[self.record_order] = records
        self._sizes = sizes
        self._slot_starts = np.concatenate([[0], np.cumsum(sizes[self.record_order])]).astype(np.int64)
        self.num_samples = int(self._slot_starts[-1])
        self._slots_per_window = max(sizes.size, 1) if window is None else min(window, max(sizes.size, 1))
        self.num_windows = -(-sizes.size // self._slots_per_window)
        self.window_bounds = self._slot_starts[
            np.minimum(np.arange(self.num_windows + 1) * self._slots_per_window, sizes.size)
        ]

    def __len__(self) -> int:
        return self.num_samples

    def locate(self, positions: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (records, indices in record), int64 arrays (n,), of the samples at the positions (n,).

        Raises:
            IndexError: a position is outside [0, num_samples).
        """
        asked = check_inside(positions, self.num_samples, "position")
        mixed = self._mix(asked, self._window_at(asked), inverse=False)
        slots = np.searchsorted(self._slot_starts, mixed, side="right") - 1
        return self.record_order[slots], mixed - self._slot_starts[slots]

    def position_of(self, records: ArrayLike, indices: ArrayLike) -> NDArray[np.int64]:
        """Return the positions, int64 (n,), of samples given by record (n,) and index in record (n,).

        Raises:
            IndexError: there is no such record, or no such index in it.
        """
        asked = check_inside(records, self._sizes.size, "record")
        inner = whole_numbers(indices, "indices")
        wrong = np.flatnonzero((inner < 0) | (inner >= self._sizes[asked]))
        if wrong.size:
            record, index = int(asked[wrong[0]]), int(inner[wrong[0]])
            raise IndexError(
                f"record {record}: index {index} is outside [0, {self._sizes[record]}); "
                f"ask for a sample that it holds"
            )
        slots = self._slot_of_record[asked]
        return self._mix(self._slot_starts[slots] + inner, slots // self._slots_per_window, inverse=True)

    def window_of(self, positions: ArrayLike) -> NDArray[np.int64]:
        """Return the windows, int64 (n,), that own the positions (n,); raises IndexError outside."""
        return self._window_at(check_inside(positions, self.num_samples, "position"))

    def records_of_window(self, window: int) -> NDArray[np.int64]:
        """Return the records, int64, whose samples fill the positions of a window.

        Raises:
            IndexError: there is no such window.
        """
        check_inside(window, self.num_windows, "window")
        return self.record_order[window * self._slots_per_window : (window + 1) * self._slots_per_window]

    def _window_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        # side="right" skips windows that hold no samples: they start where the next one starts.
        return np.searchsorted(self.window_bounds, positions, side="right").astype(np.int64) - 1

    def _mix(
        self, positions: NDArray[np.int64], windows: NDArray[np.int64], *, inverse: bool
    ) -> NDArray[np.int64]:
        if not self.shuffle or not positions.size:
            return positions
        if (windows == windows[0]).all():
            windows = windows[:1]  # one key for all is cheaper than the same key for each
        starts = self.window_bounds[windows]
        keys = derive_keys(self.seed, self.epoch, Stream.WINDOW, windows)
        sizes = self.window_bounds[windows + 1] - starts
        return starts + permute(positions - starts, keys, sizes, inverse=inverse)


def _check_order(sizes: NDArray[np.int64], epoch: int, window: int | None) -> None:
    if (sizes < 0).any():
        record = int(np.flatnonzero(sizes < 0)[0])
        raise ValueError(
            f"record {record}: size is {sizes[record]} samples, expected 0 or more; "
            f"pass the sizes that the index says"
        )
    if epoch < 0:
        raise ValueError(f"epoch is {epoch}, expected 0 or more; count epochs from 0")
    if window is not None and window < 1:
        raise ValueError(f"window is {window} records, expected at least 1; pass None to mix all records")
