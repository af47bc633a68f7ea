"""What a policy decided, when and why: a log that reads like sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Decision"]


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a policy.

    Attributes:
        epoch, step: when: before that batch of that epoch was taken, counted from 0.
        fidelity: k, or a mixture {k: weight}; what holds from here on.
        why: a clause that goes on after "since".
        figures: what it was decided from, by name.
    """

    epoch: int
    step: int
    fidelity: int | dict[int, float]
    why: str
    figures: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"epoch {self.epoch}, step {self.step}: {_words(self.fidelity)}, since {self.why}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        values = asdict(self)
        if isinstance(self.fidelity, dict):
            values["fidelity"] = {str(k): weight for k, weight in self.fidelity.items()}
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Decision:
        """What `to_dict` gave."""
        fidelity = values["fidelity"]
        if isinstance(fidelity, Mapping):
            fidelity = {int(k): weight for k, weight in fidelity.items()}
        return cls(
            values["epoch"], values["step"], fidelity, values["why"], dict(values.get("figures") or {})
        )


def _words(fidelity: int | dict[int, float]) -> str:
    if isinstance(fidelity, int):
        return f"fidelity {fidelity}"
    shares = ", ".join(f"{k} for {100 * weight:.0f} %" for k, weight in fidelity.items())
    return f"fidelities {shares}"
