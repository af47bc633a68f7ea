"""Policies that choose the fidelity while training goes on.

loader = halfbyte.Loader(ds, batch_size=64, fidelity=halfbyte.tuning.StaticQuality())
for batch in loader:
    ...
print(*loader.policy.log, sep="\\n")
"""

from __future__ import annotations

from halfbyte.loader.fidelity import FidelityPolicy, Moment
from halfbyte.tuning.bandwidth import Bandwidth
from halfbyte.tuning.decision import Decision
from halfbyte.tuning.fixed import Fixed, Mixture, Schedule
from halfbyte.tuning.gradient_similarity import GradientSimilarity
from halfbyte.tuning.loss_probe import LossProbe
from halfbyte.tuning.measured import Measured
from halfbyte.tuning.policy import Policy
from halfbyte.tuning.reporting.report import Report, report
from halfbyte.tuning.static_quality import StaticQuality
from halfbyte.tuning.steering import Steering
from halfbyte.tuning.throughput import Limit, Prediction, Throughput

__all__ = [
    "Bandwidth",
    "Decision",
    "FidelityPolicy",
    "Fixed",
    "GradientSimilarity",
    "Limit",
    "LossProbe",
    "Measured",
    "Mixture",
    "Moment",
    "Policy",
    "Prediction",
    "Report",
    "Schedule",
    "StaticQuality",
    "Steering",
    "Throughput",
    "report",
]
