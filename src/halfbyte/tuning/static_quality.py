"""The lowest fidelity that still looks like the original."""

from __future__ import annotations

from typing import Literal

from halfbyte.errors import FidelityError
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import Fidelity, Moment
from halfbyte.tuning.policy import Policy

__all__ = ["StaticQuality"]

_DEFAULT_TARGET = 0.97


class StaticQuality(Policy):
    """The lowest fidelity whose images are like the originals, as convert measured it on a sample.

    Args:
        target: of MS-SSIM, in (0, 1].
        over: "p10" for the lower tenth percentile of the sample, so that nine images of ten reach the target;
            "mean" for the mean.

    Raises:
        ValueError: an option is out of range.
        FidelityError: (from the loader) nothing was measured when the data set was made.

    Source: PCR (VLDB 2021), static tuning: MS-SSIM of 0.95 and more went with full accuracy there. In our
    own runs (docs/benchmarks.md) fine classes of photographs lost accuracy at 0.96, hence the default.
    """

    def __init__(self, target: float = _DEFAULT_TARGET, *, over: Literal["p10", "mean"] = "p10") -> None:
        super().__init__()
        if not 0 < target <= 1:
            raise ValueError(f"target MS-SSIM of {target!r}, expected a number in (0, 1]")
        if over not in ("p10", "mean"):
            raise ValueError(f"over={over!r}, expected 'p10' or 'mean'")
        self.target, self.over = target, over

    def begin(self, dataset: Dataset) -> None:
        super().begin(dataset)
        if dataset.quality is None:
            raise FidelityError(
                "StaticQuality: the data set holds no measured quality; convert it without --no-quality "
                "(quality=True), or choose the fidelity by GradientSimilarity or LossProbe"
            )

    def decide(self, moment: Moment) -> Fidelity:
        return self._now if self.log else self._measured()

    def _measured(self) -> Fidelity:
        quality = self.dataset.quality
        assert quality is not None
        values = quality.p10 if self.over == "p10" else quality.mean
        what = "nine images of ten" if self.over == "p10" else "images on average"
        for k, value in enumerate(values, start=1):
            if value >= self.target:
                why = f"{what} have MS-SSIM of {value:.3f} or more, and {self.target} is asked for"
                return self.conclude(k, why, ms_ssim=value)
        why = f"no lower one reaches MS-SSIM of {self.target} for {what}"
        return self.conclude(self.dataset.num_levels, why, ms_ssim=1.0)

    def __repr__(self) -> str:
        return f"StaticQuality({self.target}, over={self.over!r})"
