"""The unit of a test, and the median with its exact interval.

Rounds of one launch resemble each other. The unit of a test is therefore the median of a launch, or a single round if
launches account for less than a tenth of the variance. At least 20 units are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.results.reading.observations import Launch

__all__ = ["CONFIDENCE", "MIN_UNITS", "Estimate", "Units", "estimate", "units_of"]

#: Confidence of every single interval.
CONFIDENCE = 0.95
#: Fewer units than this are reported with a note.
MIN_UNITS = 20


@dataclass(frozen=True)
class Units:
    """The independent values of one test. ``launch_share`` is ``None`` if there is only one launch."""

    values: NDArray[np.float64]
    kind: str  # "launch" or "round"
    launch_share: float | None
    launches: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def note(self) -> str | None:
        """A warning about the units, or ``None``."""
        if len(self) < MIN_UNITS:
            plural = {"round": "rounds", "launch": "launches"}[self.kind]
            return f"{len(self)} {plural} as units, {MIN_UNITS} wanted"
        if self.launch_share is None:
            return "one launch: how launches differ is unknown"
        return None


def units_of(values: Sequence[float], launches: Sequence[Launch]) -> Units:
    """Choose the units of a test by the launches' share of the variance of ``log(value)``.

    ``values`` has one positive value per round, ``launches`` the launch of each.
    """
    numbers: dict[Launch, int] = {}
    index = [numbers.setdefault(launch, len(numbers)) for launch in launches]
    found, by_launch, share, count = _core.units_of(np.asarray(values, dtype=float), index)
    return Units(np.array(found), "launch" if by_launch else "round", share if count > 1 else None, count)


@dataclass(frozen=True)
class Estimate:
    """A median with its exact order-statistic interval.

    ``confidence`` is what the interval attains. With too few units it is below the requested confidence, and the
    interval is the whole range.
    """

    median: float
    low: float
    high: float
    confidence: float
    enough: bool  # whether the requested confidence was attained


def estimate(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> Estimate:
    """The median of ``values`` and its interval, without assumptions about the distribution."""
    low, high, attained = _core.median_interval(values, confidence)
    return Estimate(
        float(np.median(values)), float(low), float(high), float(attained), attained >= confidence - 1e-12
    )
