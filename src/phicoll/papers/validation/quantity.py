"""A published number beside the simulated one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from phicoll.papers.claims import FAILS, HOLDS

__all__ = [
    "CALIBRATED",
    "CALIBRATED_BOUND",
    "HELD_OUT",
    "HELD_OUT_BOUND",
    "NOT_CLAIMED",
    "Quantity",
    "number",
]

CALIBRATED = "calibrated"
HELD_OUT = "held out"
NOT_CLAIMED = "not claimed"  # shown because it was published; the machine says nothing about it
CALIBRATED_BOUND = 0.05
HELD_OUT_BOUND = 0.25


@dataclass(frozen=True)
class Quantity:
    """A published number beside the simulated one.

    ``error`` is simulated / published - 1; ``bound`` is the largest error that counts as agreement. ``why`` is the
    cause of a larger one, if known. ``row`` and ``column`` place it in the page's table of its group.
    """

    group: str
    name: str
    role: str
    published: float
    simulated: float
    unit: str = "ns"
    source: str = ""
    bound: float = HELD_OUT_BOUND
    claim: str = ""
    why: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    row: str = ""
    column: str = ""

    @property
    def error(self) -> float:
        """Simulated / published - 1."""
        return self.simulated / self.published - 1

    @property
    def verdict(self) -> str:
        """Whether the error is within the bound."""
        return HOLDS if math.isfinite(self.error) and abs(self.error) <= self.bound else FAILS

    def to_dict(self) -> dict[str, Any]:
        """The quantity as plain objects."""
        return {
            "kind": self.role,
            "group": self.group,
            "name": self.name,
            "claim": self.claim,
            "published": self.published,
            "simulated": self.simulated,
            "unit": self.unit,
            "error": self.error,
            "bound": self.bound,
            "verdict": self.verdict,
            "source": self.source,
            "why": self.why,
            "values": self.values,
        }


def number(value: float) -> str:
    """A number with at most two decimal places, fewer for large numbers."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
