"""Detection of two levels of the time of a line during a run, which occur on virtual machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Levels", "find_levels"]

#: Neighbouring values this far apart, as a ratio, separate two levels.
GAP = 1.35
#: Each level has at least this share of the rounds.
SHARE = 0.05


class Levels(NamedTuple):
    """Medians in ns of the lower and the upper level, and the share of the lower."""

    low_ns: float
    high_ns: float
    low_share: float


def find_levels(values: Sequence[float]) -> Levels | None:
    """Split ``values`` at their widest gap; ``None`` if they form one group."""
    ordered = np.sort(np.asarray([value for value in values if value > 0], dtype=float))
    if len(ordered) < 20:
        return None
    least = max(1, int(SHARE * len(ordered)))
    steps = np.diff(np.log(ordered))
    inside = steps[least - 1 : len(steps) - least + 1]
    if not len(inside) or inside.max() < np.log(GAP):
        return None
    cut = int(np.argmax(inside)) + least
    return Levels(float(np.median(ordered[:cut])), float(np.median(ordered[cut:])), cut / len(ordered))
